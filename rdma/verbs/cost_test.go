//go:build linux && cgo && rdmacore

package verbs

import (
	"fmt"
	"testing"
	"time"

	"fileserver/rdma"
)

// traffic is what the tests of cost repeat: a chain of SENDs, and all it takes to
// get rid of their completions.
type traffic struct {
	client, server *side
	chain          []rdma.SendWR
	recvs          []rdma.RecvWR
	wc             [sideDepth]rdma.WC
	posting        time.Duration
	polling        time.Duration
	clocks         bool
}

func newTraffic(t testing.TB, n, size int) *traffic {
	p := testProvider(t, Config{})
	w := &traffic{}
	w.client, w.server = pair(t, p, listen(t, p), 0)
	t.Cleanup(func() {
		w.client.close()
		w.server.close()
	})
	for i := range n {
		w.chain = append(w.chain, rdma.SendWR{Opcode: rdma.OpSend, SGL: []rdma.SGE{w.client.sge(i*size, size)}})
		w.recvs = append(w.recvs, rdma.RecvWR{SGL: []rdma.SGE{w.server.sge(i*size, size)}})
	}
	w.chain[n-1].Flags = rdma.SendSignaled
	return w
}

func (w *traffic) round(t testing.TB) {
	if err := w.server.qp.PostRecv(w.recvs); err != nil {
		t.Fatal(err)
	}
	start := w.now()
	if err := w.client.qp.PostSend(w.chain); err != nil {
		t.Fatal(err)
	}
	w.posting += w.now().Sub(start)
	w.reap(t, w.server.cq, len(w.recvs))
	w.reap(t, w.client.cq, 1)
}

func (w *traffic) now() (t time.Time) {
	if w.clocks {
		t = time.Now()
	}
	return t
}

// reap takes n completions, by polling and, where there are none, waiting.
func (w *traffic) reap(t testing.TB, cq rdma.CQ, n int) {
	for n > 0 {
		start := w.now()
		k := cq.Poll(w.wc[:])
		w.polling += w.now().Sub(start)
		for i := range w.wc[:k] {
			if w.wc[i].Status != rdma.StatusSuccess {
				t.Fatalf("%+v", w.wc[i])
			}
		}
		if n -= k; k == 0 {
			if err := cq.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestAllocations: neither posting, nor polling, nor waiting allocates.
func TestAllocations(t *testing.T) {
	for _, n := range []int{1, 16} {
		w := newTraffic(t, n, 64)
		w.round(t)
		if a := testing.AllocsPerRun(200, func() { w.round(t) }); a > 0 {
			t.Errorf("%v allocations for a chain of %d", a, n)
		}
	}
}

// BenchmarkPost tells the cost of posting, and of polling, for each request: with
// the kernel's software devices most of it is theirs.
func BenchmarkPost(b *testing.B) {
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprintf("chain-%d", n), func(b *testing.B) {
			w := newTraffic(b, n, 64)
			w.round(b)
			w.posting, w.polling, w.clocks = 0, 0, true
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				w.round(b)
			}
			b.StopTimer()
			b.ReportMetric(float64(w.posting.Nanoseconds())/float64(b.N*n), "ns/post")
			b.ReportMetric(float64(w.polling.Nanoseconds())/float64(b.N*(n+1)), "ns/poll")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/wr")
		})
	}
}

// BenchmarkEmptyPoll tells the cost of a poll that finds nothing: the way into C and back.
func BenchmarkEmptyPoll(b *testing.B) {
	w := newTraffic(b, 1, 64)
	b.ReportAllocs()
	for b.Loop() {
		if w.client.cq.Poll(w.wc[:16]) != 0 {
			b.Fatal("a completion from nowhere")
		}
	}
}
