package budget

import "sync"

const (
	// maxThreads is how many calls all shares may have blocked together. The Go runtime ends the
	// process when it needs more than 10,000 threads.
	maxThreads = 4096
	// maxShareThreads and minShareThreads bound the threads of one share.
	maxShareThreads = 512
	minShareThreads = 8
	// maxShareCache and minShareCache bound the descriptors that one share keeps open for later use.
	maxShareCache = 32768
	minShareCache = 64
)

// Shares divides the threads that may block in file systems and the descriptors that are kept open for later use. Each share
// gets an equal part, so that a share whose disk stalls does not affect the others.
type Shares struct {
	threads, cache int

	mu      sync.Mutex // taken before Share.mu
	members map[*Share]bool
}

// NewShares divides a number of threads, and of descriptors that are kept open; 0 means what the
// machine allows ([AvailableThreads], [PlanDescriptors]).
func NewShares(threads, cache int) *Shares {
	if threads <= 0 {
		threads = AvailableThreads()
	}
	if cache <= 0 {
		cache = PlanDescriptors(Descriptors()).Cache
	}
	return &Shares{threads: threads, cache: cache, members: make(map[*Share]bool)}
}

// Add returns the part of one more share. The parts of the others become smaller.
func (a *Shares) Add() *Share {
	s := &Share{all: a}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.members[s] = true
	a.divideLocked()
	return s
}

// remove removes a share. Threads that are still blocked in its calls are divided again only after they return.
func (a *Shares) remove(s *Share) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.members[s]; ok {
		a.members[s] = false
		a.divideLocked()
	}
}

func (a *Shares) divideLocked() {
	threads, shares := a.threads, 0
	for s, open := range a.members {
		switch busy := int(s.running.Load()); {
		case open:
			shares++
		case busy == 0:
			delete(a.members, s)
		default:
			threads -= busy
		}
	}
	if shares == 0 {
		return
	}
	part := max(min(threads/shares, maxShareThreads), minShareThreads)
	cache := max(min(a.cache/shares, maxShareCache), minShareCache)
	for s, open := range a.members {
		if open {
			s.setLimits(part, cache)
		}
	}
}
