package smb

import (
	"context"
	"sync"
	"sync/atomic"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
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
	tree    *Tree
	node    vfs.Node
	file    vfs.File // of regular files, if data may be read or written; otherwise nil
	dir     bool
	granted wire.AccessMask    // generic rights mapped
	options wire.CreateOptions // as requested
	key     lock.FileKey
	refs    atomic.Int32

	mu    sync.Mutex
	name  string     // in the share, elements separated by "/", "" for its root; as it is in the file system
	claim *lock.Open // share modes; nil where there are none
}

// newOpen makes an open with one reference, the caller's.
func newOpen(t *Tree, n vfs.Node) *Open {
	o := &Open{session: t.session, tree: t, node: n, dir: n.Kind() == vfs.KindDirectory}
	o.key = lock.FileKey{FS: t.share.FS.Caps().FSID, H: n.Handle()}
	o.refs.Store(1)
	return o
}

// end gives up what the open claims. It is called once, with the open out of its session, by CLOSE, or because tree,
// session or connection have ended; it gives back the session's reference.
func (o *Open) end(ctx context.Context) {
	o.mu.Lock()
	claim := o.claim
	o.claim = nil
	o.mu.Unlock()
	if claim != nil {
		claim.Close()
	}
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
	o.node.Release()
}
