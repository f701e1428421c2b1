package mem

import (
	"context"
	"maps"
	"slices"

	"fileserver/vfs"
)

// Limits of extended attributes (xattr(7)), with the prefix "user." taken off the name.
const (
	maxXattrName  = 250
	maxXattrValue = 65536
)

// xattrMay checks that c may use the extended attributes of the object, which only files and directories have.
// in.mu is held.
func (in *inode) xattrMay(c *vfs.Cred, name string, want uint32) error {
	switch {
	case name == "":
		return vfs.ErrInvalid
	case len(name) > maxXattrName:
		return vfs.ErrNameTooLong
	case in.kind != vfs.KindRegular && in.kind != vfs.KindDirectory:
		if want == mayRead {
			return vfs.ErrNoAttr
		}
		return vfs.ErrPerm
	case want == mayWrite && in.kind == vfs.KindDirectory && in.attr.Mode&modeSticky != 0 && c.UID != 0 && c.UID != in.attr.UID:
		return vfs.ErrPerm
	case !permits(&in.attr, c, want):
		return vfs.ErrAccess
	}
	return nil
}

// GetXattr implements [vfs.Xattrer].
func (in *inode) GetXattr(ctx context.Context, c *vfs.Cred, name string) ([]byte, error) {
	if err := in.fs.begin(ctx, OpXattr, in); err != nil {
		return nil, err
	}
	in.mu.RLock()
	defer in.mu.RUnlock()
	if err := in.xattrMay(c, name, mayRead); err != nil {
		return nil, err
	}
	v, ok := in.xattrs[name]
	if !ok {
		return nil, vfs.ErrNoAttr
	}
	return slices.Clone(v), nil
}

// SetXattr implements [vfs.Xattrer].
func (in *inode) SetXattr(ctx context.Context, c *vfs.Cred, name string, value []byte, flags vfs.XattrFlags) error {
	if err := in.fs.begin(ctx, OpXattr, in); err != nil {
		return err
	}
	if len(value) > maxXattrValue {
		return vfs.ErrAttrTooBig
	}
	return in.changeXattr(c, name, func() error {
		_, ok := in.xattrs[name]
		switch {
		case flags&^(vfs.XattrCreate|vfs.XattrReplace) != 0:
			return vfs.ErrInvalid
		case ok && flags&vfs.XattrCreate != 0:
			return vfs.ErrExist
		case !ok && flags&vfs.XattrReplace != 0:
			return vfs.ErrNoAttr
		}
		if in.xattrs == nil {
			in.xattrs = make(map[string][]byte)
		}
		in.xattrs[name] = append([]byte{}, value...)
		return nil
	})
}

// RemoveXattr implements [vfs.Xattrer].
func (in *inode) RemoveXattr(ctx context.Context, c *vfs.Cred, name string) error {
	if err := in.fs.begin(ctx, OpXattr, in); err != nil {
		return err
	}
	return in.changeXattr(c, name, func() error {
		if _, ok := in.xattrs[name]; !ok {
			return vfs.ErrNoAttr
		}
		delete(in.xattrs, name)
		return nil
	})
}

func (in *inode) changeXattr(c *vfs.Cred, name string, do func() error) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.fs.closed.Load() {
		return vfs.ErrIO
	}
	if err := in.xattrMay(c, name, mayWrite); err != nil {
		return err
	}
	before := maps.Clone(in.xattrs)
	if err := do(); err != nil {
		return err
	}
	in.fs.journal.xattr(in, before)
	in.touch(now())
	return nil
}

// ListXattrs implements [vfs.Xattrer].
func (in *inode) ListXattrs(ctx context.Context, c *vfs.Cred) ([]string, error) {
	if err := in.fs.begin(ctx, OpXattr, in); err != nil {
		return nil, err
	}
	in.mu.RLock()
	defer in.mu.RUnlock()
	return slices.Sorted(maps.Keys(in.xattrs)), nil
}
