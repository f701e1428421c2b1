package fusetest

import (
	"syscall"

	"fileserver/vfs"

	"github.com/hanwen/go-fuse/v2/fuse"
)

var errnos = map[vfs.Status]syscall.Errno{
	vfs.OK: 0, vfs.ErrPerm: syscall.EPERM, vfs.ErrNotFound: syscall.ENOENT, vfs.ErrIO: syscall.EIO, vfs.ErrAccess: syscall.EACCES, vfs.ErrExist: syscall.EEXIST,
	vfs.ErrXDev: syscall.EXDEV, vfs.ErrNotDir: syscall.ENOTDIR, vfs.ErrIsDir: syscall.EISDIR, vfs.ErrInvalid: syscall.EINVAL, vfs.ErrTooBig: syscall.EFBIG,
	vfs.ErrNoSpace: syscall.ENOSPC, vfs.ErrReadOnly: syscall.EROFS, vfs.ErrMaxLink: syscall.EMLINK, vfs.ErrNameTooLong: syscall.ENAMETOOLONG, vfs.ErrBadName: syscall.EINVAL,
	vfs.ErrNotEmpty: syscall.ENOTEMPTY, vfs.ErrQuota: syscall.EDQUOT, vfs.ErrStale: syscall.ESTALE, vfs.ErrBadHandle: syscall.ESTALE, vfs.ErrUnsupported: syscall.EOPNOTSUPP,
	vfs.ErrWrongType: syscall.ENXIO, vfs.ErrSymlink: syscall.ELOOP, vfs.ErrLoop: syscall.ELOOP, vfs.ErrBusy: syscall.EBUSY, vfs.ErrShareViolation: syscall.EBUSY,
	vfs.ErrLocked: syscall.EAGAIN, vfs.ErrDeadlock: syscall.EDEADLK, vfs.ErrNoAttr: syscall.ENODATA, vfs.ErrAttrTooBig: syscall.E2BIG, vfs.ErrNoData: syscall.ENXIO,
	vfs.ErrTooManyFiles: syscall.ENFILE,
}

func status(err error) fuse.Status {
	if e, ok := errnos[vfs.StatusOf(err)]; ok {
		return fuse.Status(e)
	}
	return fuse.EIO
}
