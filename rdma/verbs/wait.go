//go:build linux && cgo && rdmacore

package verbs

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"syscall"
	"time"

	"fileserver/rdma"
)

// minSpin is the shortest time for which it is worth looking at the clock.
const minSpin = 2 * time.Microsecond

// waiter is what a queue keeps from one Wait to the next. But for what mu guards
// only Wait touches it.
type waiter struct {
	budget time.Duration // to spin, next time
	fresh  bool          // armAndTake has not been called in this sleep
	found  bool          // completions, by it
	err    error         // of arming

	mu   sync.Mutex
	done <-chan struct{} // of the context that is watched
	stop func() bool
}

// Wait implements [rdma.CQ]. It spins if that has paid lately. Then it arms the
// queue, looks again, and sleeps in the runtime's poller.
func (c *cq) Wait(ctx context.Context) error {
	c.wait.watch(ctx, c)
	start := time.Time{}
	for {
		if done, err := c.ready(ctx); done {
			return err
		}
		if start.IsZero() && c.dev.p.spin > 0 {
			start = time.Now()
			if c.spin(start) {
				return nil
			}
		}
		found, slept, err := c.sleep()
		if !start.IsZero() && slept {
			c.wait.slept(time.Since(start), c.dev.p.spin)
		}
		if found || err != nil {
			return err
		}
	}
}

// sleep arms the queue, and sleeps until there is an event unless there are completions already. Nothing found means
// that something else has ended the sleep.
func (c *cq) sleep() (found, slept bool, err error) {
	w := &c.wait
	w.fresh, w.found, w.err = true, false, nil
	err = c.raw.Read(c.take)
	switch {
	case w.err != nil || w.found:
		return w.found, false, w.err
	default:
		return err == nil, true, nil
	}
}

// ready reports whether there is no need to wait: completions are there, or the
// queue or ctx has ended. It takes back the deadline that made an earlier wait end.
func (c *cq) ready(ctx context.Context) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.woken {
		c.woken = false
		_ = c.file.SetReadDeadline(time.Time{})
	}
	switch {
	case c.shut:
		return true, rdma.ErrClosed
	case c.head < len(c.stash):
		return true, nil
	case ctx.Err() != nil:
		return true, context.Cause(ctx)
	case !c.h.valid():
		return true, rdma.ErrDeviceRemoved
	}
	return false, nil
}

// wakeLocked ends a wait in progress. The waiter then sees what the caller changed before.
func (c *cq) wakeLocked() {
	c.woken = true
	_ = c.file.SetReadDeadline(time.Unix(1, 0))
}

// armAndTake is called by the poller before it waits, and then for each possible event. It reports false to wait on.
//
// The first call arms the queue. Whatever happens after that makes the file readable or sets its deadline, and the
// poller returns. So the first call looks for an event only if the queue was armed before.
func (c *cq) armAndTake(uintptr) bool {
	if w := &c.wait; w.fresh {
		w.fresh = false
		before, n, err := c.fetch(true)
		w.found, w.err = n > 0, err
		switch {
		case n > 0 || err != nil:
			return true
		case !before:
			return false
		}
	}
	return c.takeEvent()
}

// takeEvent takes the event if there is one; it reports false to wait on.
func (c *cq) takeEvent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.h.valid() || c.shut {
		return true
	}
	switch err := c.h.takeEvent(); {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return false
	case err == nil:
		c.armed = false
	}
	return true
}

// spin polls for as long as the budget lasts, and reports whether it has found
// anything. It lets other goroutines run in between.
func (c *cq) spin(start time.Time) bool {
	p := c.dev.p
	if c.wait.budget < minSpin {
		return false
	}
	if p.spinners.Add(1) > p.maxSpinners {
		p.spinners.Add(-1)
		return false
	}
	defer p.spinners.Add(-1)
	for {
		if _, n, _ := c.fetch(false); n > 0 {
			c.wait.budget = min(2*c.wait.budget, p.spin)
			return true
		}
		runtime.Gosched()
		if time.Since(start) > c.wait.budget {
			return false
		}
	}
}

// slept adapts the budget: it grows when all of it would have been enough.
func (w *waiter) slept(d, most time.Duration) {
	if d <= most {
		w.budget = min(max(2*w.budget, 2*minSpin), most)
	} else {
		w.budget /= 2
	}
}

// watch lets the end of ctx end the wait. A queue is mostly waited on with one
// context, which is therefore registered once.
func (w *waiter) watch(ctx context.Context, c *cq) {
	done := ctx.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	if done == w.done {
		return
	}
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
	if w.done = done; done != nil {
		w.stop = context.AfterFunc(ctx, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.wakeLocked()
		})
	}
}

func (w *waiter) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		w.stop()
	}
	w.stop, w.done = nil, nil
}
