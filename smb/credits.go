package smb

// Limits of credits.
const (
	maxCredits = 8192 // the most that a client holds
	// earlyCredits are the most credits that a client holds before it has authenticated.
	earlyCredits = 8
	// windowSize is how far the message IDs in use may lie above the lowest ID that the client has not used: a client may
	// leave out some IDs for a while (MS-SMB2 3.3.1.1).
	windowSize = 2 * maxCredits
)

// window is a connection's CommandSequenceWindow (MS-SMB2 3.3.1.1, 3.3.1.2): the message IDs that the client may use,
// each once. They are the IDs of [low, high) that are not marked as used.
type window struct {
	low, high uint64
	held      int // number of unused IDs: the client's credits
	used      [windowSize / 64]uint64
}

// newWindow returns the window of a new connection, which holds message ID 0.
func newWindow() *window { return &window{high: 1, held: 1} }

func (w *window) bit(id uint64) (word *uint64, mask uint64) {
	id %= windowSize
	return &w.used[id/64], 1 << (id % 64)
}

// take uses n message IDs from id on (MS-SMB2 3.3.5.2.3). If the client may not use all of them, take changes nothing
// and returns false.
func (w *window) take(id uint64, n int) bool {
	if id < w.low || id >= w.high || uint64(n) > w.high-id {
		return false
	}
	for i := id; i < id+uint64(n); i++ {
		if word, mask := w.bit(i); *word&mask != 0 {
			return false
		}
	}
	for i := id; i < id+uint64(n); i++ {
		word, mask := w.bit(i)
		*word |= mask
	}
	w.held -= n
	for w.low < w.high {
		word, mask := w.bit(w.low)
		if *word&mask == 0 {
			break
		}
		*word &^= mask
		w.low++
	}
	return true
}

// grant returns the number of credits granted to a request for asked credits: as many as the client may hold up to
// limit, but at least one if it would hold none (MS-SMB2 3.3.1.2).
func (w *window) grant(asked, limit int) int {
	n := min(asked, limit-w.held, windowSize-int(w.high-w.low))
	if w.held == 0 {
		n = max(n, 1) // low equals high: there is room
	}
	n = max(n, 0)
	w.high += uint64(n)
	w.held += n
	return n
}
