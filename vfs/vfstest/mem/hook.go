package mem

import (
	"context"

	"fileserver/vfs"
)

// Op is a call into the file system, as hooks see it.
type Op uint8

// Calls. Those that ask nothing of the storage (Release, Close, Kind) are not hooked.
const (
	OpResolve Op = iota
	OpStatFS
	OpSyncMeta
	OpGetAttr
	OpSetAttr
	OpAccess
	OpLookup
	OpParent
	OpCreate
	OpMkdir
	OpSymlink
	OpMknod
	OpLink
	OpRemove
	OpRename
	OpReadlink
	OpReadDir
	OpOpen
	OpRead
	OpWrite
	OpCommit
	OpXattr
	OpAllocate // and Deallocate
	OpSeek
	OpClone
	OpCopy
)

// Hook runs before a call does anything, with no lock held. What it returns, if not nil, the call returns
// instead of doing its work; it may block to make the call slow. h is the object (zero for those of the whole file system).
//
// A write with a stability other than Unstable is hooked as OpWrite before the data are taken and
// as OpCommit before they are stable.
type Hook func(ctx context.Context, op Op, h vfs.Handle) error

// SetHook installs a hook, or removes it with nil.
func (fs *FS) SetHook(h Hook) {
	if h == nil {
		fs.hook.Store(nil)
		return
	}
	fs.hook.Store(&h)
}

// begin is the start of every call.
func (fs *FS) begin(ctx context.Context, op Op, in *inode) error {
	if h := fs.hook.Load(); h != nil {
		var id vfs.Handle
		if in != nil {
			id = in.handle
		}
		if err := (*h)(ctx, op, id); err != nil {
			return err
		}
	}
	if fs.closed.Load() {
		return vfs.ErrIO
	}
	return nil
}
