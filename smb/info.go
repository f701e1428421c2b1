package smb

import (
	"context"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// info is what the information classes say about an object.
type info struct {
	attr  vfs.Attr
	meta  namespace.Meta
	dos   wire.FileAttributes
	times wire.Times
}

// infoOf returns the information about a node. name is the last element of its path.
func infoOf(ctx context.Context, v *namespace.View, n vfs.Node, name string) (i info, err error) {
	if i.attr, err = n.GetAttr(ctx, vfs.AttrStat); err != nil {
		return i, err
	}
	i.meta = namespace.LoadMeta(ctx, n)
	i.complete(v, name)
	return i, nil
}

// complete derives the remaining fields from attr and meta.
func (i *info) complete(v *namespace.View, name string) {
	i.dos = v.Attributes(i.attr.Kind, name, &i.meta)
	t := namespace.TimesOf(&i.attr, &i.meta)
	i.times = wire.Times{Creation: t.Created, LastAccess: t.Accessed, LastWrite: t.Written, Change: t.Changed}
}

// directory reports whether the object is a directory.
func (i *info) directory() bool { return i.attr.Kind == vfs.KindDirectory }

// size is the end of the file, in bytes; 0 for objects other than files.
func (i *info) size() uint64 {
	if i.attr.Kind != vfs.KindRegular {
		return 0
	}
	return i.attr.Size
}

// allocated is the storage of the file, in bytes.
func (i *info) allocated() uint64 {
	if i.attr.Kind != vfs.KindRegular {
		return 0
	}
	return i.attr.Used
}

// tag is the reparse tag; 0 if the object is not a reparse point.
func (i *info) tag() uint32 { return reparseTags[i.attr.Kind] }

// links is the number of the object's names; 1 for a directory.
func (i *info) links() uint32 {
	if i.directory() {
		return 1
	}
	return i.attr.Nlink
}

// info returns the information about the open's file or stream.
func (o *Open) info(ctx context.Context) (info, error) {
	i, err := infoOf(ctx, o.share.view(), o.object(), o.lastName())
	if err != nil {
		return i, err
	}
	o.srv.changeTimes.show(o.link.key, &i)
	o.srv.links.adorn(o.link, &i)
	if o.stream != nil {
		err = o.stream.info(ctx, &i)
	}
	return i, err
}

// path returns the open's current name: elements separated by "/", or "" for the share's root.
func (o *Open) path() string {
	_, _, path := o.srv.links.where(o.link, o.share.FS)
	return path
}

// lastName is the last element of path.
func (o *Open) lastName() string {
	p := o.path()
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] == '/' {
			return p[i+1:]
		}
	}
	return p
}

// posixMode returns the mode as the POSIX extensions have it, with the type of the object above the permissions (SMB
// 3.1.1 POSIX Extensions 2.2.14.2.16).
func posixMode(a *vfs.Attr) uint32 { return a.Mode&0o7777 | posixTypes[a.Kind]<<12 }

var posixTypes = [...]uint32{
	vfs.KindRegular: 0, vfs.KindDirectory: 1, vfs.KindSymlink: 2, vfs.KindChar: 3, vfs.KindBlock: 4, vfs.KindFIFO: 5, vfs.KindSocket: 6,
}

// volume identifies the share's file system to clients.
func (s *Share) volume() uint64 {
	id := s.FS.Caps().FSID
	return le.Uint64(id[:])
}
