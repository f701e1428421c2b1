package rpc

import (
	"sync"
	"time"
)

// workerKeep is how often the idle workers are looked through: one that was idle the whole time ends.
const workerKeep = 10 * time.Second

// Task is something for [Workers] to run.
type Task interface{ Run() }

// Workers runs tasks on goroutines it uses again: the last idle one first, because its stack has
// grown already and is warm. It bounds nothing: those who call Go do. The zero value is ready for use.
type Workers struct {
	mu     sync.Mutex // a leaf
	idle   []*worker  // longest idle first
	epoch  uint64     // of the timer
	timer  *time.Timer
	closed bool
	wg     sync.WaitGroup
}

type worker struct {
	tasks chan Task // capacity 1; nil ends the worker
	epoch uint64    // when it became idle
}

// Go runs t. It does not wait, and allocates nothing as long as a worker is idle.
func (p *Workers) Go(t Task) {
	p.mu.Lock()
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
	w.tasks <- t
	go p.work(w)
}

func (p *Workers) work(w *worker) {
	defer p.wg.Done()
	for t := range w.tasks {
		if t == nil {
			return
		}
		t.Run()
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return
		}
		w.epoch = p.epoch
		p.idle = append(p.idle, w)
		if p.timer == nil {
			p.timer = time.AfterFunc(workerKeep, p.trim)
		}
		p.mu.Unlock()
	}
}

// trim ends the workers that have been idle since before the last time.
func (p *Workers) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for n < len(p.idle) && p.idle[n].epoch < p.epoch {
		p.idle[n].tasks <- nil // it waits for it: the channel is empty
		n++
	}
	m := copy(p.idle, p.idle[n:])
	clear(p.idle[m:])
	p.idle = p.idle[:m]
	p.epoch++
	if m == 0 || p.closed {
		p.timer = nil
		return
	}
	p.timer.Reset(workerKeep)
}

// Close ends the workers, and returns when all tasks are done. Go must not be called any more.
func (p *Workers) Close() {
	p.mu.Lock()
	p.closed = true
	for _, w := range p.idle {
		w.tasks <- nil
	}
	p.idle = nil
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	p.wg.Wait()
}
