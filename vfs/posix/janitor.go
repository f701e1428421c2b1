package posix

import "time"

const (
	// tickEvery is how often the janitor runs, and how long the check that a directory is beneath the root is
	// valid.
	tickEvery = time.Second
	// A descriptor that is not used for idleTicks is closed.
	idleTicks = 10
	// A descriptor with data that may not be stable is kept dirtyTicks longer.
	dirtyTicks = 60
	// A node that is not used for nodeTicks is dropped.
	nodeTicks = 30
	// perTick bounds the nodes whose descriptors the janitor looks at in one tick.
	perTick = 4096
)

// janitor closes descriptors and nodes that have not been used for a while, until the file system is closed.
func (fs *FS) janitor() {
	defer fs.done.Done()
	t := time.NewTicker(tickEvery)
	defer t.Stop()
	for {
		select {
		case <-fs.stop:
			return
		case <-fs.kick:
			fs.open.shrink(fs.open.excess() + int(fs.open.limit.Load())/8)
		case <-t.C:
			for _, n := range fs.graveyard.take() {
				n.destroy()
			}
			if n := fs.budget.Cache(); n != fs.kept {
				fs.setLimits(n)
			}
			fs.expire(fs.tick.Add(1))
		}
	}
}

// setLimits divides the descriptors kept open for later use among objects and their data.
func (fs *FS) setLimits(n int) {
	fs.kept = n
	fs.cache.setLimit(n * 3 / 4)
	fs.open.limit.Store(int64(n / 4))
}

// expire closes the descriptors and drops the nodes whose time without use has passed at this tick.
func (fs *FS) expire(now uint32) {
	fs.closeIdle(now - idleTicks)
	fs.cache.sweep(now, now-nodeTicks)
}

// closeIdle closes descriptors not used since the tick.
func (fs *FS) closeIdle(before uint32) {
	first := fs.open.rotate()
	for n, i := first, 0; n != nil && i < perTick; i++ {
		n.data.mu.Lock()
		n.closeIdle(before, false)
		n.data.mu.Unlock()
		if n = fs.open.rotate(); n == first {
			break
		}
	}
}
