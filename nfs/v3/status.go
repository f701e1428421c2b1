package v3

import "fileserver/vfs"

// Status is nfsstat3 (RFC 1813 2.6).
type Status uint32

// Statuses.
const (
	OK             Status = 0
	ErrPerm        Status = 1
	ErrNoEnt       Status = 2
	ErrIO          Status = 5
	ErrNXIO        Status = 6
	ErrAcces       Status = 13
	ErrExist       Status = 17
	ErrXDev        Status = 18
	ErrNoDev       Status = 19
	ErrNotDir      Status = 20
	ErrIsDir       Status = 21
	ErrInval       Status = 22
	ErrFBig        Status = 27
	ErrNoSpc       Status = 28
	ErrROFS        Status = 30
	ErrMLink       Status = 31
	ErrNameTooLong Status = 63
	ErrNotEmpty    Status = 66
	ErrDQuot       Status = 69
	ErrStale       Status = 70
	ErrRemote      Status = 71
	ErrBadHandle   Status = 10001
	ErrNotSync     Status = 10002
	ErrBadCookie   Status = 10003
	ErrNotSupp     Status = 10004
	ErrTooSmall    Status = 10005
	ErrServerFault Status = 10006
	ErrBadType     Status = 10007
	ErrJukebox     Status = 10008
)

var statusText = map[Status]string{
	OK: "NFS3_OK", ErrPerm: "NFS3ERR_PERM", ErrNoEnt: "NFS3ERR_NOENT", ErrIO: "NFS3ERR_IO", ErrNXIO: "NFS3ERR_NXIO",
	ErrAcces: "NFS3ERR_ACCES", ErrExist: "NFS3ERR_EXIST", ErrXDev: "NFS3ERR_XDEV", ErrNoDev: "NFS3ERR_NODEV",
	ErrNotDir: "NFS3ERR_NOTDIR", ErrIsDir: "NFS3ERR_ISDIR", ErrInval: "NFS3ERR_INVAL", ErrFBig: "NFS3ERR_FBIG",
	ErrNoSpc: "NFS3ERR_NOSPC", ErrROFS: "NFS3ERR_ROFS", ErrMLink: "NFS3ERR_MLINK", ErrNameTooLong: "NFS3ERR_NAMETOOLONG",
	ErrNotEmpty: "NFS3ERR_NOTEMPTY", ErrDQuot: "NFS3ERR_DQUOT", ErrStale: "NFS3ERR_STALE", ErrRemote: "NFS3ERR_REMOTE",
	ErrBadHandle: "NFS3ERR_BADHANDLE", ErrNotSync: "NFS3ERR_NOT_SYNC", ErrBadCookie: "NFS3ERR_BAD_COOKIE",
	ErrNotSupp: "NFS3ERR_NOTSUPP", ErrTooSmall: "NFS3ERR_TOOSMALL", ErrServerFault: "NFS3ERR_SERVERFAULT",
	ErrBadType: "NFS3ERR_BADTYPE", ErrJukebox: "NFS3ERR_JUKEBOX",
}

// String is the name in RFC 1813.
func (s Status) String() string {
	if t, ok := statusText[s]; ok {
		return t
	}
	return "nfsstat3?"
}

// Error implements error, for clients.
func (s Status) Error() string { return s.String() }

// statusTable maps the backends' statuses. What NFSv3 has no word for: share
// reservations and locks of others are ACCES, which a client reports at once, not JUKEBOX, on which it would hang.
var statusTable = [...]Status{
	vfs.OK:                OK,
	vfs.ErrPerm:           ErrPerm,
	vfs.ErrNotFound:       ErrNoEnt,
	vfs.ErrIO:             ErrIO,
	vfs.ErrAccess:         ErrAcces,
	vfs.ErrExist:          ErrExist,
	vfs.ErrXDev:           ErrXDev,
	vfs.ErrNotDir:         ErrNotDir,
	vfs.ErrIsDir:          ErrIsDir,
	vfs.ErrInvalid:        ErrInval,
	vfs.ErrTooBig:         ErrFBig,
	vfs.ErrNoSpace:        ErrNoSpc,
	vfs.ErrReadOnly:       ErrROFS,
	vfs.ErrMaxLink:        ErrMLink,
	vfs.ErrNameTooLong:    ErrNameTooLong,
	vfs.ErrBadName:        ErrInval,
	vfs.ErrNotEmpty:       ErrNotEmpty,
	vfs.ErrQuota:          ErrDQuot,
	vfs.ErrStale:          ErrStale,
	vfs.ErrBadHandle:      ErrBadHandle,
	vfs.ErrNotSync:        ErrNotSync,
	vfs.ErrBadCookie:      ErrBadCookie,
	vfs.ErrUnsupported:    ErrNotSupp,
	vfs.ErrWrongType:      ErrInval,
	vfs.ErrSymlink:        ErrInval,
	vfs.ErrLoop:           ErrInval,
	vfs.ErrBusy:           ErrAcces,
	vfs.ErrShareViolation: ErrAcces,
	vfs.ErrLocked:         ErrAcces,
	vfs.ErrDeadlock:       ErrAcces,
	vfs.ErrNoAttr:         ErrNoEnt,
	vfs.ErrAttrTooBig:     ErrFBig,
	vfs.ErrNoData:         ErrNXIO,
	vfs.ErrTooManyFiles:   ErrJukebox,
	vfs.ErrServerFault:    ErrServerFault,
}

func statusOf(err error) Status {
	if err == nil {
		return OK
	}
	if s := vfs.StatusOf(err); int(s) < len(statusTable) {
		return statusTable[s]
	}
	return ErrServerFault
}
