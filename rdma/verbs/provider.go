//go:build linux && cgo && rdmacore

package verbs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fileserver/rdma"
)

// censusEvery is how often the provider looks whether its devices are still there.
// Connections learn of a removal at once; but some drivers (rxe, siw) tell nobody
// else and wait until the last user has closed the device.
const censusEvery = time.Second

// closeTime is how long Close waits for what is being closed.
const closeTime = 2 * time.Second

// Built returns nil where the provider is compiled into this binary, otherwise an
// error that says how to get one that has it. It wraps [rdma.ErrUnsupported].
func Built() error { return nil }

// Provider implements [rdma.Provider].
//
// Lock order: id.mu → qp.sendMu → qp.recvMu → cq.mu; Provider.mu, device.mu and
// listener.mu are leaves. None but id.mu is held in a call that may block in the
// kernel for long, and none in a call that waits for the event goroutine.
type Provider struct {
	cfg         Config
	log         *slog.Logger
	spin        time.Duration
	maxSpinners int32
	spinners    atomic.Int32
	nextHandle  atomic.Uint64
	stop        chan struct{}
	wg          sync.WaitGroup // everything that runs for the provider

	refreshing sync.Mutex   // serializes refresh; held around all others
	tried      []netip.Addr // where bound IDs have been looked for
	fresh      bool         // a device has come since

	mu      sync.Mutex
	closed  bool
	ch      channel // made when it is first needed: there must be a device
	chFile  *os.File
	devices map[deviceKey]*device
	going   map[deviceKey]time.Time // removed then, and may be listed yet
	targets map[uint64]target       // by handle
}

// target is what an event of the connection manager is for. handle is called on
// the event goroutine and must not block, nor destroy an ID.
type target interface{ handle(ev cmEvent) }

// New opens the libraries. That there are no devices is no error. Close the
// provider after everything made with it.
func New(cfg Config) (*Provider, error) {
	if err := load(); err != nil {
		return nil, err
	}
	p := &Provider{
		cfg: cfg, log: cfg.Log, spin: cfg.Spin, stop: make(chan struct{}),
		devices: make(map[deviceKey]*device), going: make(map[deviceKey]time.Time), targets: make(map[uint64]target),
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.spin == 0 {
		p.spin = DefaultSpin
	}
	if cpus := min(runtime.GOMAXPROCS(0), runtime.NumCPU()); cpus > 1 && p.spin > 0 {
		p.maxSpinners = int32(cpus / 2)
	} else {
		p.spin = 0 // what is polled for needs the CPU
	}
	p.wg.Go(p.census)
	return p, nil
}

// Name implements [rdma.Provider].
func (p *Provider) Name() string { return "verbs" }

// Devices implements [rdma.Provider].
func (p *Provider) Devices() ([]rdma.Device, error) {
	err := p.refresh()
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []rdma.Device
	for _, d := range p.devices {
		out = append(out, d)
	}
	sortDevices(out)
	if len(out) > 0 {
		err = nil // what there is can be used
	}
	return out, err
}

// leaving is how long a device that has been removed is not opened again if it is listed still: the driver would wait for that, too. It
// ends when the device is not listed any more, unless the next one is taken for it: the library may give that the same place in memory.
const leaving = 10 * time.Second

// refresh brings the list of devices up to date.
func (p *Provider) refresh() error {
	p.refreshing.Lock()
	defer p.refreshing.Unlock()
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return rdma.ErrClosed
	}
	keys, opened, err := present(func(k deviceKey) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.devices[k] != nil || time.Since(p.going[k]) < leaving
	})
	if err != nil && len(keys) == 0 {
		return err // nothing is known of the devices: they have not been removed
	}
	there := make(map[deviceKey]bool)
	for _, k := range keys {
		there[k] = true
	}
	var gone []*device
	p.mu.Lock()
	maps.DeleteFunc(p.going, func(k deviceKey, since time.Time) bool { return !there[k] || time.Since(since) >= leaving })
	for k, d := range p.devices {
		if !there[k] {
			gone = append(gone, d)
			delete(p.devices, k)
		}
	}
	for _, t := range p.boundPartsLocked() {
		if !there[t.device] { // also of a device that was never opened here
			p.wg.Go(func() { t.lost(true) })
		}
	}
	for _, c := range opened {
		d := newDevice(p, c)
		p.devices[c.key] = d
		p.fresh = true
		p.wg.Go(d.events)
		p.log.Info("RDMA device", "device", c.name, "transport", c.caps.Transport)
	}
	p.mu.Unlock()
	for _, d := range gone {
		d.startRemoval() // others need not wait for its end
	}
	p.bindAllLocked()
	return err
}

// census notices devices that go away.
func (p *Provider) census() {
	t := time.NewTicker(censusEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-p.stop:
			return
		}
		p.mu.Lock()
		inUse := len(p.devices) > 0 || len(p.boundPartsLocked()) > 0
		p.mu.Unlock()
		if inUse {
			if err := p.refresh(); err != nil {
				p.log.Debug("RDMA devices", "err", err)
			}
		}
	}
}

// boundPartsLocked returns the parts of listeners that are bound to a device.
func (p *Provider) boundPartsLocked() (out []*part) {
	for _, t := range p.targets {
		if t, ok := t.(*part); ok && t.device != (deviceKey{}) {
			out = append(out, t)
		}
	}
	return out
}

// deviceOf finds the device an ID is bound to.
func (p *Provider) deviceOf(cm cmID) *device {
	if cm.device() == (deviceKey{}) {
		return nil
	}
	if d := p.known(cm); d != nil {
		return d
	}
	_ = p.refresh()
	return p.known(cm)
}

// known is deviceOf where the device need not be looked for.
func (p *Provider) known(cm cmID) *device {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.devices[cm.device()]
}

// channel returns the event channel, and starts the event goroutine with the first call.
func (p *Provider) channel() (channel, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return channel{}, rdma.ErrClosed
	}
	if p.chFile != nil {
		return p.ch, nil
	}
	ch, err := newChannel()
	if err != nil {
		return ch, err
	}
	f, err := pollable(ch.fd(), "rdma_cm")
	if err != nil {
		ch.destroy()
		return ch, err
	}
	p.ch, p.chFile = ch, f
	p.wg.Go(p.events)
	return ch, nil
}

// events is the event goroutine.
func (p *Provider) events() {
	err := onReadable(p.chFile, func() error {
		ev, err := p.ch.next()
		if err != nil {
			return err
		}
		p.mu.Lock()
		t := p.targets[ev.handle]
		p.mu.Unlock()
		if t != nil {
			t.handle(ev)
		} else if ev.kind == cmConnectRequest {
			p.wg.Go(func() { _ = ev.cm.destroy() }) // which refuses it
		}
		return nil
	})
	if err != nil {
		p.log.Error("connection manager events", "err", err)
	}
}

// onReadable calls f until it says EAGAIN, and again whenever file is readable,
// until file is closed or f fails otherwise.
func onReadable(file *os.File, f func() error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	_ = raw.Read(func(uintptr) bool { // fails when file is closed
		for {
			switch err := f(); {
			case err == nil, errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return false
			default:
				failed = err
				return true
			}
		}
	})
	return failed
}

// add enters a target under a new handle.
func (p *Provider) add(t target) uint64 {
	h := p.nextHandle.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.targets[h] = t
	return h
}

func (p *Provider) drop(handle uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.targets, handle)
}

// Close implements io.Closer. It fails with [rdma.ErrBusy] while there are
// connections, listeners, or objects of a device; for those that are just being
// closed it waits a little.
func (p *Provider) Close() error {
	first, err := p.shut()
	for end := time.Now().Add(closeTime); err != nil && time.Now().Before(end); {
		time.Sleep(closeTime / 1000)
		first, err = p.shut()
	}
	if !first {
		return err
	}
	p.mu.Lock()
	devices, file := p.devices, p.chFile
	p.devices = nil
	p.mu.Unlock()
	for _, d := range devices {
		d.close()
	}
	p.mu.Lock()
	var rest []lingerer
	for _, t := range p.targets {
		rest = append(rest, t.(lingerer))
	}
	p.mu.Unlock()
	for _, l := range rest {
		l.cut()
	}
	if file != nil {
		err = file.Close()
	}
	p.wg.Wait()
	if file != nil {
		p.ch.destroy()
	}
	return err
}

// shut makes sure that nothing is in use and nothing new is made.
func (p *Provider) shut() (first bool, err error) {
	p.refreshing.Lock()
	defer p.refreshing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false, nil
	}
	for _, t := range p.targets {
		if _, lingers := t.(lingerer); !lingers {
			return false, fmt.Errorf("%w: connections or listeners are open", rdma.ErrBusy)
		}
	}
	for _, d := range p.devices {
		if err := d.idle(); err != nil {
			return false, err
		}
	}
	p.closed = true
	close(p.stop)
	return true, nil
}

// lingerer is a target that nobody owns any more, and that may be destroyed at once.
type lingerer interface{ cut() }

var _ rdma.Provider = (*Provider)(nil)

// Listen implements [rdma.Provider]. An invalid or unspecified address listens on
// all devices, those that come later included: 0.0.0.0 for IPv4 alone. Other
// addresses listen on the device that has it, again when it returns after a removal.
func (p *Provider) Listen(_ context.Context, addr netip.AddrPort) (rdma.Listener, error) {
	return p.listen(addr)
}

// Resolve implements [rdma.Provider].
func (p *Provider) Resolve(ctx context.Context, addr netip.AddrPort) (rdma.ID, error) {
	id, err := p.resolve(ctx, addr)
	if err != nil {
		return nil, err
	}
	return id, nil
}
