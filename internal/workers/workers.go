// Package workers runs short tasks on a pool of goroutines. A task costs no allocation, and its goroutine's stack has already
// grown.
package workers

import (
	"sync"
	"time"
)

// Task is a piece of work.
type Task interface{ Run() }

// idleTime is how long an idle goroutine is kept: at least idleTime, at most twice as long.
const idleTime = 10 * time.Second

// Pool runs tasks. The goroutine that became idle last gets the next task. The pool has no limit: it has as many goroutines as
// tasks run at once. Callers must bound the tasks, for example by credits.
type Pool struct {
	mu     sync.Mutex
	idle   []*worker // LIFO
	unused int       // how many of idle had no task since the last trim
	timer  *time.Timer
	armed  bool // the timer will call trim
	closed bool
	wg     sync.WaitGroup
}

type worker struct {
	tasks chan Task // capacity 1; only the caller that removed the worker from the idle list sends
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
		p.unused = min(p.unused, n-1)
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
	for t != nil {
		t.Run()
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return
		}
		p.idle = append(p.idle, w)
		if !p.armed {
			p.armLocked()
		}
		p.mu.Unlock()
		t = <-w.tasks
	}
}

// armLocked makes the timer call trim after idleTime. One timer serves all workers, because setting a timer for every task would cost
// as much as a short task.
func (p *Pool) armLocked() {
	p.armed = true
	if p.timer == nil {
		p.timer = time.AfterFunc(idleTime, p.trim)
	} else {
		p.timer.Reset(idleTime)
	}
}

// trim ends the goroutines that had no task since the last trim.
func (p *Pool) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	if p.closed {
		return
	}
	for _, w := range p.idle[:p.unused] { // idle the longest
		w.tasks <- nil
	}
	n := copy(p.idle, p.idle[p.unused:])
	clear(p.idle[n:])
	p.idle = p.idle[:n]
	if p.unused = n; n > 0 {
		p.armLocked()
	}
}

// Close ends the idle goroutines and waits for the tasks that run.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	for _, w := range p.idle {
		w.tasks <- nil
	}
	p.idle = nil
	p.mu.Unlock()
	p.wg.Wait()
}
