package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"fileserver/config"
	"fileserver/rdma"
	"fileserver/rdma/discover"
	"fileserver/rdma/iwarp"
	"fileserver/rdma/verbs"
)

const (
	// pollInterval is the time between two checks for changes of devices and addresses.
	pollInterval = 2 * time.Second
	// settleTime is how long each check after a change scans everything: GIDs change some time after addresses do, and ports
	// some time after links.
	settleTime = 10 * time.Second
	// scanInterval is the time between two scans if nothing seems to change. It is long because some drivers write to the
	// kernel's log at each scan.
	scanInterval = time.Minute
)

// deviceProvider is a provider for devices that can be added and removed while it is in use.
type deviceProvider interface {
	rdma.Provider
	io.Closer
}

// system replaces functions that read the machine's devices, for tests. The zero value is the machine itself.
type system struct {
	devices     func(verbs.Config) (deviceProvider, error)
	scan        func() (*discover.Topology, error)
	fingerprint func() string
}

// rdmaSide is the RDMA part of the server: the providers, the memory of their devices, and the listeners. It opens and
// closes listeners when devices and addresses are added and removed.
//
// One goroutine opens and closes the listeners; mu guards the fields that others read.
type rdmaSide struct {
	log         *Log
	cfg         *config.Config
	admits      func(netip.Addr) bool // reports whether any share admits an address
	software    *iwarp.Provider       // nil: not used
	devices     deviceProvider        // nil: not used
	why         []string              // why software or devices is nil
	scan        func() (*discover.Topology, error)
	fingerprint func() string
	domains     domains
	services    []*rdmaService

	ctx       context.Context // of accepting
	cancel    context.CancelFunc
	wake      chan struct{} // capacity 1
	running   sync.WaitGroup
	accepting sync.WaitGroup

	// Only the goroutine of start uses these.
	logged          map[string]string // what the log knows of devices, by name
	lastFingerprint string            // what there was
	changed         time.Time         // when that changed

	mu        sync.Mutex // guards the fields below
	sites     map[place]site
	open      map[place]rdma.Listener
	topo      *discover.Topology
	scannedAt time.Time
}

// newRDMA creates the configured providers. A provider that is not available is logged and is no error: the server serves TCP
// without it.
func (s *Server) newRDMA(sys system) *rdmaSide {
	cfg := s.cfg
	r := &rdmaSide{
		log: s.log, admits: s.admits, cfg: cfg, scan: sys.scan, fingerprint: sys.fingerprint, wake: make(chan struct{}, 1), logged: map[string]string{},
		domains: domains{pool: s.pool, own: cfg.RDMA.Domain == config.DomainConnection},
		sites:   map[place]site{}, open: map[place]rdma.Listener{}, topo: new(discover.Topology),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if r.scan == nil {
		r.scan = func() (*discover.Topology, error) { return discover.Scan(discover.Config{}) }
	}
	if r.fingerprint == nil {
		r.fingerprint = fingerprint
	}
	if err := r.openSoftware(); err != nil {
		r.why = append(r.why, err.Error())
	}
	if err := r.openDevices(sys.devices); err != nil {
		r.why = append(r.why, err.Error())
	}
	return r
}

func (r *rdmaSide) openSoftware() error {
	c := r.cfg.IWARP
	if !c.Enabled {
		return errors.New("iwarp.enabled is false")
	}
	crc := iwarp.CRCIfAsked
	if c.CRC == config.CRCAlways {
		crc = iwarp.CRCAlways
	}
	var err error
	if r.software, err = iwarp.New(iwarp.Config{Log: r.log.Logger, CRC: crc, Admits: r.admits, MaxFPDU: c.MaxFPDU}); err != nil {
		err = fmt.Errorf("iwarp: %w", err)
		r.log.Error("a provider is missing", "provider", "iwarp", "err", err)
	}
	return err
}

func (r *rdmaSide) openDevices(open func(verbs.Config) (deviceProvider, error)) error {
	if r.cfg.RDMA.Devices[0] == config.DevicesOff {
		return errors.New("rdma.devices is off")
	}
	if open == nil {
		open = func(c verbs.Config) (deviceProvider, error) { return verbs.New(c) }
	}
	spin := r.cfg.RDMA.Spin
	if spin == 0 {
		spin = -1 // in verbs.Config, 0 means the default
	}
	p, err := open(verbs.Config{Log: r.log.Logger, Spin: spin})
	if err == nil {
		r.devices = p
		return nil
	}
	// A machine without devices does not need the provider, so nothing is logged there.
	switch t, _ := r.scan(); {
	case r.cfg.RDMA.Devices[0] != config.DevicesAuto:
		r.log.Error("the devices of rdma.devices are not used", "devices", r.cfg.RDMA.Devices, "err", err)
	case t != nil && len(t.Devices) > 0:
		r.log.Warn("there are RDMA devices, and they are not used", "devices", deviceNames(t), "err", err)
	}
	return err
}

func deviceNames(t *discover.Topology) (names []string) {
	for i := range t.Devices {
		names = append(names, t.Devices[i].Name)
	}
	return names
}

// add registers a service, whose listeners start opens.
func (r *rdmaSide) add(sv *rdmaService) { r.services = append(r.services, sv) }

// start opens the listeners that are possible now, and then follows changes of devices and addresses. It returns an
// error for each service that has places to listen but no listener.
func (r *rdmaSide) start() (missing []error) {
	r.reconcile(time.Now())
	for _, sv := range r.services {
		if err := r.missing(sv.name); err != nil {
			missing = append(missing, err)
		}
	}
	r.running.Go(func() {
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		for {
			select {
			case <-r.ctx.Done():
				return
			case <-r.wake:
			case <-tick.C:
			}
			r.reconcile(time.Now())
		}
	})
	return missing
}

// missing returns why a service has no listener although there are places for one, and nil otherwise.
func (r *rdmaSide) missing(service string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for p, s := range r.sites {
		if p.service != service {
			continue
		}
		if s.open {
			return nil
		}
		errs = append(errs, s.err)
	}
	if errs == nil {
		return nil
	}
	return fmt.Errorf("%s over RDMA: %w", service, errors.Join(errs...))
}

// listeners returns the number of open listeners.
func (r *rdmaSide) listeners() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open)
}

// listensAt reports whether a service has an RDMA listener for an address of this machine.
func (r *rdmaSide) listensAt(service string, a netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, s := range r.sites {
		if s.open && s.absent == 0 && p.service == service && p.covers(a) {
			return true
		}
	}
	return false
}

// noRDMA returns why a connection over TCP to an address of this machine does not use RDMA. unasked is the reason
// if there is a listener.
func (r *rdmaSide) noRDMA(service string, a netip.Addr, unasked string) string {
	if r.listensAt(service, a) {
		return unasked
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, s := range r.sites {
		if p.service == service && p.covers(a) && s.err != nil {
			return "there is no listener for it: " + s.err.Error()
		}
	}
	reason := fmt.Sprintf("no RDMA device that is used has the address %s", a)
	for _, w := range r.why {
		reason += "; " + w
	}
	return reason
}

// topology returns a scan of the machine that is at most settleTime old.
func (r *rdmaSide) topology() *discover.Topology {
	r.mu.Lock()
	t, old := r.topo, time.Since(r.scannedAt) > settleTime
	r.mu.Unlock()
	if old {
		t, _ = r.scanNow()
	}
	return t
}

// fingerprint returns a text with the devices, network interfaces, addresses and their states. It is cheap. If the text
// differs, something has changed.
func fingerprint() string {
	var b strings.Builder
	devices, _ := os.ReadDir("/sys/class/infiniband") // does not exist if the kernel has no RDMA
	for _, d := range devices {
		b.WriteString(d.Name() + " ")
	}
	links, err := net.Interfaces()
	if err != nil {
		return b.String()
	}
	for _, l := range links {
		addrs, _ := l.Addrs()
		fmt.Fprintln(&b, l.Index, l.Name, l.Flags, l.MTU, addrs)
	}
	return b.String()
}

// scanIfChanged returns the last scan, or a new one if something may have changed since.
func (r *rdmaSide) scanIfChanged(now time.Time) (*discover.Topology, error) {
	if g := r.fingerprint(); g != r.lastFingerprint || r.changed.IsZero() {
		r.lastFingerprint, r.changed = g, now
	}
	r.mu.Lock()
	t, age := r.topo, now.Sub(r.scannedAt)
	r.mu.Unlock()
	if now.Sub(r.changed) > settleTime && age < scanInterval {
		return t, nil
	}
	return r.scanNow()
}

// scanNow scans the machine. If the network interfaces cannot be listed, it returns the last scan and the error.
func (r *rdmaSide) scanNow() (*discover.Topology, error) {
	t, err := r.scan()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.topo = t
	}
	r.scannedAt = time.Now()
	return r.topo, err
}

// listen implements service; start opens the listeners.
func (r *rdmaSide) listen(context.Context) (addrs []string, failed []error) { return nil, nil }

// shutdown implements service.
func (r *rdmaSide) shutdown(ctx context.Context) error {
	r.cancel()
	r.running.Wait()
	r.mu.Lock()
	list := r.open
	r.open, r.sites = map[place]rdma.Listener{}, map[place]site{}
	r.mu.Unlock()
	errs := make([]error, 1+len(r.services))
	for _, l := range list {
		errs[0] = errors.Join(errs[0], l.Close())
	}
	r.accepting.Wait()
	var wg sync.WaitGroup
	for i, sv := range r.services {
		wg.Go(func() { errs[1+i] = sv.shutdown(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// close releases the providers and their memory. No connection may be left.
func (r *rdmaSide) close() error {
	err := r.domains.close()
	if r.software != nil {
		err = errors.Join(err, r.software.Close())
	}
	if r.devices != nil {
		err = errors.Join(err, r.devices.Close())
	}
	return err
}
