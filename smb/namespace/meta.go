package namespace

import (
	"context"
	"encoding/binary"
	"strings"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

// metaName is the extended attribute that keeps a [Meta].
const metaName = "fileserver.dos"

// Stored are the attributes that are stored. The others follow from the kind of the object.
const Stored = wire.FileAttributesSettable | wire.FileAttributeSparseFile

// Meta holds the attributes of an object that file systems do not store: DOS attributes, and a time of creation that a
// client has set.
type Meta struct {
	Known      bool // Attributes have been set; otherwise they are the default
	Attributes wire.FileAttributes
	Created    wire.Filetime // 0: as the file system says
}

// A value is a version, flags, and the fields, little-endian. Later versions may have more.
const (
	metaVersion = 1
	metaLen     = 14

	metaHasAttributes = 1
	metaHasCreated    = 2
)

func (m *Meta) append(b []byte) []byte {
	flags := byte(0)
	if m.Known {
		flags |= metaHasAttributes
	}
	if m.Created != 0 {
		flags |= metaHasCreated
	}
	b = append(b, metaVersion, flags)
	b = binary.LittleEndian.AppendUint32(b, uint32(m.Attributes&Stored))
	return binary.LittleEndian.AppendUint64(b, uint64(m.Created))
}

// parseMeta reads a value. It returns the zero Meta for a value that it does not understand: users can write any.
func parseMeta(b []byte) (m Meta) {
	if len(b) < metaLen || b[0] == 0 {
		return m
	}
	if b[1]&metaHasAttributes != 0 {
		m.Known = true
		m.Attributes = wire.FileAttributes(binary.LittleEndian.Uint32(b[2:])) & Stored
	}
	if c := wire.Filetime(binary.LittleEndian.Uint64(b[6:])); b[1]&metaHasCreated != 0 && c < 1<<63 {
		m.Created = c
	}
	return m
}

// system are the credentials that read and write metas, after the protocol's own checks, because a client may know the
// attributes of a file that it may not read.
var system = &vfs.Cred{}

// LoadMeta reads what is kept of an object.
func LoadMeta(ctx context.Context, n vfs.Node) Meta {
	x, ok := n.(vfs.Xattrer)
	if k := n.Kind(); !ok || k != vfs.KindRegular && k != vfs.KindDirectory {
		return Meta{}
	}
	b, err := x.GetXattr(ctx, system, metaName)
	if err != nil {
		return Meta{}
	}
	return parseMeta(b)
}

// StoreMeta keeps m of an object. A time of creation is given to the file system itself if that keeps no
// extended attributes; [vfs.ErrUnsupported] if it cannot be kept at all.
func StoreMeta(ctx context.Context, n vfs.Node, m *Meta) error {
	if x, ok := n.(vfs.Xattrer); ok {
		return x.SetXattr(ctx, system, metaName, m.append(make([]byte, 0, metaLen)), 0)
	}
	if m.Created == 0 {
		return vfs.ErrUnsupported
	}
	sec, nsec := m.Created.Unix()
	return n.SetAttr(ctx, system, &vfs.SetAttr{Mask: vfs.AttrBtime, Btime: vfs.Time{Sec: sec, Nsec: nsec}})
}

// OwnXattr reports whether an extended attribute is the server's own, which clients do not see.
func OwnXattr(name string) bool { return name == metaName || strings.HasPrefix(name, streamPrefix) }

// Attributes returns the DOS attributes of an object: those of its kind and the stored ones. A file has the archive
// attribute unless a client has removed it.
func (v *View) Attributes(kind vfs.Kind, name string, m *Meta) wire.FileAttributes {
	a := m.Attributes & Stored
	switch kind {
	case vfs.KindDirectory:
		a = a&^wire.FileAttributeSparseFile | wire.FileAttributeDirectory
	case vfs.KindSymlink, vfs.KindFIFO, vfs.KindSocket, vfs.KindBlock, vfs.KindChar:
		a |= wire.FileAttributeReparsePoint
	default:
		if !m.Known {
			a |= wire.FileAttributeArchive
		}
	}
	if v.opt.HideDotFiles && !m.Known && len(name) > 1 && name[0] == '.' {
		a |= wire.FileAttributeHidden
	}
	if a == 0 {
		a = wire.FileAttributeNormal
	}
	return a
}

// Times are an object's times as clients see them.
type Times struct{ Created, Accessed, Written, Changed wire.Filetime }

// TimesOf returns the times of an object from its attributes and its Meta. If neither has a time of creation, the earliest of
// the other times is used.
func TimesOf(a *vfs.Attr, m *Meta) Times {
	t := Times{Accessed: filetime(a.Atime), Written: filetime(a.Mtime), Changed: filetime(a.Ctime)}
	switch {
	case m.Created != 0:
		t.Created = m.Created
	case a.Mask&vfs.AttrBtime != 0:
		t.Created = filetime(a.Btime)
	default:
		t.Created = min(t.Written, t.Changed)
	}
	return t
}

func filetime(t vfs.Time) wire.Filetime { return wire.UnixFiletime(t.Sec, t.Nsec) }
