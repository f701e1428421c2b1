package mem

import (
	"context"

	"fileserver/vfs"
)

var _ vfs.Namer = (*inode)(nil)

// Where implements [vfs.Namer]. It looks through the whole tree: nothing else knows the names of files.
func (in *inode) Where(ctx context.Context) (vfs.Node, string, error) {
	if err := in.fs.begin(ctx, OpParent, in); err != nil {
		return nil, "", err
	}
	in.fs.ns.RLock()
	defer in.fs.ns.RUnlock()
	if dir, name := in.fs.root.whereIs(in); dir != nil {
		return dir.ref(), name, nil
	}
	return nil, "", vfs.ErrNotFound
}

// whereIs finds a name of an object below the directory. fs.ns is held.
func (in *inode) whereIs(what *inode) (*inode, string) {
	for _, e := range in.dir.order {
		switch {
		case e.in == nil:
		case e.in == what:
			return in, e.name
		case e.in.kind == vfs.KindDirectory:
			if dir, name := e.in.whereIs(what); dir != nil {
				return dir, name
			}
		}
	}
	return nil, ""
}
