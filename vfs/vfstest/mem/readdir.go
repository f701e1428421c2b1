package mem

import (
	"context"

	"fileserver/vfs"
)

// readBatch is how many entries are taken at a time: fn runs without a lock.
const readBatch = 32

// ReadDir implements [vfs.Node]. Attributes and handles are for those who may also search the directory.
func (in *inode) ReadDir(ctx context.Context, c *vfs.Cred, cookie uint64, mask vfs.AttrMask, wantHandle bool, fn func(*vfs.DirEntry) bool) (bool, error) {
	fs := in.fs
	if err := fs.begin(ctx, OpReadDir, in); err != nil {
		return false, err
	}
	if in.kind != vfs.KindDirectory {
		return false, vfs.ErrNotDir
	}
	if !in.permits(c, mayRead) {
		return false, vfs.ErrAccess
	}
	if !in.permits(c, mayExec) {
		mask, wantHandle = 0, false
	}
	var batch [readBatch]vfs.DirEntry
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := in.readBatch(batch[:], cookie, mask, wantHandle)
		if err != nil {
			return false, err
		}
		for i := range batch[:n] {
			if !fn(&batch[i]) {
				return false, nil
			}
			cookie = batch[i].Cookie
		}
		if n < len(batch) {
			return true, nil
		}
	}
}

// readBatch fills b with the entries behind cookie.
func (in *inode) readBatch(b []vfs.DirEntry, cookie uint64, mask vfs.AttrMask, wantHandle bool) (n int, err error) {
	in.fs.ns.RLock()
	defer in.fs.ns.RUnlock()
	d := in.dir
	if cookie >= d.next || cookie > 0 && cookie < firstCookie {
		return 0, vfs.ErrBadCookie
	}
	for _, e := range d.order[d.after(cookie):] {
		if n == len(b) {
			break
		}
		if e.in == nil {
			continue
		}
		b[n] = vfs.DirEntry{Name: e.name, Cookie: e.cookie, Kind: e.in.kind, FileID: e.in.attr.FileID}
		if mask != 0 {
			b[n].Attr = e.in.getattr()
		}
		if wantHandle {
			b[n].Handle = e.in.handle
		}
		n++
	}
	return n, nil
}
