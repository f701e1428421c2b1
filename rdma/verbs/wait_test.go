//go:build linux && cgo && rdmacore

package verbs

import (
	"context"
	"errors"
	"testing"
	"time"

	"fileserver/rdma"
)

// TestSpinBudget: a queue spins longer when a longer spin would have found what it then slept for, up to the provider's bound, and
// shorter when it would not.
func TestSpinBudget(t *testing.T) {
	const most = 20 * time.Microsecond
	for _, c := range []struct{ budget, slept, want time.Duration }{
		{0, time.Microsecond, 2 * minSpin},
		{minSpin, most, 2 * minSpin},
		{8 * time.Microsecond, most, 16 * time.Microsecond},
		{16 * time.Microsecond, most, most},
		{most, most + 1, most / 2},
		{minSpin, time.Second, minSpin / 2},
		{0, time.Second, 0},
	} {
		w := waiter{budget: c.budget}
		if w.slept(c.slept, most); w.budget != c.want {
			t.Errorf("budget %v after a sleep of %v: %v, want %v", c.budget, c.slept, w.budget, c.want)
		}
	}
}

// TestSpinners: no more queues spin at once than there are processors for it, and none whose budget is too small to look at the clock.
func TestSpinners(t *testing.T) {
	p := bareProvider(t)
	p.spin, p.maxSpinners = DefaultSpin, 1
	c, _ := bareCQ(t, bareDevice(p, "d"), 10)
	for _, s := range []struct {
		budget   time.Duration
		spinners int32
		spins    bool
	}{{minSpin - 1, 0, false}, {minSpin, 1, false}, {minSpin, 0, true}} {
		c.wait.budget = s.budget
		p.spinners.Store(s.spinners)
		start := time.Now().Add(-time.Hour) // the budget is spent after one look
		if c.spin(start) {
			t.Error("something was found in an empty queue")
		}
		if p.spinners.Load() != s.spinners {
			t.Errorf("%d spinners after it, %d before", p.spinners.Load(), s.spinners)
		}
	}
}

// TestReady: completions are handed out before a context's end is noticed, and a queue that is closed ends every wait.
func TestReady(t *testing.T) {
	gone := errors.New("gone")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	for name, c := range map[string]struct {
		ctx   context.Context
		set   func(*cq)
		ready bool
		err   error
	}{
		"closed":            {over, func(c *cq) { c.shut, c.stash = true, make([]rdma.WC, 1) }, true, rdma.ErrClosed},
		"completions":       {over, func(c *cq) { c.stash = make([]rdma.WC, 1) }, true, nil},
		"context":           {over, func(*cq) {}, true, gone},
		"no device":         {t.Context(), func(*cq) {}, true, rdma.ErrDeviceRemoved},
		"nothing":           {t.Context(), func(c *cq) { existing(&c.h.c) }, false, nil},
		"completions taken": {t.Context(), func(c *cq) { existing(&c.h.c); c.stash, c.head = make([]rdma.WC, 1), 1 }, false, nil},
	} {
		q, _ := bareCQ(t, bareDevice(bareProvider(t), "d"), 10)
		c.set(q)
		if ready, err := q.ready(c.ctx); ready != c.ready || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", name, ready, err)
		}
	}
}

// TestWaitEnds: a waiter that sleeps is woken by completions that the device did not make, by Close, by the end of its context, and
// by the removal of the device.
func TestWaitEnds(t *testing.T) {
	gone := errors.New("gone")
	for name, c := range map[string]struct {
		end  func(q *cq, cancel context.CancelCauseFunc)
		want error
	}{
		"completions": {func(q *cq, _ context.CancelCauseFunc) { q.put([]rdma.WC{{ID: 7}}) }, nil},
		"context":     {func(_ *cq, cancel context.CancelCauseFunc) { cancel(gone) }, gone},
		"closed":      {func(q *cq, _ context.CancelCauseFunc) { q.mu.Lock(); q.shut = true; q.wakeLocked(); q.mu.Unlock() }, rdma.ErrClosed},
		"removed":     {func(q *cq, _ context.CancelCauseFunc) { q.mu.Lock(); q.h = cqHandle{}; q.wakeLocked(); q.mu.Unlock() }, rdma.ErrDeviceRemoved},
	} {
		t.Run(name, func(t *testing.T) {
			p := bareProvider(t)
			q, _ := bareCQ(t, bareDevice(p, "d"), 10)
			existing(&q.h.c)
			q.armed = true // what has been armed is not armed again
			asleep := make(chan struct{}, 1)
			q.take = func(uintptr) bool {
				select {
				case asleep <- struct{}{}:
				default:
				}
				return false
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			waited := make(chan error, 1)
			go func() { waited <- q.Wait(ctx) }()
			<-asleep
			c.end(q, cancel)
			if err := <-waited; !errors.Is(err, c.want) {
				t.Errorf("Wait: %v, want %v", err, c.want)
			}
			q.wait.forget()
			if q.woken && c.want == nil {
				t.Error("the next wait would end at once")
			}
		})
	}
}

// TestWatch: the end of a context wakes the queue it was last waited on with, of no earlier one.
func TestWatch(t *testing.T) {
	q, _ := bareCQ(t, bareDevice(bareProvider(t), "d"), 10)
	woken := func() bool { q.mu.Lock(); defer q.mu.Unlock(); return q.woken }
	first, endFirst := context.WithCancel(t.Context())
	second, endSecond := context.WithCancel(t.Context())
	q.wait.watch(first, q)
	stop := q.wait.stop
	q.wait.watch(first, q)
	q.wait.watch(second, q)
	if stop() {
		t.Error("the first context is still watched")
	}
	endFirst()
	if woken() {
		t.Error("woken by a context that nobody waits with")
	}
	endSecond()
	await(t, "the wake-up", woken)
	q.wait.forget()
	if q.wait.stop != nil || q.wait.done != nil {
		t.Error("a closed queue watches its context")
	}
}
