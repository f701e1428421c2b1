//go:build linux && cgo && rdmacore

package verbs

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"fileserver/rdma"
)

// TestRefusal: why a connection was not made is an error that callers can tell apart, and that names the peer.
func TestRefusal(t *testing.T) {
	peer := addrPortOf("192.0.2.1:20049")
	for _, c := range []struct {
		ev   cmEvent
		want string
		is   error
	}{
		{cmEvent{kind: cmDeviceRemoval}, "", rdma.ErrDeviceRemoved},
		{cmEvent{kind: cmUnreachable, status: -int(syscall.ETIMEDOUT)}, "192.0.2.1:20049 cannot be reached", syscall.ETIMEDOUT},
		{cmEvent{kind: cmConnectError, status: int(syscall.ECONNRESET)}, "connection with 192.0.2.1:20049", syscall.ECONNRESET},
		{cmEvent{kind: cmConnectError}, "unknown reason", nil},
		{cmEvent{kind: cmRejected, status: 1}, "no queue pair", nil},
		{cmEvent{kind: cmRejected, status: 3}, "no resources", nil},
		{cmEvent{kind: cmRejected, status: 4}, "given up waiting", nil},
		{cmEvent{kind: cmRejected, status: 8}, "nobody listens on 192.0.2.1:20049", nil},
		{cmEvent{kind: cmRejected, status: 10}, "stale", nil},
		{cmEvent{kind: cmRejected, status: 28}, "refused by 192.0.2.1:20049", nil},
		{cmEvent{kind: cmRejected, status: 5}, "reason 5", nil},
		{cmEvent{kind: cmRejected, status: -int(syscall.ECONNREFUSED)}, "connection refused", nil},
	} {
		err := refusal(c.ev, peer)
		if !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%+v: %v", c.ev, err)
		}
	}
	var rejected *rdma.RejectedError
	if err := refusal(cmEvent{kind: cmRejected, private: []byte("why")}, peer); !errors.As(err, &rejected) || string(rejected.PrivateData) != "why" {
		t.Errorf("the peer's private data is lost: %v", err)
	}
}

// TestCMErrors: errors of the connection manager say what users can do about them.
func TestCMErrors(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.ENODEV: "no RDMA device", syscall.ENOENT: "modprobe rdma_ucm", syscall.EPERM: "modprobe rdma_ucm",
		syscall.ENOSYS: "modprobe rdma_ucm", syscall.EACCES: "/dev/infiniband/rdma_cm", syscall.EIO: "input/output error",
	} {
		if err := cmError("opening", errno); !errors.Is(err, errno) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", errno, err)
		}
	}
	if err := failure("doing it", 0); err != nil {
		t.Error(err)
	}
	if err := failure("doing it", 5); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
}

// TestAwait: a step of the resolution ends with its event, with the event of another end, or with the context.
func TestAwait(t *testing.T) {
	id, peer := bareID(bareProvider(t), nil, true), addrPortOf("192.0.2.1:1")
	for _, c := range []struct {
		ev   cmEvent
		want error
	}{
		{cmEvent{kind: cmAddrResolved}, nil},
		{cmEvent{kind: cmAddrError, status: -int(syscall.EHOSTUNREACH)}, syscall.EHOSTUNREACH},
		{cmEvent{kind: cmDeviceRemoval}, rdma.ErrDeviceRemoved},
	} {
		id.handle(c.ev)
		if err := id.await(t.Context(), peer, cmAddrResolved); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.ev, err)
		}
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := id.await(ctx, peer, cmAddrResolved); !errors.Is(err, gone) {
		t.Errorf("context: %v", err)
	}
	for range 10 {
		id.handle(cmEvent{kind: cmAddrResolved}) // nobody waits: the event goroutine does not, either
	}
}

// TestBegin: what Connect and Accept refuse, and that the depths of READs come down to the device's.
func TestBegin(t *testing.T) {
	p := bareProvider(t)
	for name, set := range map[string]func(*id, *rdma.ConnParams){
		"too much private data": func(_ *id, c *rdma.ConnParams) { c.PrivateData = make([]byte, 57) },
		"the other side's call": func(id *id, _ *rdma.ConnParams) { id.active = false },
		"no queue pair":         func(id *id, _ *rdma.ConnParams) { id.qp = nil },
		"an end":                func(id *id, _ *rdma.ConnParams) { id.ending = true },
		"a second call":         func(id *id, _ *rdma.ConnParams) { id.state = idMaking },
	} {
		id := bareID(p, bareDevice(p, "d"), true)
		id.qp = &qp{}
		c := rdma.ConnParams{}
		set(id, &c)
		if err := id.beginLocked(true, &c, 56); err == nil {
			t.Errorf("no error: %s", name)
		}
	}
	id := bareID(p, bareDevice(p, "d"), true)
	id.qp = &qp{}
	for _, c := range []struct{ ird, ord, wantIRD, wantORD int }{{100, 100, 16, 8}, {4, 4, 4, 4}, {-1, -1, 0, 0}} {
		params := rdma.ConnParams{IRD: c.ird, ORD: c.ord, PrivateData: make([]byte, 56)}
		if err := id.beginLocked(true, &params, 56); err != nil || params.IRD != c.wantIRD || params.ORD != c.wantORD {
			t.Errorf("%d and %d became %d and %d: %v", c.ird, c.ord, params.IRD, params.ORD, err)
		}
	}
}

// TestRejectRefusals: Reject of a connection that is made, or of one's own, is refused, as is too much private data.
func TestRejectRefusals(t *testing.T) {
	p := bareProvider(t)
	id := bareID(p, bareDevice(p, "d"), false)
	if err := id.Reject(make([]byte, 197)); err == nil {
		t.Error("197 bytes of private data on iWARP")
	}
	id.dev.ctx.caps.Transport = rdma.TransportRoCE
	if err := id.Reject(make([]byte, 149)); err == nil {
		t.Error("149 bytes of private data on RoCE")
	}
	id.state = idUp
	if err := id.Reject(nil); !errors.Is(err, rdma.ErrNotConnected) {
		t.Errorf("of a connection: %v", err)
	}
	id.state, id.active = idFresh, true
	if err := id.Reject(nil); !errors.Is(err, rdma.ErrNotConnected) {
		t.Errorf("of the connecting side: %v", err)
	}
}

// TestSockaddr: addresses come back from the form of the libraries as they were; an IPv4 address in IPv6 becomes IPv4.
func TestSockaddr(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.1:445": "192.0.2.1:445", "[2001:db8::1]:20049": "[2001:db8::1]:20049", "[::ffff:192.0.2.1]:1": "192.0.2.1:1",
		"[fe80::1%lo]:7": "[fe80::1%lo]:7", "0.0.0.0:0": "0.0.0.0:0", "[fe80::1%4000000]:7": "[fe80::1%4000000]:7",
	} {
		sa, err := sockaddr(addrPortOf(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if got := addrPort(pointerTo(&sa)); got != addrPortOf(want) {
			t.Errorf("%s became %v", in, got)
		}
	}
	if _, err := sockaddr(addrPortOf("[fe80::1%nonesuch]:7")); err == nil {
		t.Error("an interface that does not exist")
	}
}
