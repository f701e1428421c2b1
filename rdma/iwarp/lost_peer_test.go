package iwarp

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
)

// dropPackets lets the peer's socket see no packet any more: nothing is acknowledged,
// answered or ended, as when a machine loses its power or its network.
func (r *rawPeer) dropPackets() {
	r.t.Helper()
	raw, err := r.c.SyscallConn()
	if err != nil {
		r.t.Fatal(err)
	}
	drop := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}} // of every packet, keep 0 bytes
	e := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &drop[0]})
	})
	if e != nil || err != nil {
		r.t.Fatal(e, err)
	}
}

// TestPeerLost: a connection whose peer is gone without a word ends, whether
// it is idle (keep-alive) or has sent something (TCP_USER_TIMEOUT), and says why.
func TestPeerLost(t *testing.T) {
	for name, send := range map[string]int{"idle": 0, "with a little unacknowledged": 100, "with more than TCP takes": endMem} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, e, _ := attachRaw(t, Config{KeepAlive: time.Second, StallTimeout: 2 * time.Second}, nil, nil)
			r.open()
			e.wantEvent(rdma.EventEstablished)
			e.recv(1, 0, 8)
			r.dropPackets()
			if send > 0 {
				e.post(rdma.SendWR{ID: 2, Opcode: rdma.OpWrite, SGL: e.sgl(0, send), RKey: 1})
			}
			start := time.Now()
			var why *Error
			if ev := e.event(); !errors.As(ev.Err, &why) {
				t.Fatalf("event %+v", ev)
			}
			if d := time.Since(start); d < time.Second {
				t.Errorf("ended after %v: not by a timer", d)
			}
			// What fills TCP stalls first; on a busy machine TCP may come to know before we do.
			if why.Reason != ReasonUnreachable && (send < endMem || why.Reason != ReasonStalled) {
				t.Errorf("ended: %v", why)
			}
			reasonCounted(t, e.p, why.Reason)
			for wc := e.next(); wc.ID != 1; wc = e.next() {
			}
		})
	}
}
