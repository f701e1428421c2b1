package smb

import (
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// statuses are the SMB statuses for the results of a file system (MS-ERREF 2.3, MS-FSA).
var statuses = [...]wire.Status{
	vfs.OK:                wire.StatusSuccess,
	vfs.ErrPerm:           wire.StatusAccessDenied,
	vfs.ErrNotFound:       wire.StatusObjectNameNotFound,
	vfs.ErrIO:             wire.StatusUnexpectedIOError,
	vfs.ErrAccess:         wire.StatusAccessDenied,
	vfs.ErrExist:          wire.StatusObjectNameCollision,
	vfs.ErrXDev:           wire.StatusNotSameDevice,
	vfs.ErrNotDir:         wire.StatusNotADirectory,
	vfs.ErrIsDir:          wire.StatusFileIsADirectory,
	vfs.ErrInvalid:        wire.StatusInvalidParameter,
	vfs.ErrTooBig:         wire.StatusInvalidParameter,
	vfs.ErrNoSpace:        wire.StatusDiskFull,
	vfs.ErrReadOnly:       wire.StatusMediaWriteProtected,
	vfs.ErrMaxLink:        wire.StatusTooManyLinks,
	vfs.ErrNameTooLong:    wire.StatusNameTooLong,
	vfs.ErrBadName:        wire.StatusObjectNameInvalid,
	vfs.ErrNotEmpty:       wire.StatusDirectoryNotEmpty,
	vfs.ErrQuota:          wire.StatusDiskFull,
	vfs.ErrStale:          wire.StatusFileDeleted,
	vfs.ErrBadHandle:      wire.StatusInvalidParameter,
	vfs.ErrNotSync:        wire.StatusUnsuccessful,
	vfs.ErrBadCookie:      wire.StatusInvalidParameter,
	vfs.ErrUnsupported:    wire.StatusNotSupported,
	vfs.ErrWrongType:      wire.StatusInvalidDeviceRequest,
	vfs.ErrSymlink:        wire.StatusIOReparseTagNotHandled,
	vfs.ErrLoop:           wire.StatusIOReparseTagNotHandled,
	vfs.ErrBusy:           wire.StatusSharingViolation,
	vfs.ErrShareViolation: wire.StatusSharingViolation,
	vfs.ErrLocked:         wire.StatusFileLockConflict,
	vfs.ErrDeadlock:       wire.StatusLockNotGranted,
	vfs.ErrNoAttr:         wire.StatusNonexistentEAEntry,
	vfs.ErrAttrTooBig:     wire.StatusEATooLarge,
	vfs.ErrNoData:         wire.StatusEndOfFile,
	vfs.ErrTooManyFiles:   wire.StatusInsufficientResources,
	vfs.ErrServerFault:    wire.StatusInternalError,
}

// statusOf returns the status for err, which a call of the file system has returned.
func statusOf(err error) wire.Status {
	if s := vfs.StatusOf(err); int(s) < len(statuses) {
		return statuses[s]
	}
	return wire.StatusUnexpectedIOError
}
