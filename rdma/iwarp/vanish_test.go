package iwarp

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
)

// vanish lets the peer's socket see no packet any more: nothing is acknowledged,
// answered or ended, as when a machine loses its power or its network.
func (r *rawPeer) vanish() {
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

// TestPeerVanishes: a connection whose peer is gone without a word ends, whether
// it is idle (keep-alive) or has sent something (TCP_USER_TIMEOUT), and says why.
func TestPeerVanishes(t *testing.T) {
	for name, send := range map[string]int{"idle": 0, "with a little unacknowledged": 100, "with more than TCP takes": endMem} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, e, _ := attachRaw(t, Config{KeepAlive: time.Second, StallTimeout: 2 * time.Second}, nil, nil)
			r.open()
			e.wantEvent(rdma.EventEstablished)
			e.recv(1, 0, 8)
			r.vanish()
			want := ReasonUnreachable
			if send > 0 {
				e.post(rdma.SendWR{ID: 2, Opcode: rdma.OpWrite, SGL: e.sgl(0, send), RKey: 1})
			}
			if send == endMem {
				want = ReasonStalled // whose timer is the shorter one
			}
			start := time.Now()
			if ev := e.event(); ev.Err == nil {
				t.Errorf("event %+v", ev)
			}
			if d := time.Since(start); d < time.Second {
				t.Errorf("ended after %v: not by a timer", d)
			}
			reasonCounted(t, e.p, want)
			for wc := e.next(); wc.ID != 1; wc = e.next() {
			}
		})
	}
}
