package smb

import (
	"context"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// parent is the directory of the open's name, and the name in it: where a rename is from. The reference is
// the caller's. The share's root has no directory, and cannot be renamed.
func (o *Open) parent(ctx context.Context) (vfs.Node, string, wire.Status) {
	dir, name, _ := o.srv.links.where(o.link, o.share.FS)
	if dir == nil {
		return nil, "", wire.StatusAccessDenied
	}
	n, err := o.share.FS.Resolve(ctx, dir.Handle())
	return n, name, statusOf(err)
}

// moved notes that the open's name has become what obj names, replacing obj.Node if there is one. It may take
// obj.Dir over; obj is released by the caller as ever.
func (o *Open) moved(_ context.Context, obj *namespace.Object) {
	var replaced *lock.FileKey
	if obj.Node != nil {
		k := obj.Node.Identity()
		replaced = &k
	}
	o.srv.links.move(o.link, o.share.FS, obj, replaced)
}

// openBelow reports whether a stream of the open's file is open, or something in its directory or further down: then it cannot be
// renamed (MS-FSA 2.1.5.15.11).
func (o *Open) openBelow() bool {
	return len(o.srv.streams.open(o.link.key)) > 0 || o.dir && o.srv.links.below(o.link, o.share.FS)
}
