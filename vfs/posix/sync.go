package posix

import (
	"context"
	"sync"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// syncState combines concurrent requests for stability of one object. While one fsync runs, new requests wait for
// the next one, which one of them makes for all. The lock is not held during a system call.
type syncState struct {
	mu      sync.Mutex
	running bool
	next    *syncBatch
}

// syncBatch is the requests that wait for the same fsync.
type syncBatch struct {
	lead chan struct{} // closed when the first of them may begin
	done chan struct{}
	all  bool // somebody needs all metadata
	err  error

	waiting int // calls, of which one leads
}

// stabilize makes everything written before the call stable. all means fsync(2), otherwise fdatasync(2).
func (n *node) stabilize(fd int, all bool) error {
	s := &n.sync
	s.mu.Lock()
	if b := s.next; b != nil {
		b.all = b.all || all
		b.waiting++
		s.mu.Unlock()
		<-b.done
		return b.err
	}
	b := &syncBatch{done: make(chan struct{}), all: all, waiting: 1}
	if s.running {
		b.lead = make(chan struct{})
		s.next = b
		s.mu.Unlock()
		<-b.lead
		s.mu.Lock()
		s.next = nil // requests from now on need another fsync
		all = b.all
	}
	s.running = true
	s.mu.Unlock()

	b.err = n.fsync(fd, all)

	s.mu.Lock()
	if s.next != nil {
		close(s.next.lead) // running stays set, because the next batch begins at once
	} else {
		s.running = false
	}
	s.mu.Unlock()
	close(b.done)
	return b.err
}

// fsync counts failures: what was written before may be lost, and the kernel reports it only once.
func (n *node) fsync(fd int, all bool) error {
	n.dirty.Store(false)
	call := unix.Fdatasync
	if all {
		call = unix.Fsync
	}
	err := again(func() error { return call(fd) })
	if err == unix.EINVAL || err == unix.EROFS {
		return nil // nothing there to make stable
	}
	if err != nil {
		n.fs.writeFailed(n, err)
	}
	return statusOf(err)
}

// flush makes unstable data stable before a descriptor is closed, because a later descriptor may not report the
// error.
func (n *node) flush(fd int) { _ = n.fsync(fd, false) }

func (fs *FS) writeFailed(n *node, err error) {
	fs.writeErrors.Add(1)
	fs.log.Error("written data could not be made stable", "kind", n.kind, "err", err)
}

// SyncMeta implements [vfs.FS].
func (fs *FS) SyncMeta(ctx context.Context, nodes ...vfs.Node) error {
	if err := fs.begin(ctx); err != nil {
		return err
	}
	defer fs.budget.Leave()
	if fs.closed.Load() {
		return vfs.ErrIO
	}
	if fs.caps.StableMetadata {
		return nil
	}
	var others, dirs, whole bool
	for i, v := range nodes {
		n, err := fs.root.ours(v)
		if err != nil {
			return err
		}
		if sameBefore(nodes, i) {
			continue
		}
		switch n.kind {
		case vfs.KindRegular:
			err = n.syncFile()
		case vfs.KindDirectory:
			dirs = true
			err = n.syncDir()
		default:
			others = true // cannot be opened to sync them
		}
		switch err {
		case nil:
		case vfs.ErrAccess: // the server's user may not open it
			whole = true
		default:
			return err
		}
	}
	// Syncing a directory also makes the new objects in it stable.
	if !whole && (!others || dirs) {
		return nil
	}
	err := again(func() error { return unix.Syncfs(fs.mount) })
	if err != nil {
		fs.writeFailed(fs.root, err)
	}
	return statusOf(err)
}

func sameBefore(nodes []vfs.Node, i int) bool {
	for _, n := range nodes[:i] {
		if n == nodes[i] {
			return true
		}
	}
	return false
}

func (n *node) syncFile() error {
	h, err := n.acquire(false)
	if err != nil {
		return err
	}
	defer n.yield(h)
	return n.stabilize(h.fd, true)
}

func (n *node) syncDir() error {
	d := &n.data
	d.mu.Lock()
	h := d.syncFD
	if h == nil {
		fd, err := n.openDir()
		if err != nil {
			d.mu.Unlock()
			return err
		}
		h = &openFD{fd: fd}
		d.syncFD = h
		n.fs.opened(n)
	}
	h.refs++
	h.used = n.fs.tick.Load()
	d.mu.Unlock()
	defer n.yield(h)
	return n.stabilize(h.fd, true)
}

// openDir opens the directory itself for reading.
func (n *node) openDir() (int, error) {
	var dot cname
	dot.set(".")
	return n.fs.retryFDs(func() (int, error) {
		fd, e := openat(n.fd, &dot, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
		return fd, status(e)
	})
}
