package rdma_test

import (
	"context"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

type task func()

func (t task) Run() { t() }

// send sends n messages to the other side.
func (s *side) send(n int) {
	s.t.Helper()
	for range n {
		if err := s.ep.Post(context.Background(), s.message(10)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestTake: what is taken is run once, in order, and nothing is taken outside of callbacks, or where that is not wanted.
func TestTake(t *testing.T) {
	for _, inline := range []rdma.Inline{rdma.InlineNever, rdma.InlineAlways} {
		c, s, _ := pair(t, pairConfig{inline: inline})
		const n = 200
		order := make(chan int, n)
		i := 0
		s.received = func(b *slab.Buf) {
			mine := i
			i++
			_ = s.ep.Repost(b)
			run := task(func() { order <- mine })
			if taken := s.ep.Take(run); taken != (inline == rdma.InlineAlways) {
				t.Errorf("%v: taken: %v", inline, taken)
			} else if !taken {
				run()
			}
		}
		c.send(n)
		for want := range n {
			if got := <-order; got != want {
				t.Fatalf("%v: task %d has run as number %d", inline, got, want)
			}
		}
		if s.ep.Take(task(func() { t.Error("run") })) {
			t.Errorf("%v: taken while no completion was handed over", inline)
		}
		endBoth(t, c, s)
	}
}

// TestTakeHandsOver: tasks that wait for each other, and for messages that come later, hold up nothing; nor does the
// connection's end wait for them.
func TestTakeHandsOver(t *testing.T) {
	c, s, _ := pair(t, pairConfig{inline: rdma.InlineAlways})
	gates := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	var taken, ended atomic.Int64
	done := make(chan struct{}, len(gates))
	i := 0
	s.received = func(b *slab.Buf) {
		mine := i
		i++
		_ = s.ep.Repost(b)
		run := task(func() {
			if mine > 0 {
				close(gates[mine-1])
			}
			<-gates[mine]
			ended.Add(1)
			done <- struct{}{}
		})
		if s.ep.Take(run) {
			taken.Add(1)
		} else {
			go run()
		}
	}
	for range gates {
		c.send(1)
	}
	for range len(gates) - 1 {
		<-done
	}
	if taken.Load() == 0 {
		t.Error("nothing was taken")
	}
	c.ep.Disconnect(nil)
	if err := c.end(); err != nil {
		t.Error(err)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if n := ended.Load(); n != int64(len(gates)-1) {
		t.Errorf("%d tasks have ended before the last one's gate was opened", n)
	}
	close(gates[len(gates)-1])
	<-done
}

// TestTakeLeavesWhatBlocks: after a task that has slept in the kernel others run the next ones, and then it is tried again.
func TestTakeLeavesWhatBlocks(t *testing.T) {
	c, s, _ := pair(t, pairConfig{inline: rdma.InlineAlways})
	ran := make(chan struct{})
	var refused int
	var sleeps atomic.Bool
	sleeps.Store(true)
	s.received = func(b *slab.Buf) {
		_ = s.ep.Repost(b)
		if !s.ep.Take(task(func() {
			if sleeps.Load() {
				_ = syscall.Nanosleep(&syscall.Timespec{Nsec: int64(time.Millisecond)}, nil)
			}
			ran <- struct{}{}
		})) {
			refused++
			go func() { ran <- struct{}{} }()
		}
	}
	do := func(n int) (others int) {
		before := refused
		for range n {
			c.send(1)
			<-ran
		}
		return refused - before
	}
	for _, step := range []struct{ taken, refused int }{{1, 64}, {1, 128}} {
		if n := do(step.taken); n != 0 {
			t.Fatalf("%d tasks were refused", n)
		}
		if n := do(step.refused); n != step.refused {
			t.Fatalf("%d of %d tasks were refused", n, step.refused)
		}
	}
	sleeps.Store(false)
	if n := do(300); n > 299 {
		t.Fatal("no task was taken any more")
	}
	endBoth(t, c, s)
}

type counted struct{ ran chan struct{} }

func (c *counted) Run() { c.ran <- struct{}{} }

func TestTakeAllocatesNothing(t *testing.T) {
	c, s, _ := pair(t, pairConfig{inline: rdma.InlineAlways})
	k := &counted{make(chan struct{}, 1)}
	s.received = func(b *slab.Buf) {
		_ = s.ep.Repost(b)
		if !s.ep.Take(k) {
			k.Run()
		}
	}
	do := func() { c.send(1); <-k.ran }
	for range 100 {
		do()
	}
	if n := testing.AllocsPerRun(500, do); n > 0 {
		t.Errorf("%v allocations for a task", n)
	}
	endBoth(t, c, s)
}
