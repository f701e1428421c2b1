package fusetest

import (
	"context"
	"syscall"

	"fileserver/vfs"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

var ctx = context.Background()

var kindBits = map[vfs.Kind]uint32{
	vfs.KindRegular: syscall.S_IFREG, vfs.KindDirectory: syscall.S_IFDIR, vfs.KindSymlink: syscall.S_IFLNK, vfs.KindBlock: syscall.S_IFBLK, vfs.KindChar: syscall.S_IFCHR,
	vfs.KindSocket: syscall.S_IFSOCK, vfs.KindFIFO: syscall.S_IFIFO,
}

// fill is the kernel's form of attributes.
func fill(a *vfs.Attr, out *fuse.Attr) {
	*out = fuse.Attr{
		Ino: a.FileID, Size: a.Size, Blocks: (a.Used + 511) / 512, Mode: a.Mode | kindBits[a.Kind], Nlink: a.Nlink, Blksize: 4096,
		Atime: uint64(a.Atime.Sec), Mtime: uint64(a.Mtime.Sec), Ctime: uint64(a.Ctime.Sec),
		Atimensec: a.Atime.Nsec, Mtimensec: a.Mtime.Nsec, Ctimensec: a.Ctime.Nsec,
		Owner: fuse.Owner{Uid: a.UID, Gid: a.GID}, Rdev: uint32(unix.Mkdev(a.Rdev.Major, a.Rdev.Minor)),
	}
}

// GetAttr implements [fuse.RawFileSystem].
func (r *raw) GetAttr(cancel <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	var a vfs.Attr
	var err error
	if f := r.file(in.Fh()); in.Flags()&fuse.FUSE_GETATTR_FH != 0 && f != nil {
		a, err = f.GetAttr(ctx, vfs.AttrStat)
	} else {
		a, err = r.node(in.NodeId).GetAttr(ctx, vfs.AttrStat)
	}
	if err != nil {
		return status(err)
	}
	fill(&a, &out.Attr)
	return fuse.OK
}

// SetAttr implements [fuse.RawFileSystem].
func (r *raw) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	s := vfs.SetAttr{
		Mode: in.Mode & 0o7777, UID: in.Owner.Uid, GID: in.Owner.Gid, Size: in.Size,
		Atime: vfs.Time{Sec: int64(in.Atime), Nsec: in.Atimensec}, Mtime: vfs.Time{Sec: int64(in.Mtime), Nsec: in.Mtimensec},
		AtimeNow: in.Valid&fuse.FATTR_ATIME_NOW != 0, MtimeNow: in.Valid&fuse.FATTR_MTIME_NOW != 0,
	}
	for bit, mask := range map[uint32]vfs.AttrMask{
		fuse.FATTR_MODE: vfs.AttrMode, fuse.FATTR_UID: vfs.AttrUID, fuse.FATTR_GID: vfs.AttrGID, fuse.FATTR_SIZE: vfs.AttrSize,
		fuse.FATTR_ATIME: vfs.AttrAtime, fuse.FATTR_MTIME: vfs.AttrMtime,
	} {
		if in.Valid&bit != 0 {
			s.Mask |= mask
		}
	}
	n := r.node(in.NodeId)
	if err := n.SetAttr(ctx, &vfs.Cred{UID: in.InHeader.Uid, GID: in.InHeader.Gid}, &s); err != nil {
		return status(err)
	}
	a, err := n.GetAttr(ctx, vfs.AttrStat)
	if err != nil {
		return status(err)
	}
	fill(&a, &out.Attr)
	return fuse.OK
}

// Access implements [fuse.RawFileSystem].
func (r *raw) Access(cancel <-chan struct{}, in *fuse.AccessIn) fuse.Status {
	var want vfs.Access
	n := r.node(in.NodeId)
	isDir := n.Kind() == vfs.KindDirectory
	if in.Mask&fuse.R_OK != 0 {
		want |= vfs.AccessRead
	}
	if in.Mask&fuse.W_OK != 0 && !isDir { // of a directory vfs has only writing and searching together
		want |= vfs.AccessModify
	}
	if in.Mask&fuse.X_OK != 0 && isDir {
		want |= vfs.AccessLookup
	} else if in.Mask&fuse.X_OK != 0 {
		want |= vfs.AccessExecute
	}
	got, err := n.Access(ctx, cred(&in.InHeader), want)
	if err == nil && got != want {
		return fuse.EACCES
	}
	return status(err)
}

// StatFs implements [fuse.RawFileSystem].
func (r *raw) StatFs(cancel <-chan struct{}, in *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	st, err := r.fs.StatFS(ctx, cred(in))
	if err != nil {
		return status(err)
	}
	bs := uint64(st.BlockSize)
	*out = fuse.StatfsOut{
		Blocks: st.TotalBytes / bs, Bfree: st.FreeBytes / bs, Bavail: st.AvailBytes / bs, Files: st.TotalFiles, Ffree: st.FreeFiles,
		Bsize: st.BlockSize, Frsize: st.BlockSize, NameLen: uint32(r.fs.Caps().MaxName),
	}
	return fuse.OK
}
