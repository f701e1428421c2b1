package namespace

import (
	"context"
	"fmt"
	"strings"

	"fileserver/vfs"
)

// A stream is an extended attribute. The attribute's name is the stream's between this prefix and suffix, and its value is
// the data and one zero byte, so that it is never empty (Samba's vfs_streams_xattr).
const (
	streamPrefix = "DosStream."
	streamSuffix = ":$DATA"
)

// MaxStream is the size of the largest stream, bytes. File systems may have room for less.
const MaxStream = 64<<10 - 1

// maxStreamName is the length of the longest name of a stream, bytes: an attribute's name has at most 255 with its namespace.
const maxStreamName = 255 - len("user.") - len(streamPrefix) - len(streamSuffix)

// StreamRef is a named stream of an object.
type StreamRef struct {
	Name string // as clients see it
	attr string // the extended attribute
}

// Attr returns the name of the extended attribute that holds the stream.
func (r StreamRef) Attr() string { return r.attr }

// NewStream returns the StreamRef of a stream that does not exist yet.
func NewStream(name string) StreamRef { return StreamRef{name, streamPrefix + name + streamSuffix} }

// mayHave reports whether objects of the kind can have named streams.
func mayHave(k vfs.Kind) bool { return k == vfs.KindRegular || k == vfs.KindDirectory }

// HasStreams reports whether a node can have named streams: it is a file or directory, and the file system keeps extended attributes.
func HasStreams(ctx context.Context, n vfs.Node) bool {
	x, ok := n.(vfs.Xattrer)
	if !ok || !mayHave(n.Kind()) {
		return false
	}
	_, err := x.GetXattr(ctx, system, metaName)
	return err == nil || vfs.StatusOf(err) == vfs.ErrNoAttr
}

// ListStreams lists the named streams of a node; none where it cannot have any.
func ListStreams(ctx context.Context, n vfs.Node) ([]StreamRef, error) {
	x, ok := n.(vfs.Xattrer)
	if !ok || !mayHave(n.Kind()) {
		return nil, nil
	}
	attrs, err := x.ListXattrs(ctx, system)
	if vfs.StatusOf(err) == vfs.ErrUnsupported {
		return nil, nil
	}
	var all []StreamRef
	for _, attr := range attrs {
		// Samba can be told to leave the type out.
		if name, ok := strings.CutPrefix(attr, streamPrefix); ok && name != "" {
			if name = strings.TrimSuffix(name, streamSuffix); !strings.ContainsAny(name, `:/\`) {
				all = append(all, StreamRef{name, attr})
			}
		}
	}
	return all, err
}

// FindStream finds a stream by its name: exactly, or else without its case.
func FindStream(ctx context.Context, n vfs.Node, name string) (s StreamRef, found bool, err error) {
	all, err := ListStreams(ctx, n)
	for _, r := range all {
		if r.Name == name {
			return r, true, nil
		}
		if !found && Equal(r.Name, name) {
			s, found = r, true
		}
	}
	return s, found, err
}

// LoadStream reads a stream's data; [vfs.ErrNoAttr] if there is none.
func LoadStream(ctx context.Context, n vfs.Node, r StreamRef) ([]byte, error) {
	x, ok := n.(vfs.Xattrer)
	if !ok {
		return nil, vfs.ErrUnsupported
	}
	v, err := x.GetXattr(ctx, system, r.attr)
	return v[:max(len(v), 1)-1], err
}

// StoreStream replaces a stream's data, whole or not at all; flags as for SetXattr. [vfs.ErrNoSpace] if it
// is more than fits an extended attribute of the file system.
func StoreStream(ctx context.Context, n vfs.Node, r StreamRef, data []byte, flags vfs.XattrFlags) error {
	x, ok := n.(vfs.Xattrer)
	switch {
	case !ok:
		return vfs.ErrUnsupported
	case len(data) > MaxStream:
		return vfs.ErrNoSpace
	}
	err := x.SetXattr(ctx, system, r.attr, append(data, 0), flags)
	if st := vfs.StatusOf(err); st == vfs.ErrAttrTooBig || st == vfs.ErrTooBig {
		err = fmt.Errorf("%w: %w", vfs.ErrNoSpace, err)
	}
	return err
}

// RemoveStream removes a stream. It succeeds if there is none.
func RemoveStream(ctx context.Context, n vfs.Node, r StreamRef) error {
	x, ok := n.(vfs.Xattrer)
	if !ok {
		return vfs.ErrUnsupported
	}
	err := x.RemoveXattr(ctx, system, r.attr)
	if vfs.StatusOf(err) == vfs.ErrNoAttr {
		err = nil
	}
	return err
}
