package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/vfs"
)

// Attributes by what can be done with them (RFC 8881 5, RFC 7862 12, RFC 8276 8.2).
var (
	readable = proto.Bits(
		proto.AttrSupportedAttrs, proto.AttrType, proto.AttrFHExpireType, proto.AttrChange, proto.AttrSize,
		proto.AttrLinkSupport, proto.AttrSymlinkSupport, proto.AttrNamedAttr, proto.AttrFSID, proto.AttrUniqueHandles,
		proto.AttrLeaseTime, proto.AttrRdAttrError, proto.AttrACLSupport, proto.AttrCanSetTime,
		proto.AttrCaseInsensitive, proto.AttrCasePreserving, proto.AttrChownRestricted, proto.AttrFileHandle,
		proto.AttrFileID, proto.AttrFilesAvail, proto.AttrFilesFree, proto.AttrFilesTotal, proto.AttrHomogeneous,
		proto.AttrMaxFileSize, proto.AttrMaxLink, proto.AttrMaxName, proto.AttrMaxRead, proto.AttrMaxWrite,
		proto.AttrMode, proto.AttrNoTrunc, proto.AttrNumLinks, proto.AttrOwner, proto.AttrOwnerGroup, proto.AttrRawDev,
		proto.AttrSpaceAvail, proto.AttrSpaceFree, proto.AttrSpaceTotal, proto.AttrSpaceUsed,
		proto.AttrTimeAccess, proto.AttrTimeCreate, proto.AttrTimeDelta, proto.AttrTimeMetadata, proto.AttrTimeModify,
		proto.AttrMountedOnFileID, proto.AttrSuppAttrExclCreat,
	)
	readable42 = proto.Bits(proto.AttrChangeAttrType, proto.AttrXattrSupport)
	writeOnly  = proto.Bits(proto.AttrTimeAccessSet, proto.AttrTimeModifySet)
	settable   = proto.Bits(
		proto.AttrSize, proto.AttrMode, proto.AttrOwner, proto.AttrOwnerGroup,
		proto.AttrTimeAccessSet, proto.AttrTimeModifySet,
	)
	// exclusive can be set by an exclusive create: times cannot, they hold its verifier.
	exclusive = proto.Bits(proto.AttrSize, proto.AttrMode, proto.AttrOwner, proto.AttrOwnerGroup)
	// verifierIn is where an exclusive create puts its verifier.
	verifierIn = proto.Bits(proto.AttrTimeAccess, proto.AttrTimeModify)
	statFS     = proto.Bits(
		proto.AttrFilesAvail, proto.AttrFilesFree, proto.AttrFilesTotal, proto.AttrSpaceAvail, proto.AttrSpaceFree, proto.AttrSpaceTotal,
	)
)

// gettable are the attributes that can be read in the minor version.
func (c *compound) gettable() proto.Bitmap {
	if c.minor >= 2 {
		return readable.Or(readable42)
	}
	return readable
}

// supported is the value of supported_attrs.
func (c *compound) supported() proto.Bitmap { return c.gettable().Or(writeOnly) }

// masks says what of vfs.Attr an attribute needs.
var masks = [96]vfs.AttrMask{
	proto.AttrChange: vfs.AttrChange, proto.AttrSize: vfs.AttrSize, proto.AttrFileID: vfs.AttrFileID,
	proto.AttrMode: vfs.AttrMode, proto.AttrNumLinks: vfs.AttrNlink, proto.AttrOwner: vfs.AttrUID, proto.AttrOwnerGroup: vfs.AttrGID,
	proto.AttrRawDev: vfs.AttrRdev, proto.AttrSpaceUsed: vfs.AttrUsed, proto.AttrTimeAccess: vfs.AttrAtime,
	proto.AttrTimeCreate: vfs.AttrBtime, proto.AttrTimeMetadata: vfs.AttrCtime, proto.AttrTimeModify: vfs.AttrMtime,
	proto.AttrMountedOnFileID: vfs.AttrFileID,
}

// maskOf is what of vfs.Attr the attributes need.
func maskOf(want proto.Bitmap) (m vfs.AttrMask) {
	for a := want.Next(0); a >= 0; a = want.Next(a + 1) {
		m |= masks[a]
	}
	return m
}

// fileType is the nfs_ftype4 of a kind.
func fileType(k vfs.Kind) uint32 {
	return [...]uint32{
		vfs.KindUnknown: 1, vfs.KindRegular: 1, vfs.KindDirectory: 2, vfs.KindBlock: 3, vfs.KindChar: 4,
		vfs.KindSymlink: 5, vfs.KindSocket: 6, vfs.KindFIFO: 7,
	}[k]
}
