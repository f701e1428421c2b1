//go:build linux && cgo && rdmacore

package verbs

import (
	"io"
	"log/slog"
	"net/netip"
	"os"
	"testing"
	"time"

	"fileserver/rdma"
)

// These make the parts of a provider without a device, for the tests of what is decided in Go. Handles of the libraries are zero,
// as they are when the device has gone.

func bareProvider(t *testing.T) *Provider {
	t.Helper()
	p := &Provider{
		log: slog.New(slog.NewTextHandler(io.Discard, nil)), stop: make(chan struct{}), targets: make(map[uint64]target),
		devices: make(map[deviceKey]*device), going: make(map[deviceKey]time.Time),
	}
	t.Cleanup(p.wg.Wait)
	return p
}

var iwarpCaps = rdma.Caps{
	Transport: rdma.TransportIWARP, MaxSGE: 4, MaxSGERead: 1, MaxInline: 64, MaxQPWR: 100, MaxIRD: 16, MaxORD: 8,
	MaxMsgSize: 1 << 20, InitiatorSpeaksFirst: true, MaxRequestPrivateData: 56, MaxReplyPrivateData: 196,
}

func bareDevice(p *Provider, name string) *device {
	return &device{
		p: p, ctx: &devContext{name: name, caps: iwarpCaps, cqes: 100}, ids: make(map[*id]struct{}), cqs: make(map[*cq]struct{}),
		pds: make(map[*pd]struct{}), remains: make(map[*remains]struct{}),
	}
}

func bareID(p *Provider, d *device, active bool) *id {
	id := newID(p, active)
	if id.dev = d; d != nil {
		d.ids[id] = struct{}{}
	}
	return id
}

// bareCQ is a queue whose channel is a pipe; whoever writes to that makes an event.
func bareCQ(t *testing.T, d *device, depth int) (*cq, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	c := &cq{dev: d, number: d.p.nextHandle.Add(1), depth: depth, file: r, qps: make(map[uint32]*qp)}
	if c.raw, err = r.SyscallConn(); err != nil {
		t.Fatal(err)
	}
	c.take = c.armAndTake
	return c, w
}

// existing makes a handle that is valid, of a structure of which no function of a library is called.
func existing[T any](h **T) { *h = new(T) }

func addrPortOf(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// events are those that an ID still sends, the last of which ends it.
func (id *id) rest() (list []rdma.Event) {
	for ev := range id.events {
		list = append(list, ev)
	}
	return list
}
