package fusetest

import (
	"strings"
	"syscall"

	"fileserver/vfs"

	"github.com/hanwen/go-fuse/v2/fuse"
)

const userPrefix = "user."

// xattr finds the attribute in the protocol's terms; missing is what there is to say of others'.
func (r *raw) xattr(id uint64, attr string, missing syscall.Errno) (vfs.Xattrer, string, fuse.Status) {
	x, ok := r.node(id).(vfs.Xattrer)
	name, user := strings.CutPrefix(attr, userPrefix)
	if !ok || !user {
		return nil, "", fuse.Status(missing)
	}
	return x, name, fuse.OK
}

// GetXAttr implements [fuse.RawFileSystem].
func (r *raw) GetXAttr(cancel <-chan struct{}, in *fuse.InHeader, attr string, dest []byte) (uint32, fuse.Status) {
	x, name, st := r.xattr(in.NodeId, attr, syscall.ENODATA)
	if st != fuse.OK {
		return 0, st
	}
	v, err := x.GetXattr(ctx, cred(in), name)
	if err != nil {
		return 0, status(err)
	}
	return put(v, dest)
}

// put answers with v, or with its size if there is no room.
func put(v, dest []byte) (uint32, fuse.Status) {
	if len(dest) < len(v) {
		return uint32(len(v)), fuse.ERANGE
	}
	return uint32(copy(dest, v)), fuse.OK
}

// ListXAttr implements [fuse.RawFileSystem].
func (r *raw) ListXAttr(cancel <-chan struct{}, in *fuse.InHeader, dest []byte) (uint32, fuse.Status) {
	x, ok := r.node(in.NodeId).(vfs.Xattrer)
	if !ok {
		return 0, fuse.OK
	}
	names, err := x.ListXattrs(ctx, cred(in))
	if err != nil {
		return 0, status(err)
	}
	var all []byte
	for _, name := range names {
		all = append(append(append(all, userPrefix...), name...), 0)
	}
	return put(all, dest)
}

// SetXAttr implements [fuse.RawFileSystem].
func (r *raw) SetXAttr(cancel <-chan struct{}, in *fuse.SetXAttrIn, attr string, data []byte) fuse.Status {
	x, name, st := r.xattr(in.NodeId, attr, syscall.EOPNOTSUPP)
	if st != fuse.OK {
		return st
	}
	return status(x.SetXattr(ctx, cred(&in.InHeader), name, data, vfs.XattrFlags(in.Flags)))
}

// RemoveXAttr implements [fuse.RawFileSystem].
func (r *raw) RemoveXAttr(cancel <-chan struct{}, in *fuse.InHeader, attr string) fuse.Status {
	x, name, st := r.xattr(in.NodeId, attr, syscall.ENODATA)
	if st != fuse.OK {
		return st
	}
	return status(x.RemoveXattr(ctx, cred(in), name))
}
