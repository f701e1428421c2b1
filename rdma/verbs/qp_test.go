//go:build linux && cgo && rdmacore

package verbs

import (
	"errors"
	"slices"
	"testing"

	"fileserver/rdma"
)

// bareQP is the queue pair of an ID, of depth 4.
func bareQP(t *testing.T) *qp {
	t.Helper()
	p := bareProvider(t)
	d := bareDevice(p, "d")
	c, _ := bareCQ(t, d, 10)
	q := &qp{id: bareID(p, d, false), scq: c, rcq: c, num: 5, ord: 1,
		cfg: rdma.QPConfig{SendDepth: 4, RecvDepth: 4, MaxSendSGE: 2, MaxRecvSGE: 1, MaxInline: 64}}
	existing(&q.h.c)
	return q
}

func sgl(lengths ...uint32) (list []rdma.SGE) {
	for _, n := range lengths {
		list = append(list, rdma.SGE{Length: n})
	}
	return list
}

// TestCheckOfSends: what the device or the configuration cannot do is refused before anything is posted.
func TestCheckOfSends(t *testing.T) {
	for name, c := range map[string]struct {
		wr rdma.SendWR
		ok bool
	}{
		"a SEND":                  {rdma.SendWR{Opcode: rdma.OpSend, SGL: sgl(1, 1<<20-1)}, true},
		"more than a message":     {rdma.SendWR{Opcode: rdma.OpSend, SGL: sgl(1, 1<<20)}, false},
		"lengths beyond 32 bits":  {rdma.SendWR{Opcode: rdma.OpWrite, SGL: sgl(1<<32-1, 2)}, false},
		"too many elements":       {rdma.SendWR{Opcode: rdma.OpWrite, SGL: sgl(1, 1, 1)}, false},
		"a READ":                  {rdma.SendWR{Opcode: rdma.OpRead, SGL: sgl(1)}, true},
		"a READ of two elements":  {rdma.SendWR{Opcode: rdma.OpRead, SGL: sgl(1, 1)}, false}, // MaxSGERead
		"inline":                  {rdma.SendWR{Opcode: rdma.OpSend, Flags: rdma.SendInline, SGL: sgl(32, 32)}, true},
		"too much inline":         {rdma.SendWR{Opcode: rdma.OpSend, Flags: rdma.SendInline, SGL: sgl(32, 33)}, false},
		"a READ inline":           {rdma.SendWR{Opcode: rdma.OpRead, Flags: rdma.SendInline, SGL: sgl(1)}, false},
		"SEND with invalidation":  {rdma.SendWR{Opcode: rdma.OpSendInvalidate}, false},
		"a RECV in the wrong way": {rdma.SendWR{Opcode: rdma.OpRecv}, false},
	} {
		if err := bareQP(t).check(&c.wr); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	q := bareQP(t)
	q.ord = 0
	if err := q.check(&rdma.SendWR{Opcode: rdma.OpRead, SGL: sgl(1)}); err == nil {
		t.Error("a READ to a peer that answers none")
	}
	q.id.dev.ctx.caps.SendInvalidate = true
	if err := q.check(&rdma.SendWR{Opcode: rdma.OpSendInvalidate}); err != nil {
		t.Error(err)
	}
}

// TestPostStates: sends are taken by a connection only, and receives until its end.
func TestPostStates(t *testing.T) {
	q := bareQP(t)
	send, recv := make([]rdma.SendWR, 1), make([]rdma.RecvWR, 1)
	if err := q.PostSend(send); !errors.Is(err, rdma.ErrNotConnected) {
		t.Errorf("PostSend before the connection: %v", err)
	}
	if err := q.PostRecv(make([]rdma.RecvWR, 5)); !errors.Is(err, rdma.ErrQueueFull) {
		t.Errorf("5 receives for a queue of 4: %v", err)
	}
	if err := q.PostRecv([]rdma.RecvWR{{SGL: sgl(1, 1)}}); err == nil {
		t.Error("a receive of two elements where one is possible")
	}
	q.state = qpReady
	if err := q.PostSend(make([]rdma.SendWR, 5)); !errors.Is(err, rdma.ErrQueueFull) {
		t.Errorf("5 sends for a queue of 4: %v", err)
	}
	q.refuse()
	if err := q.PostSend(send); !errors.Is(err, rdma.ErrNotConnected) {
		t.Errorf("PostSend after the end: %v", err)
	}
	if err := q.PostRecv(recv); !errors.Is(err, rdma.ErrNotConnected) {
		t.Errorf("PostRecv after the end: %v", err)
	}
}

// TestHeld: what is posted before the peer is ready is held back up to the queue's depth, copied, and flushed in order.
func TestHeld(t *testing.T) {
	q := bareQP(t)
	q.state, q.awaitsRTU = qpReady, true
	list := sgl(8)
	for i := range 2 {
		if err := q.PostSend([]rdma.SendWR{{ID: uint64(2 * i), Opcode: rdma.OpSend, SGL: list}, {ID: uint64(2*i + 1), Opcode: rdma.OpWrite}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.PostSend([]rdma.SendWR{{Opcode: rdma.OpSend}}); !errors.Is(err, rdma.ErrQueueFull) {
		t.Errorf("a fifth request for a queue of 4: %v", err)
	}
	if list[0].Length = 9; q.held[0].wr.SGL[0].Length != 8 {
		t.Error("the caller's list is kept")
	}
	q.refuse()
	for i, wc := range q.reapHeld() {
		want := rdma.WC{ID: uint64(i), Status: rdma.StatusWRFlushErr, Opcode: []rdma.Opcode{rdma.OpSend, rdma.OpWrite}[i%2], QPN: 5}
		if wc != want {
			t.Errorf("completion %+v, want %+v", wc, want)
		}
	}
	if len(q.reapHeld()) != 0 {
		t.Error("a request is flushed twice")
	}
}

// setTo sets a number of C, whatever its type is called in Go.
func setTo[T ~uint8 | ~uint32 | ~uint64 | ~int32](p *T, v int) { *p = T(v) }

// TestReap: what a queue pair has not completed when it is destroyed is flushed, in order and once, unsignalled requests too; but not
// what has been sent or completed before, nor sentinels.
func TestReap(t *testing.T) {
	const sentinel = 0xff // VB_SENTINEL
	type slot struct {
		op             int
		done, signaled bool
		status         rdma.Status
	}
	send, read := int(sendOps[rdma.OpSend]), int(sendOps[rdma.OpRead])
	flushed, failed := rdma.StatusWRFlushErr, rdma.StatusRemAccessErr
	type completion struct {
		id     uint64
		status rdma.Status
	}
	for name, c := range map[string]struct {
		slots   []slot
		reorder bool
		sent    int
		want    []completion
	}{
		"all":               {[]slot{{op: send}, {op: send, signaled: true}, {op: read}}, false, 0, []completion{{0, flushed}, {1, flushed}, {2, flushed}}},
		"sentinel":          {[]slot{{op: send}, {op: sentinel}}, false, 0, []completion{{0, flushed}}},
		"sent before":       {[]slot{{op: send}, {op: read}, {op: send}, {op: send}}, true, 3, []completion{{1, flushed}, {3, flushed}}},
		"done out of order": {[]slot{{op: read}, {op: send, done: true, signaled: true}, {op: send, done: true}}, true, 3, []completion{{0, flushed}, {1, rdma.StatusSuccess}}},
		"failed":            {[]slot{{op: read}, {op: send, done: true, status: failed}}, true, 2, []completion{{0, flushed}, {1, failed}}},
	} {
		t.Run(name, func(t *testing.T) {
			q := bareQP(t)
			r := &q.h.c.sq
			slots := array(t, &r.slots, 4)
			setTo(&r.mask, 3)
			const first = 6 // positions wrap
			setTo(&r.head, first)
			setTo(&r.tail, first+len(c.slots))
			setTo(&q.h.c.sent, first+c.sent)
			setTo(&q.h.c.num, 5)
			if c.reorder {
				setTo(&q.h.c.reorder, 1)
			}
			for i, s := range c.slots {
				to := &slots[(first+i)&3]
				setTo(&to.id, i)
				setTo(&to.op, s.op)
				setTo(&to.status, int(s.status))
				if s.done {
					setTo(&to.done, 1)
				}
				if s.signaled {
					setTo(&to.signaled, 1)
				}
			}
			if sends, recvs := q.h.outstanding(); sends != len(c.slots) || recvs != 0 {
				t.Errorf("%d sends and %d receives are outstanding", sends, recvs)
			}
			var got []completion
			for wc, ok := q.h.reap(); ok; wc, ok = q.h.reap() {
				got = append(got, completion{wc.ID, wc.Status})
				if wc.QPN != 5 {
					t.Errorf("completion of queue pair %d", wc.QPN)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("completions %v, want %v", got, c.want)
			}
		})
	}
}
