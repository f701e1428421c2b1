package posix

import "time"

// Tick makes the file system believe that n ticks of the janitor have passed, and that it has seen the whole cache since.
func (fs *FS) Tick(n uint32) {
	now := fs.tick.Add(n)
	for turn := range uint32(sweepTurns) {
		fs.expire(now + turn)
	}
}

// Descriptors counts those that could be closed.
func (fs *FS) Descriptors() int { return fs.open.excess() + int(fs.open.limit.Load()) }

// Nodes counts all objects in memory.
func (fs *FS) Nodes() int { return int(fs.live.Load()) }

// Limits sets how many descriptors and unreferenced nodes are kept.
func (fs *FS) Limits(fds, nodes int) {
	fs.open.limit.Store(int64(fds))
	fs.cache.setLimit(nodes)
}

// Shrink gives everything back that nobody uses.
func (fs *FS) Shrink() { fs.open.shrink(1 << 20); fs.cache.shrink(1 << 20) }

// Searches counts how often the tree was searched.
func (fs *FS) Searches() int {
	t := fs.loc.(*table)
	t.search.Lock()
	defer t.search.Unlock()
	return t.searches
}

// Waiting counts those who wait for the next fsync of an object.
func (fs *FS) Waiting(v interface{ Release() }) int {
	s := &v.(*node).sync
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		return 0
	}
	return s.next.waiting
}

// ForgetReclaim lets the next call that finds the file system full look for removed files at once.
func (fs *FS) ForgetReclaim() {
	fs.reclaimer.mu.Lock()
	defer fs.reclaimer.mu.Unlock()
	fs.reclaimer.at = time.Time{}
}
