package nfs

import (
	"context"

	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/notify"
)

// Changes reports what NFS clients do with a file system to the clients of other protocols that watch it. Every report
// follows its change. A report costs next to nothing while nobody watches.
type Changes struct {
	hub *notify.Hub // nil: nobody watches
	fs  vfs.FS
}

// ChangesOf returns the reporter of changes of a file system. Without an arbiter it reports to nobody.
func ChangesOf(m *lock.Manager, fs vfs.FS) Changes {
	if m == nil || !m.Changes.Active() {
		return Changes{}
	}
	return Changes{&m.Changes, fs}
}

// Named is what a name stood for before a change of it.
type Named struct {
	there bool
	kind  vfs.Kind
	id    vfs.Identity
}

// Named looks up a name that is about to be removed, renamed or replaced.
func (c Changes) Named(ctx context.Context, dir vfs.Node, name string) (x Named) {
	if c.hub == nil {
		return x
	}
	n, err := dir.Lookup(ctx, &vfs.Cred{}, name)
	if err != nil {
		return x
	}
	defer n.Release()
	return Named{true, n.Kind(), n.Identity()}
}

// Added reports a new name.
func (c Changes) Added(ctx context.Context, dir vfs.Node, name string, k vfs.Kind) {
	if c.hub != nil {
		c.hub.Report(ctx, c.fs, notify.Change{Dir: dir, Name: name, Action: notify.Added, What: notify.NameOf(k)})
	}
}

// Removed reports that a name is gone.
func (c Changes) Removed(ctx context.Context, dir vfs.Node, name string, was Named) {
	if c.hub == nil {
		return
	}
	c.hub.Report(ctx, c.fs, notify.Change{Dir: dir, Name: name, Action: notify.Removed, What: notify.NameOf(was.kind)})
	if was.kind == vfs.KindDirectory {
		c.hub.Deleted(was.id)
	}
}

// Renamed reports that a name has become another. replaced is what the new name stood for before.
func (c Changes) Renamed(ctx context.Context, dir vfs.Node, name string, was Named, to vfs.Node, as string, replaced Named) {
	if c.hub == nil || was.id == replaced.id { // two names of one file stay as they are
		return
	}
	if replaced.there {
		c.Removed(ctx, to, as, replaced)
	}
	what := notify.NameOf(was.kind)
	from := notify.Change{Dir: dir, Name: name, Action: notify.RenamedOld, What: what}
	next := notify.Change{Dir: to, Name: as, Action: notify.RenamedNew, What: what}
	if dir.Identity() != to.Identity() {
		from.Action, next.Action = notify.Removed, notify.Added
	}
	if was.kind != vfs.KindDirectory {
		next.Else = notify.Attributes | notify.Creation
	}
	c.hub.Report(ctx, c.fs, from, next)
}

// Set reports that attributes have been set.
func (c Changes) Set(ctx context.Context, n vfs.Node, m vfs.AttrMask) {
	if c.hub != nil {
		c.hub.Changed(ctx, c.fs, n, notify.Set(m))
	}
}

// Written reports that data has been written, or reserved.
func (c Changes) Written(ctx context.Context, n vfs.Node) {
	if c.hub != nil {
		c.hub.Changed(ctx, c.fs, n, notify.Size|notify.LastWrite)
	}
}

// Xattrs reports that extended attributes have been set or removed.
func (c Changes) Xattrs(ctx context.Context, n vfs.Node) {
	if c.hub != nil {
		c.hub.Changed(ctx, c.fs, n, notify.Xattrs)
	}
}
