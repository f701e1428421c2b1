package fusetest

import (
	"math"
	"syscall"

	"fileserver/vfs"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// file is an open file, nil if there is none of that number.
func (r *raw) file(fh uint64) vfs.File {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.files[fh]
}

// open opens a node with the flags of open(2).
func (r *raw) open(n vfs.Node, c *vfs.Cred, flags uint32, more vfs.OpenFlags, out *fuse.OpenOut) fuse.Status {
	want := more
	switch flags & syscall.O_ACCMODE {
	case syscall.O_RDONLY:
		want |= vfs.OpenRead
	case syscall.O_WRONLY:
		want |= vfs.OpenWrite
	default:
		want |= vfs.OpenRead | vfs.OpenWrite
	}
	f, err := n.Open(ctx, c, want)
	if err != nil {
		return status(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	out.Fh = r.next
	r.files[out.Fh] = f
	return fuse.OK
}

// Open implements [fuse.RawFileSystem].
func (r *raw) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n, c := r.node(in.NodeId), cred(&in.InHeader)
	st := r.open(n, c, in.Flags, 0, out)
	if st == fuse.OK && in.Flags&syscall.O_TRUNC != 0 {
		return status(n.SetAttr(ctx, c, &vfs.SetAttr{Mask: vfs.AttrSize}))
	}
	return st
}

// Create implements [fuse.RawFileSystem].
func (r *raw) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	c := cred(&in.InHeader)
	n, created, err := r.node(in.NodeId).Create(ctx, c, name, in.Flags&syscall.O_EXCL != 0, withMode(in.Mode))
	if err != nil {
		return status(err)
	}
	var more vfs.OpenFlags
	if created { // whoever makes a file has it open, even if its mode forbids
		more = vfs.AccessOwnerOverride
	}
	if st := r.open(n, c, in.Flags, more, &out.OpenOut); st != fuse.OK {
		n.Release()
		return st
	}
	if !created && in.Flags&syscall.O_TRUNC != 0 {
		err = n.SetAttr(ctx, c, &vfs.SetAttr{Mask: vfs.AttrSize})
	}
	return r.enter(n, err, &out.EntryOut)
}

// Tmpfile implements [fuse.RawFileSystem].
func (r *raw) Tmpfile(cancel <-chan struct{}, in *fuse.CreateIn, out *fuse.CreateOut) fuse.Status {
	dir, name, c := r.node(in.NodeId), r.tmpName(), cred(&in.InHeader)
	n, _, err := dir.Create(ctx, c, name, true, withMode(in.Mode))
	if err != nil {
		return status(err)
	}
	st := r.open(n, c, in.Flags, vfs.AccessOwnerOverride, &out.OpenOut)
	err = dir.Remove(ctx, c, name, false)
	if st != fuse.OK {
		n.Release()
		return st
	}
	return r.enter(n, err, &out.EntryOut)
}

// Read implements [fuse.RawFileSystem].
func (r *raw) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n, _, err := r.file(in.Fh).ReadAt(ctx, buf, int64(in.Offset))
	if err != nil {
		return nil, status(err)
	}
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

// Write implements [fuse.RawFileSystem].
func (r *raw) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	s := vfs.Unstable
	if in.Flags&syscall.O_SYNC == syscall.O_SYNC {
		s = vfs.FileSync
	} else if in.Flags&syscall.O_DSYNC != 0 {
		s = vfs.DataSync
	}
	n, err := r.file(in.Fh).WriteAt(ctx, data, int64(in.Offset), s)
	if n > 0 {
		err = nil
	}
	return uint32(n), status(err)
}

// Release implements [fuse.RawFileSystem].
func (r *raw) Release(cancel <-chan struct{}, in *fuse.ReleaseIn) {
	if in.ReleaseFlags&releaseFlock != 0 {
		r.locks.UnlockAll(r.key(in.NodeId, true), r.owner(flockLock, in.LockOwner))
	}
	r.mu.Lock()
	f := r.files[in.Fh]
	delete(r.files, in.Fh)
	r.mu.Unlock()
	f.Close()
}

// Fsync implements [fuse.RawFileSystem].
func (r *raw) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	if err := r.file(in.Fh).Commit(ctx, 0, 0); err != nil {
		return status(err)
	}
	return status(r.fs.SyncMeta(ctx, r.node(in.NodeId)))
}

// Lseek implements [fuse.RawFileSystem].
func (r *raw) Lseek(cancel <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	s, ok := r.file(in.Fh).(vfs.Seeker)
	if !ok {
		return fuse.ENOSYS // the kernel goes by the size then
	}
	if in.Offset > math.MaxInt64 {
		return fuse.Status(syscall.ENXIO)
	}
	seek := s.SeekData
	if in.Whence == unix.SEEK_HOLE {
		seek = s.SeekHole
	}
	at, err := seek(ctx, int64(in.Offset))
	out.Offset = uint64(at)
	return status(err)
}

// Fallocate implements [fuse.RawFileSystem].
func (r *raw) Fallocate(cancel <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	f := r.file(in.Fh)
	a, ok := f.(vfs.Allocator)
	if !ok {
		return fuse.Status(syscall.EOPNOTSUPP)
	}
	off, n := int64(in.Offset), int64(in.Length)
	switch in.Mode {
	case 0:
		return status(a.Allocate(ctx, off, n))
	case unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE:
		return status(a.Deallocate(ctx, off, n))
	case unix.FALLOC_FL_KEEP_SIZE: // vfs reserves nothing behind the end
		st, err := f.GetAttr(ctx, vfs.AttrSize)
		if err != nil || off >= int64(st.Size) {
			return status(err)
		}
		return status(a.Allocate(ctx, off, min(n, int64(st.Size)-off)))
	}
	return fuse.Status(syscall.EOPNOTSUPP)
}

// CopyFileRange implements [fuse.RawFileSystem].
func (r *raw) CopyFileRange(cancel <-chan struct{}, in *fuse.CopyFileRangeIn) (uint32, fuse.Status) {
	c, ok := r.file(in.FhOut).(vfs.Copier)
	if !ok {
		return 0, fuse.Status(syscall.EOPNOTSUPP)
	}
	n, err := c.CopyFrom(ctx, r.file(in.FhIn), int64(in.OffIn), int64(in.OffOut), int64(min(in.Len, 1<<30)))
	return uint32(n), status(err)
}
