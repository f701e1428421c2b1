package v4

import (
	"encoding/binary"
	"strconv"

	"fileserver/nfs"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// values is where the attributes of an object come from.
type values struct {
	export *nfs.Export // nil in the pseudo file system
	pseudo *pseudoNode // likewise; with an export: what its root covers
	attr   vfs.Attr
	handle vfs.Handle
	caps   vfs.Caps
	stat   vfs.StatFS
	xattrs bool
	err    proto.Status // rdattr_error
}

// values fetches what the attributes in want need of an object.
func (c *compound) values(t *target, want proto.Bitmap, v *values) proto.Status {
	if t.pseudo != nil {
		v.pseudo, v.attr = t.pseudo, c.pseudoAttr(t.pseudo)
		v.xattrs = true
		return proto.OK
	}
	var err error
	v.export, v.caps, v.handle = t.export, t.export.FS.Caps(), t.node.Handle()
	if v.attr, err = t.node.GetAttr(c.ctx, maskOf(want)); err != nil {
		return statusOf(err)
	}
	if want.Has(proto.AttrMountedOnFileID) {
		v.pseudo = c.covered(t)
	}
	_, v.xattrs = t.node.(vfs.Xattrer)
	return c.capacity(want, v)
}

// capacity fetches what is known of the whole file system, if it is wanted.
func (c *compound) capacity(want proto.Bitmap, v *values) (st proto.Status) {
	if w := want.And(statFS); !w.IsEmpty() {
		var err error
		v.stat, err = v.export.FS.StatFS(c.ctx, c.credsIn(v.export))
		st = statusOf(err)
	}
	return st
}

func (c *compound) pseudoAttr(n *pseudoNode) vfs.Attr {
	at := vfs.TimeOf(c.srv.started)
	return vfs.Attr{
		Mask: vfs.AttrStat, Kind: vfs.KindDirectory, Mode: 0o555, Nlink: uint32(2 + len(n.children)), FileID: n.fileID(),
		Size: 4096, Used: 4096, Atime: at, Mtime: at, Ctime: at, Btime: at, Change: n.tree.change,
	}
}

// appendAttrs appends a fattr4 (RFC 8881 3.3.9) of the attributes in want that can be read.
func (c *compound) appendAttrs(b []byte, want proto.Bitmap, v *values) []byte {
	want = want.And(c.gettable())
	b = want.Append(b)
	at := len(b)
	b = xdr.AppendUint32(b, 0)
	for a := want.Next(0); a >= 0; a = want.Next(a + 1) {
		b = c.appendAttr(b, a, v)
	}
	xdr.PutUint32(b, at, uint32(len(b)-at-4))
	return b
}

func (c *compound) appendAttr(b []byte, a int, v *values) []byte {
	switch a {
	case proto.AttrSupportedAttrs:
		m := c.supported()
		return m.Append(b)
	case proto.AttrSuppAttrExclCreat:
		return exclusive.Append(b)
	case proto.AttrType:
		return xdr.AppendUint32(b, fileType(v.attr.Kind))
	case proto.AttrFHExpireType, proto.AttrACLSupport: // FH4_PERSISTENT; no ACLs
		return xdr.AppendUint32(b, 0)
	case proto.AttrChange:
		return xdr.AppendUint64(b, v.attr.Change)
	case proto.AttrSize:
		return xdr.AppendUint64(b, v.attr.Size)
	case proto.AttrLinkSupport, proto.AttrSymlinkSupport, proto.AttrUniqueHandles, proto.AttrCanSetTime, proto.AttrCasePreserving,
		proto.AttrChownRestricted, proto.AttrHomogeneous, proto.AttrNoTrunc:
		return xdr.AppendBool(b, true)
	case proto.AttrNamedAttr:
		return xdr.AppendBool(b, false)
	case proto.AttrCaseInsensitive:
		return xdr.AppendBool(b, v.caps.CaseInsensitive)
	case proto.AttrXattrSupport:
		return xdr.AppendBool(b, v.xattrs)
	case proto.AttrFSID:
		return appendFSID(b, v)
	case proto.AttrLeaseTime:
		return xdr.AppendUint32(b, uint32(c.srv.clients.Lease().Seconds()))
	case proto.AttrRdAttrError:
		return xdr.AppendUint32(b, uint32(v.err))
	case proto.AttrFileHandle:
		return appendFH(b, v)
	case proto.AttrFileID:
		return xdr.AppendUint64(b, v.attr.FileID)
	case proto.AttrMountedOnFileID:
		if v.pseudo != nil {
			return xdr.AppendUint64(b, v.pseudo.fileID())
		}
		return xdr.AppendUint64(b, v.attr.FileID)
	case proto.AttrFilesAvail:
		return xdr.AppendUint64(b, v.stat.AvailFiles)
	case proto.AttrFilesFree:
		return xdr.AppendUint64(b, v.stat.FreeFiles)
	case proto.AttrFilesTotal:
		return xdr.AppendUint64(b, v.stat.TotalFiles)
	case proto.AttrSpaceAvail:
		return xdr.AppendUint64(b, v.stat.AvailBytes)
	case proto.AttrSpaceFree:
		return xdr.AppendUint64(b, v.stat.FreeBytes)
	case proto.AttrSpaceTotal:
		return xdr.AppendUint64(b, v.stat.TotalBytes)
	case proto.AttrMaxFileSize:
		return xdr.AppendUint64(b, uint64(v.caps.MaxFileSize))
	case proto.AttrMaxLink:
		return xdr.AppendUint32(b, max(v.caps.MaxLink, 1))
	case proto.AttrMaxName:
		if v.export == nil {
			return xdr.AppendUint32(b, maxPseudoName)
		}
		return xdr.AppendUint32(b, uint32(v.caps.MaxName))
	case proto.AttrMaxRead, proto.AttrMaxWrite:
		return xdr.AppendUint64(b, uint64(c.srv.cfg.MaxIO))
	case proto.AttrMode:
		return xdr.AppendUint32(b, v.attr.Mode)
	case proto.AttrNumLinks:
		return xdr.AppendUint32(b, v.attr.Nlink)
	case proto.AttrOwner:
		return appendID(b, v.attr.UID)
	case proto.AttrOwnerGroup:
		return appendID(b, v.attr.GID)
	case proto.AttrRawDev:
		return xdr.AppendUint32(xdr.AppendUint32(b, v.attr.Rdev.Major), v.attr.Rdev.Minor)
	case proto.AttrSpaceUsed:
		return xdr.AppendUint64(b, v.attr.Used)
	case proto.AttrTimeAccess:
		return appendTime(b, v.attr.Atime)
	case proto.AttrTimeCreate:
		return appendTime(b, v.attr.Btime)
	case proto.AttrTimeMetadata:
		return appendTime(b, v.attr.Ctime)
	case proto.AttrTimeModify:
		return appendTime(b, v.attr.Mtime)
	case proto.AttrTimeDelta:
		g := max(v.caps.TimeGranularity, 1)
		return appendTime(b, vfs.Time{Sec: g / 1e9, Nsec: uint32(g % 1e9)})
	case proto.AttrChangeAttrType:
		if v.caps.ChangeIsCounter || v.export == nil {
			return xdr.AppendUint32(b, 0) // NFS4_CHANGE_TYPE_IS_MONOTONIC_INCR
		}
		return xdr.AppendUint32(b, 4) // NFS4_CHANGE_TYPE_IS_UNDEFINED
	}
	panic("v4: attribute " + strconv.Itoa(a) + " is said to be readable")
}

// appendFSID appends an fsid4: of the file system and the export, so that each export is a file system of its own to clients.
func appendFSID(b []byte, v *values) []byte {
	if v.export == nil {
		return xdr.AppendUint64(xdr.AppendUint64(b, uint64(pseudoID)), 0)
	}
	id := v.caps.FSID
	b = append(b, id[:8]...)
	return xdr.AppendUint64(b, binary.BigEndian.Uint64(id[8:])^uint64(v.export.ID))
}

func appendFH(b []byte, v *values) []byte {
	at := len(b)
	b = xdr.AppendUint32(b, 0)
	if v.export == nil {
		b = v.pseudo.appendHandle(b)
	} else {
		b = nfs.AppendHandle(b, v.export, v.handle)
	}
	return closeOpaque(b, at)
}

// closeOpaque fills in the length word at b[at:] and the pad of opaque data that was appended behind it.
func closeOpaque(b []byte, at int) []byte {
	n := len(b) - at - 4
	xdr.PutUint32(b, at, uint32(n))
	return append(b, "\x00\x00\x00"[:xdr.Pad(n)]...)
}

// appendID appends an owner or group: its number in decimal (RFC 8881 5.9).
func appendID(b []byte, id uint32) []byte {
	at := len(b)
	b = xdr.AppendUint32(b, 0)
	return closeOpaque(strconv.AppendUint(b, uint64(id), 10), at)
}

func appendTime(b []byte, t vfs.Time) []byte {
	return xdr.AppendUint32(xdr.AppendUint64(b, uint64(t.Sec)), t.Nsec)
}
