package posix

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// statuses maps errors of the kernel. EXDEV, ENXIO and others that have a special meaning in one call are handled
// in that call.
var statuses = map[unix.Errno]vfs.Status{
	unix.EPERM: vfs.ErrPerm, unix.ENOENT: vfs.ErrNotFound, unix.EIO: vfs.ErrIO, unix.EACCES: vfs.ErrAccess,
	unix.EEXIST: vfs.ErrExist, unix.EXDEV: vfs.ErrXDev, unix.ENOTDIR: vfs.ErrNotDir, unix.EISDIR: vfs.ErrIsDir,
	unix.EINVAL: vfs.ErrInvalid, unix.EFBIG: vfs.ErrTooBig, unix.EOVERFLOW: vfs.ErrTooBig, unix.ENOSPC: vfs.ErrNoSpace,
	unix.EROFS: vfs.ErrReadOnly, unix.EMLINK: vfs.ErrMaxLink, unix.ENAMETOOLONG: vfs.ErrNameTooLong,
	unix.EILSEQ: vfs.ErrBadName, unix.ENOTEMPTY: vfs.ErrNotEmpty, unix.EDQUOT: vfs.ErrQuota, unix.ESTALE: vfs.ErrStale,
	unix.EOPNOTSUPP: vfs.ErrUnsupported, unix.ENOSYS: vfs.ErrUnsupported, unix.ENOTTY: vfs.ErrUnsupported,
	unix.ELOOP: vfs.ErrSymlink, unix.EBUSY: vfs.ErrBusy, unix.ETXTBSY: vfs.ErrBusy, unix.EAGAIN: vfs.ErrBusy,
	unix.ENODATA: vfs.ErrNoAttr, unix.E2BIG: vfs.ErrAttrTooBig, unix.ERANGE: vfs.ErrAttrTooBig, unix.ENXIO: vfs.ErrNoData,
	unix.EMFILE: vfs.ErrTooManyFiles, unix.ENFILE: vfs.ErrTooManyFiles, unix.ENOMEM: vfs.ErrTooManyFiles,
	unix.EDEADLK: vfs.ErrDeadlock,
}

// status converts an errno into an error, and 0 into nil.
func status(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	if s, ok := statuses[e]; ok {
		return s
	}
	return fmt.Errorf("%w (%w)", vfs.ErrIO, e)
}

// statusOf is status for the error of a call of x/sys/unix.
func statusOf(err error) error {
	if err == nil {
		return nil
	}
	var e unix.Errno
	if errors.As(err, &e) {
		return status(e)
	}
	return fmt.Errorf("%w (%w)", vfs.ErrIO, err)
}

// again repeats a call while a signal interrupts it.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// checkName checks the name of an entry ([vfs.CheckName]).
func checkName(name string) error { return vfs.CheckName(name, maxName) }
