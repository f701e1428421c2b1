package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

// prober makes the attempts.
type prober struct {
	*Target
	pool *slab.Pool

	mu      sync.Mutex // guards memories
	domains map[rdma.Device]*rdma.Memory

	verbs    rdma.Provider
	verbsErr error
}

func newProber(t *Target) *prober {
	p := &prober{Target: t, pool: slab.New(slab.Config{Limit: 64 << 20}), domains: map[rdma.Device]*rdma.Memory{}, verbsErr: errors.New("this program has none")}
	if t.Verbs != nil {
		p.verbs, p.verbsErr = t.Verbs()
	}
	return p
}

// memory is the pool's memory as registered with a device.
func (p *prober) memory(d rdma.Device) (*rdma.Memory, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.domains[d]; m != nil {
		return m, nil
	}
	pd, err := d.AllocPD()
	if err != nil {
		return nil, err
	}
	access := rdma.AccessLocalWrite
	if d.Caps().ReadSinkNeedsRemoteWrite {
		access |= rdma.AccessRemoteWrite
	}
	m, err := rdma.NewMemory(pd, p.pool, access)
	if err != nil {
		return nil, errors.Join(err, pd.Dealloc())
	}
	p.domains[d] = m
	return m, nil
}

// close releases everything; the connections are closed.
func (p *prober) close() {
	for _, m := range p.domains {
		_ = m.Close()
		_ = m.PD().Dealloc()
	}
	if c, ok := p.verbs.(interface{ Close() error }); ok && c != nil {
		_ = c.Close()
	}
	_ = p.pool.Close()
}

// reachable returns the first of a host's addresses that answers, even with a refusal. If none does, it returns the first.
func (p *prober) reachable(ctx context.Context, addrs []netip.Addr) netip.Addr {
	if len(addrs) == 1 {
		return addrs[0]
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	for _, a := range addrs {
		c, err := (&net.Dialer{Timeout: p.Timeout / 4}).DialContext(ctx, "tcp", netip.AddrPortFrom(a, p.NFSPort).String())
		if err == nil {
			_ = c.Close()
		}
		if err == nil || isRefused(err) {
			return a
		}
	}
	return addrs[0]
}

// via is a way to connect by RDMA.
type via struct {
	transport string
	provider  rdma.Provider
	device    string         // of "verbs"
	wire      rdma.Transport // of the device
}

// directPorts are the ports to try for SMB Direct.
func (p *prober) directPorts(wire rdma.Transport) []uint16 {
	switch {
	case len(p.DirectPorts) > 0:
		return p.DirectPorts
	case wire == rdma.TransportIWARP:
		return []uint16{5445, 445}
	}
	return []uint16{445}
}

// providers returns the available ways to connect by RDMA, and attempts that explain why others are missing.
func (p *prober) providers(ctx context.Context, service string, addr netip.AddrPort) (ways []via, missing []Attempt) {
	if p.IWARP != nil {
		ways = append(ways, via{transport: "iwarp", provider: p.IWARP, wire: rdma.TransportIWARP})
	}
	none := Attempt{Service: service, Transport: "verbs", Address: addr.String(), Code: "no-provider", What: "not tried: this program cannot use RDMA devices here"}
	if p.verbs == nil {
		none.Error = p.verbsErr.Error()
		none.Why = none.Error
		return ways, []Attempt{none}
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	id, err := p.verbs.Resolve(ctx, addr)
	if err != nil {
		none.Code, none.Error, none.What = "no-device", err.Error(), "not tried: no RDMA device of this machine leads there"
		none.Why = "rdma_cm finds no device for the route to " + addr.Addr().String()
		none.Do = []Step{{OnClient, fmt.Sprintf("ip route get %s; rdma link", addr.Addr()), "the interface of the route must have a device"},
			{OnClient, "rdma link add siw0 type siw netdev INTERFACE", "makes one in software, for iWARP; type rxe for RoCE"}}
		return ways, []Attempt{none}
	}
	w := via{transport: "verbs", provider: p.verbs, wire: id.Device().Caps().Transport}
	w.device = fmt.Sprintf("%s (%v)", id.Device().Name(), w.wire)
	_ = id.Close()
	return append(ways, w), nil
}
