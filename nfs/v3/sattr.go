package v3

import (
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// TimeHow is time_how (RFC 1813 2.6).
type TimeHow uint32

// How a time is set.
const (
	DontChange      TimeHow = 0
	SetToServerTime TimeHow = 1
	SetToClientTime TimeHow = 2
)

// SetAttr is sattr3 (RFC 1813 2.6). Nil fields do not change.
type SetAttr struct {
	Mode, UID, GID     *uint32
	Size               *uint64
	AtimeHow, MtimeHow TimeHow
	Atime, Mtime       Time
}

func (s *SetAttr) decode(d *xdr.Decoder) {
	word := func() *uint32 {
		if !d.Bool() {
			return nil
		}
		v := d.Uint32()
		return &v
	}
	s.Mode, s.UID, s.GID, s.Size = word(), word(), word(), nil
	if d.Bool() {
		v := d.Uint64()
		s.Size = &v
	}
	when := func(how *TimeHow, t *Time) {
		switch *how = TimeHow(d.Uint32()); *how {
		case DontChange, SetToServerTime:
		case SetToClientTime:
			t.decode(d)
		default:
			d.Fail(xdr.ErrBadValue)
		}
	}
	when(&s.AtimeHow, &s.Atime)
	when(&s.MtimeHow, &s.Mtime)
}

func (s *SetAttr) append(b []byte) []byte {
	for _, w := range []*uint32{s.Mode, s.UID, s.GID} {
		b = xdr.AppendBool(b, w != nil)
		if w != nil {
			b = xdr.AppendUint32(b, *w)
		}
	}
	b = xdr.AppendBool(b, s.Size != nil)
	if s.Size != nil {
		b = xdr.AppendUint64(b, *s.Size)
	}
	b = xdr.AppendUint32(b, uint32(s.AtimeHow))
	if s.AtimeHow == SetToClientTime {
		b = s.Atime.append(b)
	}
	b = xdr.AppendUint32(b, uint32(s.MtimeHow))
	if s.MtimeHow == SetToClientTime {
		b = s.Mtime.append(b)
	}
	return b
}

// vfs converts to the backends' terms, and refuses what no file system can set.
func (s *SetAttr) vfs() (v vfs.SetAttr, st Status) {
	if s.Mode != nil {
		v.Mask |= vfs.AttrMode
		v.Mode = *s.Mode & 0o7777
	}
	if s.UID != nil {
		v.Mask |= vfs.AttrUID
		v.UID = *s.UID
	}
	if s.GID != nil {
		v.Mask |= vfs.AttrGID
		v.GID = *s.GID
	}
	if s.Size != nil {
		v.Mask |= vfs.AttrSize
		if v.Size = *s.Size; v.Size > maxFileSize {
			return v, ErrFBig
		}
	}
	if s.AtimeHow != DontChange {
		v.Mask |= vfs.AttrAtime
		v.AtimeNow = s.AtimeHow == SetToServerTime
		v.Atime = s.Atime.vfs()
	}
	if s.MtimeHow != DontChange {
		v.Mask |= vfs.AttrMtime
		v.MtimeNow = s.MtimeHow == SetToServerTime
		v.Mtime = s.Mtime.vfs()
	}
	if v.Atime.Nsec >= 1e9 || v.Mtime.Nsec >= 1e9 {
		return v, ErrInval
	}
	return v, OK
}
