package smb

import (
	"context"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// info is what is said of an object in CREATE, CLOSE, QUERY_INFO and QUERY_DIRECTORY.
type info struct {
	vfs.Attr
	meta       namespace.Meta
	attributes wire.FileAttributes
	times      namespace.Times
}

// infoOf asks for what there is to say of an object; name is its last name, without directories.
func (s *Share) infoOf(ctx context.Context, n vfs.Node, name string) (info, error) {
	a, err := n.GetAttr(ctx, vfs.AttrStat)
	if err != nil {
		return info{}, err
	}
	return s.infoFrom(&a, namespace.LoadMeta(ctx, n), name), nil
}

// infoFrom puts together what is known of an object.
func (s *Share) infoFrom(a *vfs.Attr, m namespace.Meta, name string) info {
	return info{Attr: *a, meta: m, attributes: s.view().Attributes(a.Kind, name, &m), times: namespace.TimesOf(a, &m)}
}

// attributesOf are the DOS attributes of an object.
func (s *Share) attributesOf(ctx context.Context, n vfs.Node, name string) wire.FileAttributes {
	m := namespace.LoadMeta(ctx, n)
	return s.view().Attributes(n.Kind(), name, &m)
}

// fileID is the number that QFid, FileInternalInformation and directories say: always the file system's.
func (i *info) fileID() uint64 { return i.FileID }

// size is the end of the file: 0 for what is not one.
func (i *info) size() uint64 {
	if i.Kind != vfs.KindRegular {
		return 0
	}
	return i.Size
}

// allocated is the storage the object takes, bytes.
func (i *info) allocated() uint64 {
	if i.Kind != vfs.KindRegular {
		return 0
	}
	return i.Used
}

// reparseTag is the tag of an object that is a reparse point, or 0.
func (i *info) reparseTag() uint32 {
	if i.Kind == vfs.KindSymlink {
		return wire.ReparseTagSymlink
	}
	return 0
}

// setAttributes keeps new DOS attributes of an object; those that are not kept are ignored.
func setAttributes(ctx context.Context, n vfs.Node, a wire.FileAttributes) error {
	if a&namespace.Stored == 0 && a&wire.FileAttributeNormal == 0 {
		return nil
	}
	m := namespace.LoadMeta(ctx, n)
	sparse := m.Attributes & wire.FileAttributeSparseFile
	m.Known, m.Attributes = true, a&wire.FileAttributesSettable|sparse
	return namespace.StoreMeta(ctx, n, &m)
}
