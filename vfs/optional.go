package vfs

import "context"

// Xattrer is implemented by a Node with extended attributes (RFC 8276). Names
// are those of the protocol, without a namespace prefix: the backend keeps them in "user.".
type Xattrer interface {
	// GetXattr returns a value; [ErrNoAttr] if there is none.
	GetXattr(ctx context.Context, c *Cred, name string) ([]byte, error)
	// SetXattr sets a value; flags as in setxattr(2): XattrCreate fails with ErrExist, XattrReplace with ErrNoAttr.
	SetXattr(ctx context.Context, c *Cred, name string, value []byte, flags XattrFlags) error
	// RemoveXattr removes an attribute; [ErrNoAttr] if there is none.
	RemoveXattr(ctx context.Context, c *Cred, name string) error
	// ListXattrs returns the names, sorted.
	ListXattrs(ctx context.Context, c *Cred) ([]string, error)
}

// XattrFlags modify SetXattr.
type XattrFlags uint8

// Flags of SetXattr.
const (
	XattrCreate XattrFlags = 1 + iota
	XattrReplace
)

// Allocator is implemented by a File that manages its storage.
type Allocator interface {
	// Allocate reserves storage for [off, off+n), extending the file.
	Allocate(ctx context.Context, off, n int64) error
	// Deallocate turns [off, off+n) into a hole that reads as zeros; the size stays.
	Deallocate(ctx context.Context, off, n int64) error
}

// Seeker is implemented by a File that can find its holes.
type Seeker interface {
	// SeekData returns the offset of the first data at or after off, or [ErrNoData] if there is none.
	SeekData(ctx context.Context, off int64) (int64, error)
	// SeekHole returns the offset of the first hole at or after off; the end of the file counts as a hole. It fails
	// with [ErrNoData] if off is at or after the end.
	SeekHole(ctx context.Context, off int64) (int64, error)
}

// Cloner is implemented by a File that can share storage with other files of the same file system.
type Cloner interface {
	// CloneFrom makes [off, off+n) of the file share the storage of [srcOff, srcOff+n) of src. n = 0 means up to
	// the end of src.
	CloneFrom(ctx context.Context, src File, srcOff, off, n int64) error
}

// Copier is implemented by a File that can copy inside the storage.
type Copier interface {
	// CopyFrom copies up to n bytes of src and returns the number of bytes copied.
	CopyFrom(ctx context.Context, src File, srcOff, off, n int64) (int64, error)
}

// Namer is implemented by a Node that may know its name.
type Namer interface {
	// Where returns a directory that contains the object, and its name there. If it has several names, Where
	// returns any of them. It fails with [ErrNotFound] if the object has no name, or none is known.
	Where(ctx context.Context) (dir Node, name string, err error)
}

// Finder is implemented by an FS that recognizes a directory that was reached through another FS.
type Finder interface {
	// Find returns this FS's Node of the directory that dir, a Node of another FS, stands for. It fails with
	// [ErrNotFound] if this FS does not contain the directory.
	Find(ctx context.Context, dir Node) (Node, error)
}

// Watcher is implemented by the Node of a directory that can report the changes that local programs make in it. It
// may also report changes made through this interface.
type Watcher interface {
	// Watch calls fn for every event in the directory itself, not below it, until stop is called. The calls come in
	// order, one at a time. fn must not block, and may be called once more after stop. Watch fails with
	// [ErrNoSpace] if the system has too many watches already.
	Watch(ctx context.Context, fn func(DirEvent)) (stop func(), err error)
}

// DirEvent is a change in a directory.
type DirEvent struct {
	Op   DirOp
	Name string
	To   string // of EntryRenamed
	Kind Kind   // KindDirectory, or KindUnknown for anything else
}

// DirOp is the type of a DirEvent.
type DirOp uint8

// Types of events.
const (
	EntryAdded   DirOp = 1 + iota // created, linked or moved there
	EntryRemoved                  // removed, or moved elsewhere
	EntryRenamed                  // within the directory
	EntryWritten                  // its data has changed
	EntryAttr                     // its attributes have changed
	DirGone                       // the directory itself has been removed
	EventsLost                    // the backend had to drop events
)
