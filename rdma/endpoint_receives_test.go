package rdma_test

import (
	"testing"

	"fileserver/internal/slab"
)

// TestPostReceives: receives are posted up to the depth of the queue, and as far as there is memory; they take messages.
func TestPostReceives(t *testing.T) {
	c, s, _ := pair(t, pairConfig{send: 32, recv: 20, recvFirst: 2, recvSize: 1 << 20})
	posted := func(want int) {
		t.Helper()
		if n := s.ep.Stats().RecvsPosted; n != want {
			t.Errorf("%d receives posted, want %d", n, want)
		}
	}
	posted(2)
	if n := s.ep.PostReceives(3); n != 3 {
		t.Errorf("posted %d receives, want 3", n)
	}
	posted(5)
	var taken []*slab.Buf
	for b, ok := s.pool.TryGet(1 << 20); ok; b, ok = s.pool.TryGet(1 << 20) {
		taken = append(taken, b)
	}
	if n := s.ep.PostReceives(3); n != 0 {
		t.Errorf("posted %d receives without memory", n)
	}
	taken[0].Release()
	if n := s.ep.PostReceives(3); n != 1 {
		t.Errorf("posted %d receives with memory for one", n)
	}
	for _, b := range taken[1:] {
		b.Release()
	}
	if n := s.ep.PostReceives(50); n != 14 {
		t.Errorf("posted %d receives, want 14: the queue takes 20", n)
	}
	posted(20)
	for range 20 {
		if err := c.ep.Post(t.Context(), c.message(10)); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		(<-s.got).Release()
	}
	posted(0)
	endBoth(t, c, s)
	if n := s.ep.PostReceives(1); n != 0 {
		t.Errorf("posted %d receives after the end", n)
	}
}
