//go:build linux && cgo && rdmacore

package verbs

import (
	"testing"

	"fileserver/rdma"
)

// TestDisconnectSends: what has been posted before Disconnect still arrives, whether
// or not the sender polls, and whether or not its last request has a completion.
func TestDisconnectSends(t *testing.T) {
	p := testProvider(t, Config{})
	l := listen(t, p)
	for _, last := range []rdma.SendFlags{rdma.SendSignaled, 0} {
		const n, size = 40, 20_000
		client, server := pair(t, p, l, 0)
		for i := range n {
			if err := server.qp.PostRecv([]rdma.RecvWR{{ID: uint64(i), SGL: []rdma.SGE{server.sge(i*size, size)}}}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range n {
			wr := rdma.SendWR{Opcode: rdma.OpSend, SGL: []rdma.SGE{client.sge(i*size, size)}}
			if i == n-1 {
				wr.Flags = last
			}
			if err := client.qp.PostSend([]rdma.SendWR{wr}); err != nil {
				t.Fatal(err)
			}
		}
		if err := client.id.Disconnect(); err != nil {
			t.Fatal(err)
		}
		arrived := 0
		for wc := range completions(t, server.cq, n) {
			if wc.Status == rdma.StatusSuccess {
				arrived++
			}
		}
		if arrived != n {
			t.Errorf("%d of %d messages have arrived", arrived, n)
		}
		for range client.id.Events() {
		}
		client.close()
		server.close()
	}
}

// TestFlushAll: after the end of a connection every request that had no completion
// gets one, in order, unsignalled ones too.
func TestFlushAll(t *testing.T) {
	p := testProvider(t, Config{})
	client, server := pair(t, p, listen(t, p), 0) // nothing to receive into
	defer server.close()
	defer client.close()
	const n = 10
	for i := range n {
		client.recv(i)
	}
	for i := range n {
		if err := client.qp.PostSend([]rdma.SendWR{{ID: uint64(100 + i), Opcode: rdma.OpSend, SGL: []rdma.SGE{client.sge(0, 64)}}}); err != nil {
			break // siw has ended the connection by itself
		}
	}
	if err := client.id.Close(); err != nil {
		t.Fatal(err)
	}
	sends, recvs := uint64(100), uint64(0)
	var wc [64]rdma.WC
	for k := client.cq.Poll(wc[:]); k > 0; k = client.cq.Poll(wc[:]) {
		for _, wc := range wc[:k] {
			next := &sends
			if wc.Opcode == rdma.OpRecv {
				next = &recvs
			}
			if wc.ID != *next {
				t.Errorf("completion %+v, %d is next", wc, *next)
			}
			*next++
		}
	}
	if recvs != n {
		t.Errorf("%d of %d receives have been flushed", recvs, n)
	}
	if sends == 100 {
		t.Error("no send has been flushed")
	}
}

// completions waits for n completions.
func completions(t *testing.T, cq rdma.CQ, n int) func(func(rdma.WC) bool) {
	return func(yield func(rdma.WC) bool) {
		var wc [16]rdma.WC
		for n > 0 {
			k := cq.Poll(wc[:])
			for _, wc := range wc[:k] {
				if !yield(wc) {
					return
				}
			}
			if n -= k; k == 0 {
				if err := cq.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
