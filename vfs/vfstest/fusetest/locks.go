package fusetest

import (
	"math"
	"syscall"

	"fileserver/vfs/lock"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Protocols of lock owners.
const (
	posixLock = 0xf0 // fcntl(2)
	flockLock = 0xf1 // flock(2)

	releaseFlock = 2 // FUSE_RELEASE_FLOCK_UNLOCK
)

// request is what a lock request asks for.
func (r *raw) request(in *fuse.LkIn) (lock.FileKey, lock.Owner, lock.Range) {
	flock, proto := in.LkFlags&fuse.LK_FLOCK != 0, uint8(posixLock)
	if flock {
		proto = flockLock
	}
	rng := lock.Range{Off: in.Lk.Start, Len: lock.ToEnd}
	if in.Lk.End < math.MaxInt64 {
		rng.Len = in.Lk.End - in.Lk.Start + 1
	}
	o := r.owner(proto, in.Owner)
	r.mu.Lock()
	r.pids[o] = in.Lk.Pid
	r.mu.Unlock()
	return r.key(in.NodeId, flock), o, rng
}

// GetLk implements [fuse.RawFileSystem].
func (r *raw) GetLk(cancel <-chan struct{}, in *fuse.LkIn, out *fuse.LkOut) fuse.Status {
	k, o, rng := r.request(in)
	c := r.locks.Test(k, o, rng, in.Lk.Typ == syscall.F_WRLCK)
	if c == nil {
		out.Lk = fuse.FileLock{Typ: syscall.F_UNLCK}
		return fuse.OK
	}
	out.Lk = fuse.FileLock{Start: c.Range.Off, End: math.MaxInt64, Typ: syscall.F_RDLCK}
	if c.Range.Len != lock.ToEnd {
		out.Lk.End = c.Range.Off + c.Range.Len - 1
	}
	if c.Exclusive {
		out.Lk.Typ = syscall.F_WRLCK
	}
	r.mu.Lock()
	out.Lk.Pid = r.pids[c.Owner]
	r.mu.Unlock()
	return fuse.OK
}

// SetLk implements [fuse.RawFileSystem].
func (r *raw) SetLk(cancel <-chan struct{}, in *fuse.LkIn) fuse.Status {
	k, o, rng := r.request(in)
	if in.Lk.Typ == syscall.F_UNLCK {
		_ = r.locks.Unlock(k, o, rng) // there are no limits
		return fuse.OK
	}
	if c := r.locks.Lock(k, o, rng, in.Lk.Typ == syscall.F_WRLCK); c != nil {
		return fuse.EAGAIN
	}
	return fuse.OK
}

// SetLkw implements [fuse.RawFileSystem].
func (r *raw) SetLkw(cancel <-chan struct{}, in *fuse.LkIn) fuse.Status {
	k, o, rng := r.request(in)
	for {
		if st := r.SetLk(cancel, in); st != fuse.EAGAIN {
			return st
		}
		free := make(chan struct{})
		w, err := r.locks.Wait(k, o, rng, in.Lk.Typ == syscall.F_WRLCK, func() { close(free) })
		if err != nil {
			return status(err)
		}
		if w == nil {
			continue
		}
		select {
		case <-free:
		case <-cancel:
			w.Cancel()
			return fuse.EINTR
		}
	}
}

// Flush implements [fuse.RawFileSystem]: close(2) of any descriptor ends the process's locks of the file.
func (r *raw) Flush(cancel <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	r.locks.UnlockAll(r.key(in.NodeId, false), r.owner(posixLock, in.LockOwner))
	return fuse.OK
}
