package connlimit

import (
	"slices"
	"time"
)

// maxEnding is how many connections may be ending when another is ended to make room. The resources of ending connections are
// beyond the limits.
func (t *Table) maxEnding() int { return max(16, t.cfg.Total/8) }

// candidate is a connection that may make room.
type candidate struct {
	e       *Entry
	surplus int // how many more connections its client has than the newcomer would have
}

// candidatesLocked returns the connections that may make room for e: those of e's client if it has too many, otherwise those of
// all clients that have at least as many as e's client would have.
func (t *Table) candidatesLocked(e *Entry, why Reason) (list []candidate) {
	if t.ending >= t.maxEnding() {
		return nil
	}
	mine := t.clients[e.client] + 1
	for other := range t.entries {
		surplus := t.clients[other.client] - mine
		if other.client == e.client {
			surplus = 0
		}
		if other.client == e.client || why == TooMany && surplus >= 0 {
			list = append(list, candidate{other, surplus})
		}
	}
	return list
}

// makeRoom ends one idle connection: of the client with the most connections, one that is not established, or else the one that has been
// idle longest. It returns false if there is none.
func (t *Table) makeRoom(list []candidate) bool {
	now := time.Now()
	idle := make(map[*Entry]time.Duration, len(list))
	for _, c := range list {
		idle[c.e] = c.e.idle(now)
	}
	slices.SortFunc(list, func(a, b candidate) int {
		if a.surplus != b.surplus {
			return b.surplus - a.surplus
		}
		if x, y := a.e.established.Load(), b.e.established.Load(); x != y {
			if y {
				return -1
			}
			return 1
		}
		return int(idle[b.e] - idle[a.e])
	})
	for _, c := range list {
		// A client with no more connections than the newcomer loses only a connection that was idle for spare.
		if c.surplus == 0 && idle[c.e] < spare {
			continue
		}
		if !c.e.busy() && t.end(c.e, MakesRoom) {
			return true
		}
	}
	return false
}
