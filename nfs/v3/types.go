package v3

import (
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// Specification constants (RFC 1813 2.4).
const (
	maxFH      = 64 // NFS3_FHSIZE, bytes
	cookieVerf = 8  // NFS3_COOKIEVERFSIZE and the sizes of the other verifiers, bytes

	attrSize    = 84           // fattr3 on the wire
	postOpSize  = 4 + attrSize // post_op_attr with attributes
	wccSize     = 4 + 24 + postOpSize
	maxNameArg  = 4096 // of a name in arguments, bytes; what is longer than the file system allows is its to refuse
	maxPathArg  = 8192 // of a symbolic link's path in arguments
	maxDataArg  = 16 << 20
	maxFileSize = 1<<63 - 1
)

// FileType is ftype3 (RFC 1813 2.6).
type FileType uint32

// Types of files.
const (
	TypeReg  FileType = 1
	TypeDir  FileType = 2
	TypeBlk  FileType = 3
	TypeChr  FileType = 4
	TypeLnk  FileType = 5
	TypeSock FileType = 6
	TypeFIFO FileType = 7
)

var typeOfKind = [...]FileType{
	vfs.KindUnknown: TypeReg, vfs.KindRegular: TypeReg, vfs.KindDirectory: TypeDir, vfs.KindSymlink: TypeLnk,
	vfs.KindBlock: TypeBlk, vfs.KindChar: TypeChr, vfs.KindSocket: TypeSock, vfs.KindFIFO: TypeFIFO,
}

// Time is nfstime3 (RFC 1813 2.6).
type Time struct{ Sec, Nsec uint32 }

// timeOf cuts the seconds down to 32 bits, unsigned: times from 1970 to 2106.
func timeOf(t vfs.Time) Time { return Time{uint32(t.Sec), t.Nsec} }

func (t Time) vfs() vfs.Time { return vfs.Time{Sec: int64(t.Sec), Nsec: t.Nsec} }

func (t *Time) decode(d *xdr.Decoder) { t.Sec, t.Nsec = d.Uint32(), d.Uint32() }

func (t Time) append(b []byte) []byte { return xdr.AppendUint32(xdr.AppendUint32(b, t.Sec), t.Nsec) }

// Attr is fattr3 (RFC 1813 2.6).
type Attr struct {
	Type                FileType
	Mode                uint32
	Nlink               uint32
	UID, GID            uint32
	Size, Used          uint64
	Rdev                vfs.Dev
	FSID, FileID        uint64
	Atime, Mtime, Ctime Time
}

const attrMask = vfs.AttrMode | vfs.AttrNlink | vfs.AttrUID | vfs.AttrGID | vfs.AttrSize | vfs.AttrUsed | vfs.AttrRdev |
	vfs.AttrFileID | vfs.AttrAtime | vfs.AttrMtime | vfs.AttrCtime

func attrOf(a *vfs.Attr, fsid uint64) Attr {
	return Attr{
		Type: typeOfKind[a.Kind], Mode: a.Mode & 0o7777, Nlink: a.Nlink, UID: a.UID, GID: a.GID, Size: a.Size, Used: a.Used,
		Rdev: a.Rdev, FSID: fsid, FileID: a.FileID, Atime: timeOf(a.Atime), Mtime: timeOf(a.Mtime), Ctime: timeOf(a.Ctime),
	}
}

func (a *Attr) append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(a.Type))
	b = xdr.AppendUint32(b, a.Mode)
	b = xdr.AppendUint32(b, a.Nlink)
	b = xdr.AppendUint32(b, a.UID)
	b = xdr.AppendUint32(b, a.GID)
	b = xdr.AppendUint64(b, a.Size)
	b = xdr.AppendUint64(b, a.Used)
	b = xdr.AppendUint32(b, a.Rdev.Major)
	b = xdr.AppendUint32(b, a.Rdev.Minor)
	b = xdr.AppendUint64(b, a.FSID)
	b = xdr.AppendUint64(b, a.FileID)
	return a.Ctime.append(a.Mtime.append(a.Atime.append(b)))
}

func (a *Attr) decode(d *xdr.Decoder) {
	a.Type = FileType(d.Uint32())
	if d.Err() == nil && (a.Type < TypeReg || a.Type > TypeFIFO) {
		d.Fail(xdr.ErrBadValue)
	}
	a.Mode, a.Nlink, a.UID, a.GID = d.Uint32(), d.Uint32(), d.Uint32(), d.Uint32()
	a.Size, a.Used = d.Uint64(), d.Uint64()
	a.Rdev.Major, a.Rdev.Minor = d.Uint32(), d.Uint32()
	a.FSID, a.FileID = d.Uint64(), d.Uint64()
	a.Atime.decode(d)
	a.Mtime.decode(d)
	a.Ctime.decode(d)
}

// PostOpAttr is post_op_attr (RFC 1813 2.6).
type PostOpAttr struct {
	Present bool
	Attr    Attr
}

func (p *PostOpAttr) append(b []byte) []byte {
	b = xdr.AppendBool(b, p.Present)
	if p.Present {
		b = p.Attr.append(b)
	}
	return b
}

func (p *PostOpAttr) decode(d *xdr.Decoder) {
	if p.Present = d.Bool(); p.Present {
		p.Attr.decode(d)
	}
}

// PreOpAttr is pre_op_attr (RFC 1813 2.6).
type PreOpAttr struct {
	Present      bool
	Size         uint64
	Mtime, Ctime Time
}

// WccData is wcc_data (RFC 1813 2.6).
type WccData struct {
	Before PreOpAttr
	After  PostOpAttr
}

func (w *WccData) append(b []byte) []byte {
	b = xdr.AppendBool(b, w.Before.Present)
	if w.Before.Present {
		b = xdr.AppendUint64(b, w.Before.Size)
		b = w.Before.Ctime.append(w.Before.Mtime.append(b))
	}
	return w.After.append(b)
}

func (w *WccData) decode(d *xdr.Decoder) {
	if w.Before.Present = d.Bool(); w.Before.Present {
		w.Before.Size = d.Uint64()
		w.Before.Mtime.decode(d)
		w.Before.Ctime.decode(d)
	}
	w.After.decode(d)
}

// Handle is post_op_fh3 where it is optional, and nfs_fh3 where it is not (RFC 1813 2.6): nil if there is none.
type Handle []byte

func (h *Handle) decode(d *xdr.Decoder) { *h = d.Opaque(maxFH) }

func (h Handle) append(b []byte) []byte { return xdr.AppendOpaque(b, h) }

func (h *Handle) decodeOptional(d *xdr.Decoder) {
	*h = nil
	if d.Bool() {
		if h.decode(d); *h == nil {
			*h = Handle{}
		}
	}
}

func (h Handle) appendOptional(b []byte) []byte {
	b = xdr.AppendBool(b, h != nil)
	if h != nil {
		b = h.append(b)
	}
	return b
}

// DirOp is diropargs3 (RFC 1813 2.6).
type DirOp struct {
	Dir  Handle
	Name string
}

func (o *DirOp) decode(d *xdr.Decoder) {
	o.Dir.decode(d)
	o.Name = d.String(maxNameArg)
}

func (o *DirOp) append(b []byte) []byte { return xdr.AppendString(o.Dir.append(b), o.Name) }
