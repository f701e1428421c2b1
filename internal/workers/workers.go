// Package workers runs short-lived tasks on goroutines that are kept for the
// next one: a task costs no allocation, and its stack is warm.
package workers

import (
	"sync"
	"time"
)

// Task is a piece of work.
type Task interface{ Run() }

// idleTime is how long a goroutine without work lives.
const idleTime = 10 * time.Second

// Pool runs tasks. The most recently idle goroutine gets the next task. Without
// a limit there are as many goroutines as tasks run at once: whoever submits bounds them (by credits, say).
type Pool struct {
	mu     sync.Mutex
	idle   []*worker // LIFO
	closed bool
	wg     sync.WaitGroup
}

type worker struct {
	tasks chan Task // capacity 1; only who took the worker off the idle list sends
}

// Submit runs t on a goroutine of the pool. It never blocks. After Close it panics.
func (p *Pool) Submit(t Task) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		panic("workers: Submit after Close")
	}
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		w.tasks <- t
		return
	}
	p.wg.Add(1)
	p.mu.Unlock()
	w := &worker{tasks: make(chan Task, 1)}
	go p.run(w, t)
}

func (p *Pool) run(w *worker, t Task) {
	defer p.wg.Done()
	timer := time.NewTimer(idleTime)
	defer timer.Stop()
	for {
		t.Run()
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return
		}
		p.idle = append(p.idle, w)
		p.mu.Unlock()
		timer.Reset(idleTime)
		select {
		case t = <-w.tasks:
		case <-timer.C:
			if p.leave(w) {
				return
			}
			t = <-w.tasks // taken off the list just now: the task is on its way
		}
		if t == nil {
			return
		}
	}
}

// leave takes an idle worker off the list; false if somebody else did.
func (p *Pool) leave(w *worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, x := range p.idle {
		if x == w {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return true
		}
	}
	return false
}

// Close ends the idle goroutines and waits for the tasks that run.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, w := range p.idle {
		w.tasks <- nil
	}
	p.idle = nil
	p.mu.Unlock()
	p.wg.Wait()
}
