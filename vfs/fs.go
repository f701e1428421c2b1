package vfs

import "context"

// FS is one file system, published as a share.
type FS interface {
	// Root is the share's root directory.
	Root(ctx context.Context) (Node, error)
	// Resolve finds the object of a permanent handle, whatever its name is now.
	// A handle that this file system did not make, or whose object is gone,
	// fails with [ErrStale]; a malformed one with [ErrBadHandle].
	Resolve(ctx context.Context, h Handle) (Node, error)
	// StatFS reports capacity as c sees it.
	StatFS(ctx context.Context, c *Cred) (StatFS, error)
	// SyncMeta makes changes of names and attributes below the nodes stable that were made before the call.
	SyncMeta(ctx context.Context, nodes ...Node) error
	// Caps tells what the file system is like. It does not change.
	Caps() Caps
	// Close ends all use. Nodes and Files of it fail with [ErrIO] afterwards.
	Close() error
}

// Node is an object of a file system: file, directory, symbolic link or special file.
type Node interface {
	// Handle is the permanent name of the object: it stays valid over renames and
	// restarts, is never used again for another object, and cannot be guessed.
	Handle() Handle
	// Identity says which object this is, whatever FS and name it was reached by. It allocates nothing.
	Identity() Identity
	// Kind is the type of the object.
	Kind() Kind
	// Release gives the reference back.
	Release()

	// GetAttr returns the attributes in mask, and any others that cost nothing;
	// [Attr].Mask says which. The object's attributes are readable by everyone
	// who has reached it.
	GetAttr(ctx context.Context, mask AttrMask) (Attr, error)
	// SetAttr changes the attributes in s.Mask: all, or none when it fails.
	SetAttr(ctx context.Context, c *Cred, s *SetAttr) error
	// Access returns which of the wanted permissions c has.
	Access(ctx context.Context, c *Cred, want Access) (Access, error)

	// Lookup finds an entry of a directory. "." and ".." are not names here:
	// [Node.Parent] goes up. Symbolic links are returned, not followed.
	Lookup(ctx context.Context, c *Cred, name string) (Node, error)
	// Parent is the directory above a directory; the root's is the root itself.
	Parent(ctx context.Context, c *Cred) (Node, error)
	// Create makes a regular file with the attributes of s. If the name
	// exists it fails with [ErrExist] when excl is set; otherwise it returns what
	// is there, unchanged, and created false.
	Create(ctx context.Context, c *Cred, name string, excl bool, s *SetAttr) (n Node, created bool, err error)
	// Mkdir makes a directory.
	Mkdir(ctx context.Context, c *Cred, name string, s *SetAttr) (Node, error)
	// Symlink makes a symbolic link that contains target, uninterpreted.
	Symlink(ctx context.Context, c *Cred, name, target string, s *SetAttr) (Node, error)
	// Mknod makes a FIFO, socket or device node.
	Mknod(ctx context.Context, c *Cred, name string, kind Kind, dev Dev, s *SetAttr) (Node, error)
	// Link makes a further name, in the directory, for an object that is not a directory.
	Link(ctx context.Context, c *Cred, name string, target Node) error
	// Remove removes a name: of a directory, which must be empty, if dir is set
	// ([ErrNotDir], [ErrNotEmpty]), otherwise of anything else ([ErrIsDir]).
	Remove(ctx context.Context, c *Cred, name string, dir bool) error
	// Rename gives the object named from in this directory the name to in
	// the directory toDir of the same file system, replacing what is there as
	// rename(2) does.
	Rename(ctx context.Context, c *Cred, from string, toDir Node, to string) error
	// Readlink returns what a symbolic link contains.
	Readlink(ctx context.Context, c *Cred) (string, error)
	// ReadDir calls fn for the entries behind cookie (0: the first), in a
	// stable order, without "." and "..", until fn returns false or all are done. Cookies
	// stay valid while the directory changes, and are never 0, 1 or 2. With mask
	// the entries carry those attributes, and handles with wantHandle. The
	// entry is fn's only during the call, and fn does not call the file system. eof tells that there is nothing behind the last
	// entry accepted.
	ReadDir(ctx context.Context, c *Cred, cookie uint64, mask AttrMask, wantHandle bool, fn func(*DirEntry) bool) (eof bool, err error)

	// Open opens a regular file for reading, writing or both, after checking
	// that c may. Two flags let more callers through, for protocols whose clients have already asked:
	// [AccessOwnerOverride] and [ReadIfExecutable].
	Open(ctx context.Context, c *Cred, flags OpenFlags) (File, error)
}

// File is a regular file opened.
type File interface {
	// ReadAt reads up to len(p) bytes at off straight into p. It returns fewer only at
	// the end of the file; eof says that off+n is at or behind it.
	ReadAt(ctx context.Context, p []byte, off int64) (n int, eof bool, err error)
	// WriteAt writes p at off, extending the file as needed, and makes it as stable as asked
	// before it returns. n < len(p) only with an error.
	WriteAt(ctx context.Context, p []byte, off int64, s Stability) (n int, err error)
	// Commit makes what was written to [off, off+n) stable, with the
	// metadata needed to read it again; n = 0 means up to the end.
	Commit(ctx context.Context, off, n int64) error
	// GetAttr is [Node.GetAttr] of the open object.
	GetAttr(ctx context.Context, mask AttrMask) (Attr, error)
	// Close ends the use. It reports no write errors: Commit does.
	Close() error
}

// OpenFlags say what a file is opened for.
type OpenFlags uint8

// Flags of Open.
const (
	OpenRead OpenFlags = 1 << iota
	OpenWrite
	// AccessOwnerOverride lets the owner of the file through whatever its mode says.
	AccessOwnerOverride
	// ReadIfExecutable lets a caller who may execute the file read it, too: a client must read what it
	// executes (RFC 1813 4.4, RFC 8881 18.22.4). It matters only where the file is opened for reading alone.
	ReadIfExecutable
)

// Stability is how stable a write is when it returns (RFC 1813 3.3.7 stable_how).
type Stability uint8

// Stabilities.
const (
	Unstable Stability = iota // may be lost in a crash
	DataSync                  // data, and the metadata needed to read it
	FileSync                  // data and all metadata
)

// Access is a set of permissions (RFC 1813 3.3.4).
type Access uint8

// Permissions. Execute on a directory is called Lookup.
const (
	AccessRead Access = 1 << iota
	AccessLookup
	AccessModify
	AccessExtend
	AccessDelete
	AccessExecute
)

// DirEntry is an entry of a directory.
type DirEntry struct {
	Name   string
	Cookie uint64 // ReadDir goes on behind this entry
	Kind   Kind   // KindUnknown where the backend does not know without asking
	FileID uint64
	Attr   Attr   // what was asked for and could be had
	Handle Handle // zero unless asked for
}

// StatFS is the capacity of a file system, bytes and objects.
type StatFS struct {
	TotalBytes, FreeBytes, AvailBytes uint64
	TotalFiles, FreeFiles, AvailFiles uint64
	BlockSize                         uint32
}

// Caps describe a file system.
type Caps struct {
	FSID            [16]byte // identifies the file system, the same after a restart
	MaxName         int      // bytes
	MaxLink         uint32
	MaxFileSize     int64
	CaseInsensitive bool
	ReadOnly        bool
	StableMetadata  bool  // names and attributes are stable when a call returns
	ChangeIsCounter bool  // Attr.Change increases with every change
	NoSpecial       bool  // Mknod is refused
	TimeGranularity int64 // nanoseconds
	Holes           bool  // Files are Allocators and Seekers that work
	Clones          bool  // Files are Cloners that work
}
