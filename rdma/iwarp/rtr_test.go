package iwarp

import (
	"net"
	"testing"
	"time"

	"fileserver/rdma"
)

// TestRTRRepeated: a peer that is silent after its reply, as siw is when it has missed what
// came behind it, is sent the ready-to-receive frame again some times, and no more once it has spoken.
func TestRTRRepeated(t *testing.T) {
	for name, tt := range map[string]struct {
		rtr, send bool // what is said to it
		speaks    int  // after so many rtrRepeats
		want      int
	}{
		"ready-to-receive frame": {rtr: true, want: rtrRepeats},
		"a message":              {send: true, want: rtrRepeats},
		"both":                   {rtr: true, send: true, want: rtrRepeats},
		"nothing":                {},
		"speaks":                 {rtr: true, send: true, speaks: 3, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			nl, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = nl.Close() }()
			p := testProvider(t, Config{RTRRepeatAfter: time.Millisecond, NoPeerToPeer: !tt.rtr})
			id, err := p.Resolve(t.Context(), addrPort(nl.Addr()))
			if err != nil {
				t.Fatal(err)
			}
			e := newEnd(t, p, id)
			e.recv(1, 0, 16)
			done := make(chan error, 1)
			go func() { done <- id.Connect(t.Context(), testParams) }()
			c, err := nl.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			r := &rawPeer{t: t, c: c.(*net.TCPConn)}
			if _, err := readFrame(c, false); err != nil {
				t.Fatal(err)
			}
			r.write((&mpaFrame{Reply: true, Rev: 2, Enhanced: true, IRD: 8, ORD: 8, PeerToPeer: tt.rtr, RTRWrite: tt.rtr}).append(nil))
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if tt.send {
				e.post(rdma.SendWR{ID: 2, Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: e.sgl(0, 4)})
				e.want(2, rdma.OpSend, rdma.StatusSuccess)
			}
			said, got := 0, 0
			for got < tt.want || said == 0 && (tt.rtr || tt.send) {
				s, b := r.segment()
				if said == 0 && tt.rtr || s.op == opSend {
					said++
					continue
				}
				if s.op != opWrite || !s.last || len(b) != 0 {
					t.Fatalf("segment %+v", s)
				}
				if got++; got == tt.speaks {
					r.fpdu(sendSeg(1, 0, true, []byte("hello")))
					e.want(1, rdma.OpRecv, rdma.StatusSuccess)
				}
			}
			// That was the last, and the connection is whole.
			_ = r.c.SetReadDeadline(time.Now().Add(700 * time.Millisecond))
			if n, _ := r.c.Read(make([]byte, 1)); n != 0 {
				t.Error("one more")
			}
			_ = r.c.SetReadDeadline(time.Now().Add(10 * time.Second))
			e.post(rdma.SendWR{ID: 3, Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: e.sgl(0, 4)})
			e.want(3, rdma.OpSend, rdma.StatusSuccess)
			if s, _ := r.segment(); s.op != opSend {
				t.Errorf("segment %+v", s)
			}
		})
	}
}
