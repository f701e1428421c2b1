package smb

import (
	"context"
	"sync"
	"sync/atomic"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/notify"
)

// Open is an open (MS-SMB2 3.3.1.10). CREATE makes it whole and publishes it last
// (Session.publish); what is above mu does not change from then on.
//
// It has a reference for its session while it is published, and one per request that
// uses it. Taking it out of the session (Session.take) and calling end gives up its claims at
// once; node and file are let go of with the last reference, so that a request never finds them closed.
type Open struct {
	id      wire.FileID
	session *Session
	cred    *vfs.Cred // who has made it, and acts by it, whoever the session is now
	tree    *Tree
	node    vfs.Node
	file    vfs.File           // of regular files and streams, if data may be read or written; otherwise nil
	stream  *streamFile        // of named streams
	dir     bool               // and not a stream of one
	granted wire.AccessMask    // generic rights mapped
	options wire.CreateOptions // as requested
	key     lock.FileKey       // of the file, or of the stream
	conn    *Conn              // it was made on
	link    *link              // its name, which is shared by all opens of it
	serial  uint64             // tells opens apart
	claim   *lock.Open         // share modes; nil where there are none
	// deleteOnClose: FILE_DELETE_ON_CLOSE was asked for.
	deleteOnClose bool
	ended         atomic.Bool // it claims nothing any more
	refs          atomic.Int32
	openState

	levelII  atomic.Bool // the oplock is one of level II
	sequence sequence

	mu     sync.Mutex
	oplock oplock
}

// newOpen makes an open for a CREATE, with one reference, the caller's. Whatever becomes of it, it is ended.
func newOpen(r *request, n vfs.Node, k *link) *Open {
	t := r.tree
	o := &Open{session: t.session, cred: &t.session.who().Cred, tree: t, node: n, dir: n.Kind() == vfs.KindDirectory, conn: r.conn, link: k, key: k.key}
	o.serial = r.conn.srv.lastOpen.Add(1)
	o.sequence.start(r.hdr.ChannelSequence())
	o.refs.Store(1)
	return o
}

// end gives up what the open claims. It is called once, with the open out of its session, by CLOSE, or because tree,
// session or connection have ended; it gives back the session's reference.
func (o *Open) end(ctx context.Context) {
	o.ended.Store(true)
	o.endState()
	path := o.path()
	var del *vfs.Cred
	named := o.named()
	if o.deleteOnClose && !named {
		del = o.cred
	}
	if o.stream != nil {
		deleted, err := o.session.srv.streams.leave(ctx, o.stream.s, o.node, o.deleteOnClose && named)
		if deleted {
			ref, _ := o.session.srv.streams.where(o.stream.s)
			o.streamed(ctx, notify.RemovedStream, ref.Name)
		}
		if err != nil {
			o.session.srv.cfg.Logger.Info("smb: stream not deleted on close", "share", o.tree.share.Name, "path", path, "err", err)
		}
	}
	if err := o.session.srv.links.leave(ctx, o.link, o.tree.share.FS, del); err != nil {
		o.session.srv.cfg.Logger.Info("smb: not deleted on close", "share", o.tree.share.Name, "path", path, "err", err)
	}
	if o.claim != nil {
		o.claim.Close()
	}
	o.endOplock()
	o.release()
}

// release gives a reference back.
func (o *Open) release() {
	if o.refs.Add(-1) > 0 {
		return
	}
	if o.file != nil {
		if err := o.file.Close(); err != nil {
			o.session.srv.cfg.Logger.Warn("smb: closing a file", "share", o.tree.share.Name, "err", err)
		}
	}
	o.releaseState()
	o.node.Release()
}
