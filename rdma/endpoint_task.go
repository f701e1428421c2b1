package rdma

import (
	"runtime"
	"time"
)

// Task is a piece of work that a message has brought ([Endpoint.Take]).
type Task interface{ Run() }

// Inline says whether an endpoint runs tasks itself.
type Inline int8

// Where tasks are run.
const (
	InlineAuto   Inline = iota // on the completion goroutine where there is one processor, and the runtime has a second P
	InlineNever                // by others
	InlineAlways               // on the completion goroutine
)

func (i Inline) here() bool {
	return i == InlineAlways || i == InlineAuto && runtime.NumCPU() == 1 && runtime.GOMAXPROCS(0) > 1
}

const (
	// handOver is how long a task may keep the completion goroutine, at least; at most it is twice that.
	handOver = 20 * time.Millisecond
	// probeEvery is how many tasks are run for one that is watched for blocking.
	probeEvery = 64
	// Tasks that others get when one has blocked: twice as many each time, as long as every probe blocks.
	leastAway = 64
	mostAway  = 1 << 16
	// yieldEvery is how many tasks are run before other goroutines have a turn: what never shows itself to the runtime's scheduler
	// is preempted by its monitor, with a signal.
	yieldEvery = 8
)

// tasks are what the completion goroutine runs itself when it has handed over the completions at hand. On one processor
// another goroutine would run them no sooner, and to wake it costs as much as the task.
//
// A task that takes its time does not hold up the connection: then another goroutine goes on with the completions,
// and the one that runs the task is no more than that task's. Tasks that block for less, at the disk, would
// be one after the other what could be at once: that is probed, and then others run them for a while. The endpoint's lock guards it.
type tasks struct {
	here    bool // does not change
	handing bool // completions are being handed over: Take takes tasks
	list    []Task
	next    int // of list
	turn    uint64
	running bool // a task, turn being its number
	yield   int

	timer *time.Timer // nil, or it looks whether turn goes on
	armed bool
	seen  uint64

	probe int // tasks until the next
	away  int // tasks left to others
	most  int // away, next time
}

// Take runs t on the completion goroutine, soon, or reports false: then the caller has it run by a goroutine
// of its own. It is for tasks that probably will not block. It may be called from anywhere, but tasks are taken only
// while an [EndpointHandler] or a [Completion] is called: it is them that should call it.
func (e *Endpoint) Take(t Task) bool {
	if !e.tasks.here {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	k := &e.tasks
	switch {
	case !k.handing || e.failing:
		return false
	case k.away > 0:
		k.away--
		return false
	}
	k.list = append(k.list, t)
	return true
}

// hand is called before completions are handed over.
func (e *Endpoint) hand() {
	if !e.tasks.here {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tasks.handing = true
}

// runTasks runs what has been taken. It reports false when another goroutine has become the completion goroutine.
func (e *Endpoint) runTasks() bool {
	if !e.tasks.here {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	k := &e.tasks
	k.handing = false
	for k.next < len(k.list) {
		t := k.list[k.next]
		k.list[k.next] = nil
		k.next++
		if !e.runTask(t) {
			return false
		}
	}
	k.list, k.next = k.list[:0], 0
	return true
}

// runTask runs one. Called with mu held; lets go of it meanwhile.
func (e *Endpoint) runTask(t Task) bool {
	k := &e.tasks
	k.turn++
	turn := k.turn
	k.running = true
	if !k.armed {
		k.armed, k.seen = true, 0
		if k.timer == nil {
			k.timer = time.AfterFunc(handOver, e.checkTask)
		} else {
			k.timer.Reset(handOver)
		}
	}
	k.yield++
	yield := k.yield%yieldEvery == 0
	k.probe--
	probe := k.probe < 0
	e.mu.Unlock()
	if yield {
		runtime.Gosched()
	}
	blocked := false
	if probe {
		before := switches()
		t.Run()
		blocked = switches() != before
	} else {
		t.Run()
	}
	e.mu.Lock()
	if k.turn != turn {
		return false
	}
	k.running = false
	if probe {
		k.probed(blocked)
	}
	return true
}

// probed draws the conclusion of a probe.
func (k *tasks) probed(blocked bool) {
	if !blocked {
		k.probe, k.most = probeEvery-1, leastAway
		return
	}
	k.most = max(k.most, leastAway)
	k.away, k.probe = k.most, 0
	k.most = min(2*k.most, mostAway)
}

// checkTask is called by the timer while tasks are run.
func (e *Endpoint) checkTask() {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := &e.tasks
	switch {
	case k.seen != k.turn:
		k.seen = k.turn
		k.timer.Reset(handOver)
	case k.running:
		k.turn++
		k.running, k.armed = false, false
		k.probed(true)
		go e.lead()
	default:
		k.armed = false
	}
}
