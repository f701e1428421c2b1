package budget

import "sync"

const (
	// maxThreads is how many calls all shares may have blocked together. The Go runtime ends the
	// process when it needs more than 10,000 threads.
	maxThreads = 4096
	// maxShareThreads is the most that one share is given, and minShareThreads the least.
	maxShareThreads = 512
	minShareThreads = 8
)

// Threads divides the threads that may block in file systems: each share gets an equal part, so
// that one whose disk stalls leaves the others theirs.
type Threads struct {
	total int

	mu      sync.Mutex // taken before Calls.mu
	members map[*Calls]bool
}

// NewThreads divides total threads; 0 means what the machine allows ([AvailableThreads]).
func NewThreads(total int) *Threads {
	if total <= 0 {
		total = AvailableThreads()
	}
	return &Threads{total: total, members: make(map[*Calls]bool)}
}

// Share returns the part of one more share. The parts of the others become smaller.
func (t *Threads) Share() *Calls {
	c := &Calls{threads: t}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.members[c] = true
	t.divideLocked()
	return c
}

// remove takes a share out. The threads that are still blocked in its calls are not divided again
// before they return.
func (t *Threads) remove(c *Calls) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.members[c]; ok {
		t.members[c] = false
		t.divideLocked()
	}
}

func (t *Threads) divideLocked() {
	left, shares := t.total, 0
	for c, open := range t.members {
		switch busy := int(c.running.Load()); {
		case open:
			shares++
		case busy == 0:
			delete(t.members, c)
		default:
			left -= busy
		}
	}
	if shares == 0 {
		return
	}
	part := max(min(left/shares, maxShareThreads), minShareThreads)
	for c, open := range t.members {
		if open {
			c.setLimit(part)
		}
	}
}
