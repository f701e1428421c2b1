package mem

import (
	"bytes"
	"maps"

	"fileserver/vfs"
)

// changeLeap is added to every change counter by a restart, so that a counter that a client saw before a crash
// does not come again with other data.
const changeLeap = 1 << 32

// Crash ends the file system as a power failure does and returns the one that a restart finds: without
// the changes that are not stable. Nodes and Files of the old one fail with [vfs.ErrIO]; handles stay valid.
//
// Of the blocks written but not committed, those survive for which keep (nil: never) returns true.
// The file system must be [Options].Crashable.
func (fs *FS) Crash(keep func() bool) *FS {
	if !fs.opt.Crashable {
		panic("mem: Crash of a file system that is not Crashable")
	}
	return fs.restart(true, keep)
}

// Restart ends the file system in good order and returns it as it is found by the next server.
func (fs *FS) Restart() *FS { return fs.restart(false, nil) }

func (fs *FS) restart(crash bool, keep func() bool) *FS {
	fs.closed.Store(true)
	fs.ns.Lock() // what comes after that sees that the file system is closed
	defer fs.ns.Unlock()
	if crash {
		fs.journal.undo()
	}
	next := newFS(fs.opt)
	next.fsid = fs.fsid
	next.nextID.Store(fs.nextID.Load())
	c := copier{to: next, crash: crash, keep: keep, done: make(map[*inode]*inode)}
	next.root = c.copy(fs.root, nil)
	return next
}

// copier copies a tree to another file system.
type copier struct {
	to    *FS
	crash bool
	keep  func() bool
	done  map[*inode]*inode
}

func (c *copier) copy(in, parent *inode) *inode {
	if n := c.done[in]; n != nil { // a further name
		return n
	}
	in.mu.Lock()
	n := &inode{fs: c.to, handle: in.handle, kind: in.kind, target: in.target, attr: in.attr, xattrs: maps.Clone(in.xattrs)}
	c.copyData(in, n)
	in.mu.Unlock()
	n.attr.Change += changeLeap
	c.done[in] = n
	c.to.enter(n)
	c.to.count.Add(1)
	if in.dir == nil {
		return n
	}
	if parent == nil {
		parent = n
	}
	n.dir = newDir(parent)
	n.dir.next = in.dir.next
	for _, e := range in.dir.order {
		if e.in != nil {
			n.dir.restore(e.name, e.cookie, c.copy(e.in, n))
		}
	}
	return n
}

// copyData copies the data as they are on stable storage. in.mu is held.
func (c *copier) copyData(in, n *inode) {
	size := in.attr.Size
	lost := make(map[uint64]undoBlock)
	if c.crash && in.undo.active {
		size = in.undo.size
		for bi, e := range in.undo.blocks {
			if c.keep != nil && c.keep() {
				size = max(size, min(in.attr.Size, (bi+1)*blockSize))
				continue
			}
			lost[bi] = e
		}
	}
	put := func(bi uint64, b *block) {
		if b == nil || bi*blockSize >= size {
			return
		}
		nb := *b
		if end := size - bi*blockSize; end < blockSize {
			clear(nb[end:])
		}
		n.data.set(bi, &nb, false)
		n.attr.Used += blockSize
	}
	if in.kind != vfs.KindRegular {
		return
	}
	n.attr.Size, n.attr.Used = size, 0
	in.data.from(0, ^uint64(0)/blockSize, func(bi uint64) {
		if _, ok := lost[bi]; !ok {
			put(bi, in.data.get(bi))
		}
	})
	for bi, e := range lost {
		put(bi, e.old)
	}
	c.to.used.Add(int64(n.attr.Used))
}

// Equal reports whether two trees have the same names, contents, modes and owners. Tests compare what a crash left with it.
func Equal(a, b *FS) bool {
	a.ns.RLock()
	defer a.ns.RUnlock()
	if a != b {
		b.ns.RLock()
		defer b.ns.RUnlock()
	}
	return equal(a.root, b.root)
}

func equal(a, b *inode) bool {
	x, y := a.getattr(), b.getattr()
	if a.kind != b.kind || a.target != b.target || x.Mode != y.Mode || x.UID != y.UID || x.GID != y.GID || x.Size != y.Size || x.Nlink != y.Nlink {
		return false
	}
	if !maps.EqualFunc(a.xattrs, b.xattrs, bytes.Equal) {
		return false
	}
	if a.dir != nil {
		return maps.EqualFunc(a.dir.names, b.dir.names, func(e, f *dirent) bool { return equal(e.in, f.in) })
	}
	same := true
	var zero, p, q block
	for _, d := range []*inode{a, b} {
		d.data.from(0, ^uint64(0)/blockSize, func(bi uint64) {
			p, q = zero, zero
			if v := a.data.get(bi); v != nil {
				p = *v
			}
			if v := b.data.get(bi); v != nil {
				q = *v
			}
			same = same && p == q
		})
	}
	return same
}
