package posix

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// Slots for the open descriptors of a node, shared by all its Files.
const (
	slotRead  = iota // O_RDONLY
	slotRW           // O_RDWR
	slotWrite        // O_WRONLY, where the server itself may not read
	slots
)

// openFD is an open descriptor of a regular file. Its fields are guarded by dataState.mu.
type openFD struct {
	fd   int
	refs int
	used uint32 // tick of the last use
}

// dataState holds the open descriptors of a node: of the data of a file, or of the entries of a directory. Its lock
// may be held while openList.mu is taken.
type dataState struct {
	mu      sync.Mutex
	fds     [slots]*openFD
	streams []*stream // idle
	files   *file     // free list
	listed  bool      // in FS.open
	prev    *node
	next    *node
	syncFD  *openFD // of a directory
}

// acquire returns a descriptor for reading, or for writing (and reading, if possible). The server's own identity
// opens it: the caller has checked the permissions. The caller returns the descriptor with yield.
func (n *node) acquire(write bool) (*openFD, error) {
	d := &n.data
	d.mu.Lock()
	defer d.mu.Unlock()
	return n.acquireLocked(write)
}

func (n *node) acquireLocked(write bool) (*openFD, error) {
	d := &n.data
	h := d.fds[slotRW]
	switch {
	case h != nil:
	case write:
		h = d.fds[slotWrite]
	default:
		h = d.fds[slotRead]
	}
	if h == nil {
		slot, fd, err := n.reopen(write)
		if err != nil {
			return nil, err
		}
		h = n.keepLocked(slot, fd)
	}
	h.refs++
	h.used = n.fs.tick.Load()
	return h, nil
}

func (n *node) yield(h *openFD) {
	n.data.mu.Lock()
	h.refs--
	n.data.mu.Unlock()
}

// reopen opens the object of the node again.
func (n *node) reopen(write bool) (slot, fd int, err error) {
	if !write {
		fd, err = n.openAs(unix.O_RDONLY)
		if err == vfs.ErrAccess {
			fd, err = n.openForced(unix.O_RDONLY)
		}
		return slotRead, fd, err
	}
	fd, err = n.openAs(unix.O_RDWR)
	if err != vfs.ErrAccess {
		return slotRW, fd, err
	}
	if fd, err = n.openAs(unix.O_WRONLY); err != vfs.ErrAccess {
		return slotWrite, fd, err
	}
	fd, err = n.openForced(unix.O_RDWR)
	return slotRW, fd, err
}

// openAs opens the object through /proc with the server's own identity.
func (n *node) openAs(flags int) (int, error) {
	var name cname
	name.setInt(0, n.fd)
	return n.fs.retryFDs(func() (int, error) {
		fd, e := openat(n.fs.proc, &name, flags|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC)
		return fd, status(e)
	})
}

// openForced opens a file whose mode denies access even to its owner, which is the server's user. NFS lets a client
// that created a file without write permission go on writing it. An ordinary process can only do that by changing
// the mode for a moment.
func (n *node) openForced(flags int) (int, error) {
	var st unix.Statx_t
	if err := n.statx(statPerm, &st); err != nil {
		return -1, err
	}
	if st.Uid != n.fs.crew.base.uid {
		return -1, vfs.ErrAccess
	}
	mode := uint32(st.Mode & 0o7777)
	if err := n.chmod(mode | 0o600); err != nil {
		return -1, statusOf(err)
	}
	fd, err := n.openAs(flags)
	_ = n.chmod(mode)
	n.changed()
	return fd, err
}

// keep adds a descriptor to the node, which then owns it.
func (n *node) keep(slot, fd int) {
	n.data.mu.Lock()
	defer n.data.mu.Unlock()
	if n.data.fds[slot] != nil {
		_ = unix.Close(fd)
		return
	}
	n.keepLocked(slot, fd)
}

func (n *node) keepLocked(slot, fd int) *openFD {
	h := &openFD{fd: fd, used: n.fs.tick.Load()}
	n.data.fds[slot] = h
	n.fs.opened(n)
	return h
}

// opened counts a new descriptor of n, and wakes the janitor if there are too many.
func (fs *FS) opened(n *node) {
	if fs.open.add(n) {
		select {
		case fs.kick <- struct{}{}:
		default:
		}
	}
}

// closeIdle closes the descriptors that have not been used since the tick, or every unused one if all is set. It
// returns how many it closed. The caller holds data.mu.
func (n *node) closeIdle(before uint32, all bool) (closed int) {
	d := &n.data
	more := false
	stale := func(h *openFD) bool { return h.refs == 0 && (all || int32(h.used-before) < 0) }
	if n.dirty.Load() && !all { // the kernel writes the data back meanwhile, so that the flush below is short
		before -= dirtyTicks
	}
	for i, h := range d.fds {
		switch {
		case h == nil:
		case !stale(h):
			more = true
		default:
			if i != slotRead && n.dirty.Load() && !n.gone.Load() {
				n.flush(h.fd) // so that a failure is counted
			}
			_ = unix.Close(h.fd)
			d.fds[i] = nil
			closed++
		}
	}
	keep := d.streams[:0]
	for _, s := range d.streams {
		if all || int32(s.used-before) < 0 {
			_ = unix.Close(s.fd)
			closed++
			continue
		}
		keep = append(keep, s)
	}
	clear(d.streams[len(keep):])
	d.streams = keep
	more = more || len(keep) > 0
	if h := d.syncFD; h != nil {
		if stale(h) {
			_ = unix.Close(h.fd)
			d.syncFD = nil
			closed++
		} else {
			more = true
		}
	}
	n.fs.open.closed(n, closed, more)
	return closed
}

// closeData closes every descriptor that is not in use.
func (n *node) closeData() {
	n.data.mu.Lock()
	defer n.data.mu.Unlock()
	n.closeIdle(0, true)
}

// openList lists the nodes with open descriptors, least recently opened first. Its
// lock is the last one taken.
type openList struct {
	mu    sync.Mutex
	head  *node
	tail  *node
	n     int // descriptors
	limit atomic.Int64
}

// add counts one more descriptor, of n; it reports whether there are too many.
func (l *openList) add(n *node) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	if !n.data.listed {
		l.append(n)
	}
	return l.n > int(l.limit.Load())
}

func (l *openList) append(n *node) {
	d := &n.data
	d.listed, d.prev, d.next = true, l.tail, nil
	if l.tail != nil {
		l.tail.data.next = n
	} else {
		l.head = n
	}
	l.tail = n
}

func (l *openList) remove(n *node) {
	d := &n.data
	if d.prev != nil {
		d.prev.data.next = d.next
	} else {
		l.head = d.next
	}
	if d.next != nil {
		d.next.data.prev = d.prev
	} else {
		l.tail = d.prev
	}
	d.listed, d.prev, d.next = false, nil, nil
}

// closed subtracts the count of closed descriptors of n.
func (l *openList) closed(n *node, count int, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n -= count
	if n.data.listed && !more {
		l.remove(n)
	}
}

// rotate returns the least recently opened node and moves it to the end.
func (l *openList) rotate() (n *node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n = l.head; n != nil {
		l.remove(n)
		l.append(n)
	}
	return n
}

// excess returns how many descriptors there are above the limit.
func (l *openList) excess() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n - int(l.limit.Load())
}

// shrink closes about want unused descriptors and returns how many it closed.
func (l *openList) shrink(want int) (done int) {
	for tries := 2 * want; done < want && tries > 0; tries-- {
		n := l.rotate()
		if n == nil {
			break
		}
		// TryLock, because a goroutine that waits for a descriptor may hold this lock, or hold that of another node
		// and want this one.
		if n.data.mu.TryLock() {
			done += n.closeIdle(0, true)
			n.data.mu.Unlock()
		}
	}
	return done
}
