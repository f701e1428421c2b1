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
	// lookEvery is the time between two looks at what devices and addresses there are.
	lookEvery = 2 * time.Second
	// settleTime is how long, after a change there, all of it is read each time: GIDs follow addresses, and ports links.
	settleTime = 10 * time.Second
	// readEvery is the time between two readings of everything where nothing seems to change. Each makes some
	// drivers write to the kernel's log.
	readEvery = time.Minute
)

// deviceProvider is a provider for devices that come and go.
type deviceProvider interface {
	rdma.Provider
	io.Closer
}

// system is what the server has of the machine; the zero value is the machine itself.
type system struct {
	devices func(verbs.Config) (deviceProvider, error)
	scan    func() (*discover.Topology, error)
	glance  func() string
}

// rdmaSide is all that the server does by RDMA: its providers, the memory of their
// devices, and the listeners, which follow devices and addresses that come and go.
//
// One goroutine opens and closes the listeners; mu guards what others look at.
type rdmaSide struct {
	log      *Log
	cfg      *config.Config
	admits   func(netip.Addr) bool // reports whether any share admits an address
	software *iwarp.Provider       // nil: not used
	devices  deviceProvider        // nil: not used
	why      []string              // reasons for that
	scan     func() (*discover.Topology, error)
	glance   func() string
	domains  domains
	services []*rdmaService

	ctx       context.Context // of accepting
	cancel    context.CancelFunc
	wake      chan struct{} // capacity 1
	running   sync.WaitGroup
	accepting sync.WaitGroup

	// The goroutine's.
	told    map[string]string // what the log knows of devices, by name
	glanced string            // what there was
	changed time.Time         // when that changed

	mu     sync.Mutex
	sites  map[place]site
	open   map[place]rdma.Listener
	topo   *discover.Topology
	looked time.Time
}

// newRDMA makes the providers that are configured. Those that cannot be had are no error: TCP is served without.
func (s *Server) newRDMA(sys system) *rdmaSide {
	cfg := s.cfg
	r := &rdmaSide{
		log: s.log, admits: s.admits, cfg: cfg, scan: sys.scan, glance: sys.glance, wake: make(chan struct{}, 1), told: map[string]string{},
		domains: domains{pool: s.pool, own: cfg.RDMA.Domain == config.DomainConnection},
		sites:   map[place]site{}, open: map[place]rdma.Listener{}, topo: new(discover.Topology),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if r.scan == nil {
		r.scan = func() (*discover.Topology, error) { return discover.Scan(discover.Config{}) }
	}
	if r.glance == nil {
		r.glance = glance
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
		spin = -1 // there 0 is the default
	}
	p, err := open(verbs.Config{Log: r.log.Logger, Spin: spin})
	if err == nil {
		r.devices = p
		return nil
	}
	// Nobody misses the provider where there is nothing that it could drive.
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

// add has a service listened for, from start on.
func (r *rdmaSide) add(sv *rdmaService) { r.services = append(r.services, sv) }

// start opens the listeners that can be had now and follows what changes. Its
// errors are the services for which RDMA was meant to be there and is not.
func (r *rdmaSide) start() (missing []error) {
	r.reconcile(time.Now())
	for _, sv := range r.services {
		if err := r.missing(sv.name); err != nil {
			missing = append(missing, err)
		}
	}
	r.running.Go(func() {
		tick := time.NewTicker(lookEvery)
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

// missing is why a service has no listener at all, though there are places for it.
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

// listeners is how many there are.
func (r *rdmaSide) listeners() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open)
}

// listensAt reports whether a service is listened for by RDMA at an address of this machine.
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

// noRDMA is why a connection over TCP to an address of this machine does not use RDMA.
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

// topology is the machine as it was seen not long ago.
func (r *rdmaSide) topology() *discover.Topology {
	r.mu.Lock()
	t, old := r.topo, time.Since(r.looked) > settleTime
	r.mu.Unlock()
	if old {
		t, _ = r.look()
	}
	return t
}

// glance tells the devices, network interfaces and addresses there are, and whether
// they are up. It costs little, and another text means that something has changed.
func glance() string {
	var b strings.Builder
	devices, _ := os.ReadDir("/sys/class/infiniband") // which is not there where the kernel has no RDMA
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

// lookAgain looks at the machine where there may be something new.
func (r *rdmaSide) lookAgain(now time.Time) (*discover.Topology, error) {
	if g := r.glance(); g != r.glanced || r.changed.IsZero() {
		r.glanced, r.changed = g, now
	}
	r.mu.Lock()
	t, age := r.topo, now.Sub(r.looked)
	r.mu.Unlock()
	if now.Sub(r.changed) > settleTime && age < readEvery {
		return t, nil
	}
	return r.look()
}

// look looks at the machine. Where the network interfaces cannot be listed it stays as it was.
func (r *rdmaSide) look() (*discover.Topology, error) {
	t, err := r.scan()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.topo = t
	}
	r.looked = time.Now()
	return r.topo, err
}

// listen implements service; the listeners are start's.
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

// close releases what the providers have; no connection is left.
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
