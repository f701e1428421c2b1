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

// Seeker is implemented by a File that knows its holes.
type Seeker interface {
	// SeekData returns where the next data at or behind off begins; [ErrNoData] if there is none.
	SeekData(ctx context.Context, off int64) (int64, error)
	// SeekHole returns where the next hole at or behind off begins; the end of the file counts as one. [ErrNoData] if off is at or behind it.
	SeekHole(ctx context.Context, off int64) (int64, error)
}

// Cloner is implemented by a File that shares storage with others on the same file system.
type Cloner interface {
	// CloneFrom makes [off, off+n) of the file the same storage as [srcOff, srcOff+n) of src; n = 0 means up to src's end.
	CloneFrom(ctx context.Context, src File, srcOff, off, n int64) error
}

// Copier is implemented by a File that copies inside the storage.
type Copier interface {
	// CopyFrom copies up to n bytes of src, and returns how many.
	CopyFrom(ctx context.Context, src File, srcOff, off, n int64) (int64, error)
}

// Namer is implemented by a Node that may know where it is.
type Namer interface {
	// Where returns a directory that the object is in, and its name there: any of several. [ErrNotFound] if it has none, or none is known.
	Where(ctx context.Context) (dir Node, name string, err error)
}

// Finder is implemented by an FS that knows a directory again which another FS has reached.
type Finder interface {
	// Find returns the FS's own Node of a directory that is a Node of another FS; [ErrNotFound] if it is not in this one.
	Find(ctx context.Context, dir Node) (Node, error)
}

// Watcher is implemented by the Node of a directory that hears of changes which local programs make in it. It
// may hear of those made through this interface, too.
type Watcher interface {
	// Watch has fn called for what happens in the directory, not below it, one at a time and in order, until stop is called. fn does
	// not block; it may be called once more after that. [ErrNoSpace] if the system watches too much already.
	Watch(ctx context.Context, fn func(DirEvent)) (stop func(), err error)
}

// DirEvent is something that has happened in a directory.
type DirEvent struct {
	Op   DirOp
	Name string
	To   string // of EntryRenamed
	Kind Kind   // KindDirectory, or KindUnknown for anything else
}

// DirOp says what has happened.
type DirOp uint8

// What happens in directories.
const (
	EntryAdded   DirOp = 1 + iota // made, linked or moved there
	EntryRemoved                  // removed, or moved elsewhere
	EntryRenamed                  // within the directory
	EntryWritten                  // its data has changed
	EntryAttr                     // its attributes have
	DirGone                       // the directory itself has been removed
	EventsLost                    // there was more than could be told
)
