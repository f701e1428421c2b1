package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/vfs"
)

// statuses maps the outcomes of backends (RFC 8881 15.1).
var statuses = [...]proto.Status{
	vfs.OK:                proto.OK,
	vfs.ErrPerm:           proto.ErrPerm,
	vfs.ErrNotFound:       proto.ErrNoEnt,
	vfs.ErrIO:             proto.ErrIO,
	vfs.ErrAccess:         proto.ErrAccess,
	vfs.ErrExist:          proto.ErrExist,
	vfs.ErrXDev:           proto.ErrXDev,
	vfs.ErrNotDir:         proto.ErrNotDir,
	vfs.ErrIsDir:          proto.ErrIsDir,
	vfs.ErrInvalid:        proto.ErrInval,
	vfs.ErrTooBig:         proto.ErrFBig,
	vfs.ErrNoSpace:        proto.ErrNoSpc,
	vfs.ErrReadOnly:       proto.ErrROFS,
	vfs.ErrMaxLink:        proto.ErrMLink,
	vfs.ErrNameTooLong:    proto.ErrNameTooLong,
	vfs.ErrBadName:        proto.ErrBadName,
	vfs.ErrNotEmpty:       proto.ErrNotEmpty,
	vfs.ErrQuota:          proto.ErrDQuot,
	vfs.ErrStale:          proto.ErrStale,
	vfs.ErrBadHandle:      proto.ErrBadHandle,
	vfs.ErrNotSync:        proto.ErrInval,
	vfs.ErrBadCookie:      proto.ErrBadCookie,
	vfs.ErrUnsupported:    proto.ErrNotSupp,
	vfs.ErrWrongType:      proto.ErrWrongType,
	vfs.ErrSymlink:        proto.ErrSymlink,
	vfs.ErrLoop:           proto.ErrSymlink,
	vfs.ErrBusy:           proto.ErrFileOpen,
	vfs.ErrShareViolation: proto.ErrShareDenied,
	vfs.ErrLocked:         proto.ErrLocked,
	vfs.ErrDeadlock:       proto.ErrDeadlock,
	vfs.ErrNoAttr:         proto.ErrNoXattr,
	vfs.ErrAttrTooBig:     proto.ErrXattr2Big,
	vfs.ErrNoData:         proto.ErrNXIO,
	vfs.ErrTooManyFiles:   proto.ErrDelay,
	vfs.ErrServerFault:    proto.ErrServerFault,
}

// statusOf is the status of an error of a backend.
func statusOf(err error) proto.Status {
	if err == nil {
		return proto.OK
	}
	if s := vfs.StatusOf(err); int(s) < len(statuses) {
		return statuses[s]
	}
	return proto.ErrServerFault
}
