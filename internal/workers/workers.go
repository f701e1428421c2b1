// Package workers runs short-lived tasks on goroutines that are kept for the
// next one: a task costs no allocation, and its stack is warm.
package workers

import (
	"sync"
	"time"
)

// Task is a piece of work.
type Task interface{ Run() }

// idleTime is how long goroutines are kept without work: at least that, at most twice.
const idleTime = 10 * time.Second

// Pool runs tasks. The most recently idle goroutine gets the next task. Without
// a limit there are as many goroutines as tasks run at once: whoever submits bounds them (by credits, say).
type Pool struct {
	mu     sync.Mutex
	idle   []*worker // LIFO
	unused int       // of idle, how many had nothing to do since trim looked
	timer  *time.Timer
	armed  bool // trim will be called
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
			p.arm()
		}
		p.mu.Unlock()
		t = <-w.tasks
	}
}

// arm has trim called after idleTime. One timer for all: to set one for every task costs as much as many a task. Called with mu held.
func (p *Pool) arm() {
	p.armed = true
	if p.timer == nil {
		p.timer = time.AfterFunc(idleTime, p.trim)
	} else {
		p.timer.Reset(idleTime)
	}
}

// trim ends the goroutines that had nothing to do since it looked last.
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
		p.arm()
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
