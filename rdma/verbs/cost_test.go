//go:build linux && cgo && rdmacore

package verbs

import (
	"fmt"
	"testing"

	"fileserver/integration/bench/provider"
)

func costLink(t testing.TB, chain int) *provider.Link {
	l, err := provider.Connect(t.Context(), testProvider(t, Config{}), listenAddr(t), chain)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func round(t testing.TB, l *provider.Link) {
	if err := l.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestAllocations: neither posting, nor polling, nor waiting allocates.
func TestAllocations(t *testing.T) {
	for _, n := range provider.Chains {
		l := costLink(t, n)
		round(t, l)
		if a := testing.AllocsPerRun(200, func() { round(t, l) }); a > 0 {
			t.Errorf("%v allocations for %d messages in chains of %d", a, provider.Depth, n)
		}
	}
}

// BenchmarkPost measures the cost of messages, and of posting them: with the kernel's
// software devices most of it is theirs.
func BenchmarkPost(b *testing.B) {
	for _, n := range provider.Chains {
		b.Run(fmt.Sprintf("chain-%d", n), func(b *testing.B) {
			l := costLink(b, n)
			round(b, l)
			l.Posting = 0
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				round(b, l)
			}
			b.StopTimer()
			b.ReportMetric(float64(l.Posting.Nanoseconds())/float64(b.N*provider.Depth), "ns/post")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*provider.Depth), "ns/wr")
		})
	}
}

// BenchmarkEmptyPoll measures the cost of a poll that finds nothing: the way into C and back.
func BenchmarkEmptyPoll(b *testing.B) {
	l := costLink(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		if l.Poll() != 0 {
			b.Fatal("a completion from nowhere")
		}
	}
}
