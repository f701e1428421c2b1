package state

import (
	"sync"
	"sync/atomic"
	"time"
)

// quiet is how long nobody must have reclaimed anything before the grace period ends.
const quiet = 2 * time.Second

// Grace is the grace period (RFC 8881 8.4.2): after a restart, while clients that had state reclaim it, nobody gets new state.
type Grace struct {
	active atomic.Bool

	mu    sync.Mutex
	until time.Time
	last  time.Time       // of the last reclaim
	limit time.Time       // the period ends by then, even while clients reclaim
	known map[string]bool // records of the former run: true once their client is done
	left  int             // of known, those not done
}

func newGrace(known []string, now time.Time, length time.Duration) *Grace {
	g := &Grace{until: now.Add(length), limit: now.Add(2 * length), known: make(map[string]bool, len(known))}
	for _, k := range known {
		g.known[k] = false
	}
	g.left = len(g.known)
	g.active.Store(g.left > 0 && length > 0)
	return g
}

// Active reports whether the grace period lasts.
func (g *Grace) Active() bool { return g.active.Load() }

// MayReclaim reports whether the client of the record had state in the former run.
func (g *Grace) MayReclaim(record string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.known[record]
	return ok
}

// Reclaimed notes that a client has just reclaimed something. The period goes on for a while (RFC 8881 8.4.2.1).
func (g *Grace) Reclaimed(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = now
}

// done notes that the client of the record has finished, and reports whether that ended the period.
func (g *Grace) done(record string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if finished, ok := g.known[record]; ok && !finished {
		g.known[record] = true
		g.left--
	}
	return g.left == 0 && g.active.Swap(false)
}

// expire ends the period when its time is up, and reports whether it did.
func (g *Grace) expire(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Before(g.until) || now.Before(g.limit) && now.Sub(g.last) < quiet {
		return false
	}
	return g.active.Swap(false)
}

// missing returns the records of the clients that never finished, which may not reclaim any more.
func (g *Grace) missing() (out []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k, finished := range g.known {
		if !finished {
			out = append(out, k)
			delete(g.known, k)
		}
	}
	return out
}
