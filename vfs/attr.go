package vfs

import "time"

// Kind is the type of an object.
type Kind uint8

// Types of objects.
const (
	KindUnknown Kind = iota
	KindRegular
	KindDirectory
	KindSymlink
	KindBlock
	KindChar
	KindSocket
	KindFIFO
)

// Dev is a device number.
type Dev struct{ Major, Minor uint32 }

// MaxHandle is the length of the longest handle in bytes. NFSv3 allows 64, and the protocol needs some of them for
// the share.
const MaxHandle = 56

// Handle is the permanent, unguessable name of an object. It is comparable; the zero Handle names nothing.
type Handle struct {
	n uint8
	b [MaxHandle]byte
}

// HandleFrom returns a handle with the bytes of b. ok is false if b is empty or longer than [MaxHandle].
func HandleFrom(b []byte) (h Handle, ok bool) {
	if len(b) == 0 || len(b) > MaxHandle {
		return h, false
	}
	h.n = uint8(len(b))
	copy(h.b[:], b)
	return h, true
}

// Append appends the handle's bytes to b.
func (h *Handle) Append(b []byte) []byte { return append(b, h.b[:h.n]...) }

// Len is the length of the handle in bytes.
func (h *Handle) Len() int { return int(h.n) }

// IsZero reports whether the handle names nothing.
func (h *Handle) IsZero() bool { return h.n == 0 }

// AttrMask is a set of attributes.
type AttrMask uint32

// Attributes.
const (
	AttrMode AttrMask = 1 << iota // permission bits, set-id bits and sticky bit: 07777
	AttrNlink
	AttrUID
	AttrGID
	AttrSize
	AttrUsed // bytes of storage
	AttrRdev
	AttrFileID
	AttrAtime
	AttrMtime
	AttrCtime
	AttrBtime // time of creation
	AttrChange

	// AttrStat is everything that one statx(2) returns.
	AttrStat = AttrMode | AttrNlink | AttrUID | AttrGID | AttrSize | AttrUsed | AttrRdev | AttrFileID |
		AttrAtime | AttrMtime | AttrCtime | AttrBtime | AttrChange
)

// Time is a point in time: seconds since 1970 and nanoseconds, as the wire has it.
type Time struct {
	Sec  int64
	Nsec uint32
}

// TimeOf converts a time.Time.
func TimeOf(t time.Time) Time { return Time{t.Unix(), uint32(t.Nanosecond())} }

// Go converts to a time.Time.
func (t Time) Go() time.Time { return time.Unix(t.Sec, int64(t.Nsec)) }

// Attr are the attributes of an object; Mask says which fields are valid. Kind always is.
type Attr struct {
	Mask   AttrMask
	Kind   Kind
	Mode   uint32
	Nlink  uint32
	UID    uint32
	GID    uint32
	Size   uint64
	Used   uint64
	Rdev   Dev
	FileID uint64 // unique in the file system; never 0
	Atime  Time
	Mtime  Time
	Ctime  Time
	Btime  Time
	Change uint64 // changes with every change of data or attributes
}

// SetAttr are attributes to set; Mask says which: mode, uid, gid, size, atime, mtime, btime.
type SetAttr struct {
	Mask     AttrMask
	Mode     uint32
	UID      uint32
	GID      uint32
	Size     uint64
	Atime    Time
	Mtime    Time
	Btime    Time
	AtimeNow bool // set Atime to the server's time and ignore the Atime field
	MtimeNow bool
	// GuardCtime is the ctime that the object must have. Otherwise nothing changes and the call fails with
	// ErrNotSync (RFC 1813 3.3.2).
	GuardCtime *Time
}

// Cred is the identity on whose behalf a call is made. It belongs to the caller and does not change during the
// call. A backend that keeps it longer keeps a [Cred.Clone].
type Cred struct {
	UID    uint32
	GID    uint32
	Groups []uint32 // supplementary, without duplicates
}

// InGroup reports whether the identity belongs to gid.
func (c *Cred) InGroup(gid uint32) bool {
	if c.GID == gid {
		return true
	}
	for _, g := range c.Groups {
		if g == gid {
			return true
		}
	}
	return false
}

// Clone returns a copy of the identity, to be kept after the call.
func (c *Cred) Clone() *Cred {
	return &Cred{UID: c.UID, GID: c.GID, Groups: append([]uint32(nil), c.Groups...)}
}
