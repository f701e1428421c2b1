package v4

import (
	"math"
	"strconv"

	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// maxAttrs is the longest attrlist4 accepted, bytes.
const maxAttrs = 64 << 10

// fattr is a fattr4 as it came: attributes and, encoded, their values.
type fattr struct {
	mask   proto.Bitmap
	beyond bool // attributes that no RFC assigns were in it
	vals   []byte
}

func decodeFattr(d *xdr.Decoder) (f fattr) {
	f.mask, f.beyond = proto.DecodeBitmap(d)
	f.vals = d.Opaque(maxAttrs)
	return f
}

// unsupported returns the error for attributes that a client must not give: only those in ok are allowed.
func (c *compound) unsupported(f *fattr, ok proto.Bitmap) proto.Status {
	if f.beyond {
		return proto.ErrAttrNotSupp
	}
	if rest := f.mask.Without(c.supported()); !rest.IsEmpty() {
		return proto.ErrAttrNotSupp
	}
	if rest := f.mask.Without(ok); !rest.IsEmpty() {
		return proto.ErrInval
	}
	return proto.OK
}

// setAttrs decodes attributes to be set, of which only those in ok may be.
func (c *compound) setAttrs(f *fattr, ok proto.Bitmap) (s vfs.SetAttr, st proto.Status) {
	if st := c.unsupported(f, ok); st != proto.OK {
		return s, st
	}
	d := xdr.NewDecoder(f.vals)
	for a := f.mask.Next(0); a >= 0 && st == proto.OK; a = f.mask.Next(a + 1) {
		switch a {
		case proto.AttrSize:
			s.Size, s.Mask = d.Uint64(), s.Mask|vfs.AttrSize
			if s.Size > math.MaxInt64 {
				st = proto.ErrFBig
			}
		case proto.AttrMode:
			s.Mode, s.Mask = d.Uint32(), s.Mask|vfs.AttrMode
			if s.Mode&^0o7777 != 0 {
				st = proto.ErrInval
			}
		case proto.AttrOwner:
			s.UID, st = decodeID(&d)
			s.Mask |= vfs.AttrUID
		case proto.AttrOwnerGroup:
			s.GID, st = decodeID(&d)
			s.Mask |= vfs.AttrGID
		case proto.AttrTimeAccessSet:
			s.Atime, s.AtimeNow, st = decodeSetTime(&d)
			s.Mask |= vfs.AttrAtime
		case proto.AttrTimeModifySet:
			s.Mtime, s.MtimeNow, st = decodeSetTime(&d)
			s.Mask |= vfs.AttrMtime
		}
	}
	if d.Finish() != nil && (st == proto.OK || d.Err() != xdr.ErrTrailing) {
		st = proto.ErrBadXDR
	}
	return s, st
}

// decodeID consumes an owner or group, a number in decimal.
func decodeID(d *xdr.Decoder) (uint32, proto.Status) {
	b := d.Opaque(maxAttrs)
	if d.Err() != nil {
		return 0, proto.ErrBadXDR
	}
	if len(b) == 0 {
		return 0, proto.ErrInval
	}
	id, err := strconv.ParseUint(string(b), 10, 32)
	if err != nil || b[0] == '+' {
		return 0, proto.ErrBadOwner
	}
	return uint32(id), proto.OK
}

func decodeTime(d *xdr.Decoder) (t vfs.Time, st proto.Status) {
	t.Sec, t.Nsec = int64(d.Uint64()), d.Uint32()
	if t.Nsec >= 1e9 {
		st = proto.ErrInval
	}
	return t, st
}

// decodeSetTime consumes a settime4 (RFC 8881 5.2.1).
func decodeSetTime(d *xdr.Decoder) (t vfs.Time, now bool, st proto.Status) {
	switch d.Uint32() {
	case 0:
		return t, true, proto.OK
	case 1:
		t, st = decodeTime(d)
		return t, false, st
	}
	return t, false, proto.ErrBadXDR
}
