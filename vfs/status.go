package vfs

// Status is the outcome of a call. It is the closed set of errors that backends return; each protocol maps it in
// one table. A backend wraps further detail with fmt.Errorf("…: %w", status); protocols use [StatusOf].
type Status uint8

// Statuses. As an error, OK is nil.
const (
	OK                Status = iota
	ErrPerm                  // operation is for the owner or the superuser
	ErrNotFound              // no such name
	ErrIO                    // the storage failed
	ErrAccess                // permission denied
	ErrExist                 // the name exists
	ErrXDev                  // not the same file system
	ErrNotDir                // not a directory
	ErrIsDir                 // a directory
	ErrInvalid               // argument is invalid
	ErrTooBig                // larger than the file system allows
	ErrNoSpace               // no room
	ErrReadOnly              // read-only file system or share
	ErrMaxLink               // too many links
	ErrNameTooLong           // name is too long
	ErrBadName               // name is not allowed here
	ErrNotEmpty              // directory is not empty
	ErrQuota                 // quota exceeded
	ErrStale                 // the object of the handle is gone
	ErrBadHandle             // not a handle of this server
	ErrNotSync               // the guard did not match
	ErrBadCookie             // the cookie is not (or no longer) one of this directory
	ErrUnsupported           // the backend cannot do that
	ErrWrongType             // wrong type of object
	ErrSymlink               // a symbolic link where none is allowed
	ErrLoop                  // too many symbolic links
	ErrBusy                  // in use by others
	ErrShareViolation        // a share reservation forbids it
	ErrLocked                // a byte-range lock forbids it
	ErrDeadlock              // waiting would be a deadlock
	ErrNoAttr                // no such extended attribute
	ErrAttrTooBig            // extended attribute is too large
	ErrNoData                // no data (or hole) at or after the offset
	ErrTooManyFiles          // out of descriptors, memory or threads; try again later
	ErrServerFault           // a defect of the server
)

var statusText = [...]string{
	"ok", "operation not permitted", "not found", "input/output error", "permission denied", "exists", "different file systems",
	"not a directory", "is a directory", "invalid argument", "too large", "no space", "read-only", "too many links", "name too long",
	"bad name", "directory not empty", "quota exceeded", "stale handle", "bad handle", "out of sync", "bad cookie",
	"not supported", "wrong type", "symbolic link", "too many symbolic links", "busy", "share violation", "locked", "deadlock",
	"no such attribute", "attribute too large", "no more data", "too many open files", "server fault",
}

// Error implements error.
func (s Status) Error() string {
	if int(s) < len(statusText) {
		return statusText[s]
	}
	return "unknown status"
}

// StatusOf returns the Status that err is or wraps: OK for nil, [ErrIO] for an error without a Status.
func StatusOf(err error) Status {
	if err == nil {
		return OK
	}
	if s, ok := err.(Status); ok { // the common case, without errors.As and its allocation
		return s
	}
	return statusOfWrapped(err)
}
