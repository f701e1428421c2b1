package posix

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// The cache keeps descriptors, and the descriptor of a file that a local program has removed keeps the file's
// storage. So the janitor checks all nodes in the cache every two seconds, and a call that finds the file system
// full checks them at once.

// sweepTurns is the number of ticks in which the janitor checks all shards of the cache.
const sweepTurns = 2

// reclaimEvery is the shortest time between two searches for removed files on a full file system.
const reclaimEvery = 100 * time.Millisecond

// removed reports whether the object has no name any more. It does not ask a remote server or a FUSE daemon, so it
// does not block.
func (n *node) removed() bool {
	var st unix.Statx_t
	if statxCached(n.fd, unix.STATX_NLINK|unix.STATX_MODE, &st) != 0 || st.Nlink > 0 {
		return false
	}
	n.learn(&st)
	return true
}

// sweep destroys the unreferenced nodes of a shard for which end returns true, and returns how many.
func (s *shard) sweep(end func(*node) bool) (done int) {
	s.mu.Lock()
	left := s.n
	s.mu.Unlock()
	for ; left > 0; left-- {
		n := s.pick()
		if n == nil {
			break
		}
		if s.putBack(n, end(n)) {
			n.destroy()
			done++
		}
	}
	return done
}

// pick takes a reference to the first unreferenced node and returns it, or nil if there is none.
func (s *shard) pick() *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.idle.next
	if n == &s.idle {
		return nil
	}
	return s.ref(n)
}

// putBack releases the reference that pick took, as if it had not been taken. If end is set and there is no other
// reference, it drops the node and returns true, and the caller destroys the node.
func (s *shard) putBack(n *node, end bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.refs--; n.refs > 0 {
		return false
	}
	if end || s.closed {
		delete(s.nodes, n.id)
		return true
	}
	s.append(n)
	return false
}

// sweep drops the unreferenced nodes that have not been used since the tick, or have no name any more, in the
// shards whose turn it is.
func (c *cache) sweep(turn uint32, before uint32) {
	for i := int(turn % sweepTurns); i < cacheShards; i += sweepTurns {
		c.shards[i].sweep(func(n *node) bool { return int32(n.idle-before) < 0 || n.removed() })
	}
}

// reclaimer is the state of the search for removed files. Its lock is held during the search.
type reclaimer struct {
	mu    sync.Mutex
	at    time.Time
	found bool
}

// reclaim frees the storage of removed files that only the cache keeps. It reports whether there were any, now or a
// moment ago.
func (fs *FS) reclaim() bool {
	r := &fs.reclaimer
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) < reclaimEvery {
		return r.found
	}
	r.found = false
	for i := range fs.cache.shards {
		if fs.cache.shards[i].sweep((*node).removed) > 0 {
			r.found = true
		}
	}
	r.at = time.Now()
	return r.found
}

// full reports whether an error says that the storage is used up.
func full(err error) bool { return err == vfs.ErrNoSpace || err == vfs.ErrQuota }
