package smb

import (
	"context"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/notify"
)

// named reports whether the request names a stream.
func (c *create) named() bool { return c.path.Stream == namespace.StreamNamed }

// joinStream attaches the open to the stream that the path names, and finds out whether the stream exists.
func (c *create) joinStream(ctx context.Context, o *Open) wire.Status {
	ref, found, err := namespace.FindStream(ctx, o.object(), c.path.Name)
	if err != nil {
		return statusOf(err)
	}
	if !found {
		if !namespace.HasStreams(ctx, o.object()) {
			return c.noStreams()
		}
		ref = namespace.NewStream(c.path.Name)
	}
	s, st := c.r.conn.srv.streams.join(o.key, ref)
	if st != wire.StatusSuccess {
		return st
	}
	c.found = found
	o.stream = &streamFile{srv: c.r.conn.srv, fs: c.share.FS, node: o.object(), s: s}
	o.key, o.dir = s.key, false
	return wire.StatusSuccess
}

// noStreams returns the status of a request for a stream on an object that cannot have streams.
func (c *create) noStreams() wire.Status {
	if c.does(mayCreate) {
		return wire.StatusObjectNameInvalid
	}
	return wire.StatusObjectNameNotFound
}

// mayOpenStream is mayOpen for a stream (MS-FSA 2.1.5.1.2).
func (c *create) mayOpenStream(i *info) wire.Status {
	changes := c.does(newContents) || !c.found
	switch {
	case c.found && c.q.Disposition == wire.FileCreate:
		return wire.StatusObjectNameCollision
	case !c.found && !c.does(mayCreate):
		return wire.StatusObjectNameNotFound
	case changes && c.share.readOnly(), changes && !i.directory() && i.dos&wire.FileAttributeReadonly != 0:
		return wire.StatusAccessDenied
	}
	return wire.StatusSuccess
}

// openStream creates the stream, or replaces its data, as the request says, and opens it. again asks the caller to
// try again.
func (c *create) openStream(ctx context.Context, o *Open) (st wire.Status, again bool) {
	c.action = wire.FileOpened
	var err error
	switch {
	case !c.found:
		c.action = wire.FileCreated
		err = o.stream.create(ctx)
		again = vfs.StatusOf(err) == vfs.ErrExist // another client created it first
	case c.q.Disposition == wire.FileSupersede:
		c.action = wire.FileSuperseded
		err = o.stream.truncate(ctx, 0)
	case c.does(newContents):
		c.action = wire.FileOverwritten
		err = o.stream.truncate(ctx, 0)
	}
	switch {
	case err != nil:
	case c.found:
		if c.action != wire.FileOpened {
			o.changed(ctx, notify.Size|notify.LastWrite)
		}
	default:
		o.streamed(ctx, notify.AddedStream, c.path.Name)
	}
	if err == nil {
		err = o.openData(ctx, c.cred, 0)
	}
	return statusOf(err), again
}

// makeStream creates the stream of a file that was just created for it.
func (c *create) makeStream(ctx context.Context, o *Open) wire.Status {
	st := c.joinStream(ctx, o)
	if st == wire.StatusSuccess && !c.found {
		if err := o.stream.create(ctx); err != nil && vfs.StatusOf(err) != vfs.ErrExist {
			st = statusOf(err)
		}
		o.streamed(ctx, notify.AddedStream, c.path.Name)
	}
	return st
}

// acrossStreams checks share modes between the opens of a file's data and the opens of its streams. Each stream has
// its own share modes, but whoever deletes the file or replaces its data also deletes all its streams. o already has
// its own claim, so that of two simultaneous opens at least one sees the other.
func (c *create) acrossStreams(o *Open, deny lock.Access) (wire.Status, *lock.Recall) {
	srv := c.r.conn.srv
	locks, me := srv.cfg.Locks, o.cacheKey()
	if o.stream != nil {
		if access, _ := locks.Claims(o.link.key); deny&lock.Delete != 0 && access&lock.Delete != 0 {
			return wire.StatusSharingViolation, locks.Recall(o.link.key, me, lock.CacheRead|lock.CacheWrite)
		}
		return wire.StatusSuccess, nil
	}
	deletes := o.granted&wire.Delete != 0 || c.q.Disposition == wire.FileSupersede
	if !deletes && !c.does(newContents) {
		return wire.StatusSuccess, nil
	}
	for _, s := range srv.streams.open(o.link.key) {
		if _, deny := locks.Claims(s.key); deletes && deny&lock.Delete != 0 {
			return wire.StatusSharingViolation, locks.Recall(s.key, me, lock.CacheRead|lock.CacheWrite)
		}
		if c.does(newContents) {
			if rc := locks.Recall(s.key, me, 0); rc != nil {
				return wire.StatusSuccess, rc
			}
		}
	}
	return wire.StatusSuccess, nil
}
