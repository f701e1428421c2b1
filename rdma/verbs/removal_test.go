//go:build linux && cgo && rdmacore

package verbs

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
)

// link is VERBS_LINK, e.g. "r0 type rxe netdev vec0": what rdma link add wants.
func link(t *testing.T) []string {
	t.Helper()
	s := os.Getenv("VERBS_LINK")
	if s == "" {
		t.Skip("VERBS_LINK names no device to remove; integration/rxe runs this test in a guest")
	}
	return strings.Fields(s)
}

func addLink(t *testing.T, link []string) {
	t.Helper()
	if out, err := exec.Command("rdma", append([]string{"link", "add"}, link...)...).CombinedOutput(); err != nil {
		t.Fatalf("rdma link add: %v\n%s", err, out)
	}
}

// deleteLink fails the test when the driver waits for somebody who still uses the device.
func deleteLink(t *testing.T, link []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "rdma", "link", "delete", link[0]).CombinedOutput(); err != nil {
		t.Fatalf("rdma link delete: %v\n%s", err, out)
	}
}

// chat sends messages, and READs and WRITEs, to and fro until the connection ends.
func chat(client, server *side, count *atomic.Int64) (event rdma.Event) {
	var wg sync.WaitGroup
	for _, s := range []*side{client, server} {
		wg.Go(func() {
			var wc [16]rdma.WC
			for ended := false; !ended; {
				n := s.cq.Poll(wc[:])
				for _, wc := range wc[:n] {
					switch {
					case wc.Status != rdma.StatusSuccess:
						ended = true
					case wc.Opcode == rdma.OpRecv:
						_ = s.qp.PostRecv([]rdma.RecvWR{{ID: wc.ID, SGL: []rdma.SGE{s.sge(int(wc.ID)*64, 64)}}})
					case s == client:
						count.Add(1)
						_ = s.post(server)
					}
				}
				if n == 0 && s.cq.Wait(context.Background()) != nil {
					ended = true
				}
			}
		})
	}
	_ = client.post(server)
	for ev := range client.id.Events() {
		event = ev
	}
	wg.Wait()
	return event
}

func (s *side) post(to *side) error {
	const n = 200_000
	return s.qp.PostSend([]rdma.SendWR{
		{Opcode: rdma.OpRead, SGL: []rdma.SGE{s.sge(8192, n)}, RemoteAddr: to.mr.Addr() + 8192, RKey: to.mr.RKey()},
		{Opcode: rdma.OpWrite, SGL: []rdma.SGE{s.sge(8192+n, n)}, RemoteAddr: to.mr.Addr() + 8192 + n, RKey: to.mr.RKey()},
		{Opcode: rdma.OpSend, Flags: rdma.SendSignaled | rdma.SendFence, SGL: []rdma.SGE{s.sge(0, 64)}},
	})
}

// TestRemoval removes the device under load: every connection is told, nothing hangs,
// the driver gets its device back, everything can be closed, and when the device
// returns the same listeners serve it.
func TestRemoval(t *testing.T) {
	link := link(t)
	p := testProvider(t, Config{})
	listeners := []rdma.Listener{listen(t, p)}
	all, err := p.Listen(t.Context(), netip.AddrPort{})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	for round := range 3 {
		var count, told atomic.Int64
		var wg sync.WaitGroup
		var sides []*side
		for range 4 {
			client, server := pair(t, p, listeners[0], 16)
			sides = append(sides, client, server)
			wg.Go(func() {
				ev := chat(client, server, &count)
				switch {
				case ev.Type == rdma.EventDeviceRemoval && errors.Is(ev.Err, rdma.ErrDeviceRemoved):
					told.Add(1)
				case ev.Type == rdma.EventDisconnected && ev.Err == nil && client.id.Device().Caps().Transport == rdma.TransportIWARP:
					// The kernel has ended the other side first, which is here, too.
				default:
					t.Errorf("last event %+v", ev)
				}
			})
		}
		idle, silent := pair(t, p, listeners[0], 1) // nobody polls these
		sides = append(sides, idle, silent)
		for count.Load() < 20 {
			time.Sleep(10 * time.Millisecond)
		}
		deleteLink(t, link)
		wg.Wait()
		for range idle.id.Events() {
		}
		for ev := range silent.id.Events() {
			if ev.Type == rdma.EventDeviceRemoval {
				told.Add(1)
			}
		}
		if told.Load() == 0 {
			t.Error("no connection was told of the removal")
		}
		devs, err := p.Devices()
		if len(devs) != 0 || err != nil {
			t.Errorf("devices %v, %v", devs, err)
		}
		if _, err := sides[0].id.Device().AllocPD(); !errors.Is(err, rdma.ErrDeviceRemoved) {
			t.Errorf("AllocPD on a device that is gone: %v", err)
		}
		if _, err := p.Resolve(t.Context(), listeners[0].Addr()); err == nil {
			t.Error("a connection without a device")
		}
		for _, s := range sides {
			s.close()
		}
		addLink(t, link)
		await(t, "the device", func() bool {
			devs, _ := p.Devices()
			return len(devs) == 1 && devs[0].Name() == link[0]
		})
		await(t, "the listener", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			id, err := p.Resolve(ctx, listeners[0].Addr())
			if err != nil {
				return false
			}
			defer id.Close()
			return reached(ctx, id, listeners[0])
		})
		t.Logf("round %d: %d exchanges", round, count.Load())
	}
}

// reached reports whether a request arrives at a listener, which refuses it.
func reached(ctx context.Context, id rdma.ID, l rdma.Listener) bool {
	pd, err := id.Device().AllocPD()
	if err != nil {
		return false
	}
	defer pd.Dealloc()
	cq, err := id.Device().CreateCQ(2)
	if err != nil {
		return false
	}
	defer cq.Close()
	if _, err = id.CreateQP(pd, rdma.QPConfig{SendCQ: cq, RecvCQ: cq, SendDepth: 1, RecvDepth: 1}); err != nil {
		return false
	}
	defer id.Close()
	refused := make(chan bool, 1)
	go func() {
		id, err := l.Accept(ctx)
		refused <- err == nil && id.Reject(nil) == nil
	}()
	err = id.Connect(ctx, rdma.ConnParams{})
	var rejected *rdma.RejectedError
	return <-refused && errors.As(err, &rejected)
}

// TestIdleRemoval: the driver gets its device back also when there is no connection
// that could tell us.
func TestIdleRemoval(t *testing.T) {
	link := link(t)
	p := testProvider(t, Config{})
	devs, err := p.Devices()
	if err != nil || len(devs) != 1 {
		t.Fatal(devs, err)
	}
	pd, err := devs[0].AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := devs[0].CreateCQ(10)
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- cq.Wait(context.Background()) }()
	deleteLink(t, link)
	if err := <-waited; !errors.Is(err, rdma.ErrDeviceRemoved) {
		t.Errorf("Wait: %v", err)
	}
	if err := cq.Close(); err != nil {
		t.Error(err)
	}
	if err := pd.Dealloc(); err != nil {
		t.Error(err)
	}
	addLink(t, link)

	// After a connection librdmacm has the device open, too.
	client, server := pair(t, p, waitListen(t, p), 1)
	client.close()
	server.close()
	deleteLink(t, link)
	addLink(t, link)
	waitListen(t, p)
}

// TestListenRemoval: a listener that came to a device the provider did not know leaves
// nothing open when it is closed. librdmacm keeps the device open, and so must the
// provider notice its removal.
func TestListenRemoval(t *testing.T) {
	link := link(t)
	p := testProvider(t, Config{})
	for range 2 {
		if err := waitListen(t, p).Close(); err != nil {
			t.Fatal(err)
		}
		deleteLink(t, link)
		addLink(t, link)
	}
	l := waitListen(t, p)
	deleteLink(t, link)
	addLink(t, link)
	part := l.(*listener).parts[0]
	await(t, "the listener", func() bool {
		part.mu.Lock()
		defer part.mu.Unlock()
		return part.cm.valid()
	})
	_ = l.Close() // at once: no census has run since
	deleteLink(t, link)
	addLink(t, link)
	waitListen(t, p)
}

// TestListFailure: devices that cannot be listed, here for want of descriptors, have
// not been removed.
func TestListFailure(t *testing.T) {
	listenAddr(t)
	p := testProvider(t, Config{})
	before, err := p.Devices()
	if err != nil || len(before) == 0 {
		t.Fatal(before, err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	err = p.refresh()
	if e := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); e != nil {
		t.Fatal(e)
	}
	if err == nil {
		t.Error("no error from a list without descriptors")
	}
	if after, err := p.Devices(); err != nil || len(after) != len(before) || after[0] != before[0] {
		t.Errorf("devices %v, %v; before the failure %v", after, err, before)
	}
}

// waitListen listens as soon as the device's address can be listened on.
func waitListen(t *testing.T, p *Provider) (l rdma.Listener) {
	t.Helper()
	await(t, "listening", func() bool {
		var err error
		l, err = p.Listen(t.Context(), listenAddr(t))
		return err == nil
	})
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !f(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 15 s", what)
		}
	}
}
