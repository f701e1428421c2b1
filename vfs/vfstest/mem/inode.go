package mem

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"

	"fileserver/vfs"
)

const (
	handleLen = 16
	maxName   = 255
)

// inode is an object. It implements [vfs.Node] and [vfs.Xattrer].
type inode struct {
	fs     *FS
	handle vfs.Handle
	kind   vfs.Kind
	target string // of a symbolic link
	dir    *dir   // of a directory; guarded by fs.ns

	refs atomic.Int64 // Nodes and Files
	pins atomic.Int64 // records of the journal
	dead atomic.Bool  // has no name any more

	mu     sync.RWMutex
	reaped bool     // out of the table of handles, for good
	attr   vfs.Attr // Mask is complete; FileID, Kind and Rdev do not change
	data   data
	undo   undo // what of the data is not stable
	xattrs map[string][]byte
}

// newInode makes an object without a name; the caller enters it.
func (fs *FS) newInode(kind vfs.Kind, t vfs.Time) *inode {
	var id [handleLen]byte
	rand.Read(id[:])
	h, _ := vfs.HandleFrom(id[:])
	return &inode{fs: fs, handle: h, kind: kind, attr: vfs.Attr{
		Mask: vfs.AttrStat, Kind: kind, Nlink: 1, FileID: fs.nextID.Add(1),
		Atime: t, Mtime: t, Ctime: t, Btime: t, Change: 1,
	}}
}

// ref makes a Node of the object.
func (in *inode) ref() *inode {
	in.refs.Add(1)
	in.fs.refs.Add(1)
	return in
}

// Release implements [vfs.Node].
func (in *inode) Release() {
	in.fs.refs.Add(-1)
	in.unref()
}

func (in *inode) unref() {
	n := in.refs.Add(-1)
	if n < 0 {
		panic("mem: object released more often than obtained")
	}
	if n == 0 && in.dead.Load() {
		in.fs.reap(in)
	}
}

// Handle implements [vfs.Node].
func (in *inode) Handle() vfs.Handle { return in.handle }

// Identity implements [vfs.Node].
func (in *inode) Identity() vfs.Identity { return vfs.Identity{FS: in.fs.fsid, Object: in.attr.FileID} }

// Kind implements [vfs.Node].
func (in *inode) Kind() vfs.Kind { return in.kind }

// GetAttr implements [vfs.Node]. It returns everything whatever the mask.
func (in *inode) GetAttr(ctx context.Context, mask vfs.AttrMask) (vfs.Attr, error) {
	if err := in.fs.begin(ctx, OpGetAttr, in); err != nil {
		return vfs.Attr{}, err
	}
	return in.getattr(), nil
}

func (in *inode) getattr() vfs.Attr {
	in.mu.RLock()
	defer in.mu.RUnlock()
	return in.attr
}

// Readlink implements [vfs.Node].
func (in *inode) Readlink(ctx context.Context, c *vfs.Cred) (string, error) {
	if err := in.fs.begin(ctx, OpReadlink, in); err != nil {
		return "", err
	}
	if in.kind != vfs.KindSymlink {
		return "", vfs.ErrInvalid
	}
	return in.target, nil
}

// touch notes a change of attributes. in.mu is held.
func (in *inode) touch(t vfs.Time) {
	in.attr.Ctime = t
	in.attr.Change++
}

// touchData notes a change of data or entries. in.mu is held.
func (in *inode) touchData(t vfs.Time) {
	in.attr.Mtime = t
	in.touch(t)
}

var (
	_ vfs.FS        = (*FS)(nil)
	_ vfs.Node      = (*inode)(nil)
	_ vfs.Xattrer   = (*inode)(nil)
	_ vfs.File      = (*file)(nil)
	_ vfs.Allocator = (*file)(nil)
	_ vfs.Seeker    = (*file)(nil)
	_ vfs.Cloner    = (*file)(nil)
	_ vfs.Copier    = (*file)(nil)
)
