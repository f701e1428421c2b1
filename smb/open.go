package smb

import (
	"context"
	"sync"
	"sync/atomic"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// Open is an open (MS-SMB2 3.3.1.10). Its life:
//
//   - made: newOpen, with one reference, which is its CREATE's;
//   - published: Session.publish gives it its ID, and a second reference, which is the session's.
//     Every request that uses it has one more;
//   - ended: whoever takes it out of the session (Session.take) calls end, which gives up all that
//     the open claims and the session's reference. Requests that use it go on;
//   - released: the last reference closes its file and lets go of its node.
//
// A CREATE that fails ends its open without having published it.
//
// The first fields do not change after the open has been published. Each of the others has a type
// that says what guards it.
type Open struct {
	id      wire.FileID
	srv     *Server
	share   *Share
	home    home
	cred    *vfs.Cred          // who has made it, and acts by it, whoever the session is now
	file    vfs.File           // of regular files and streams, if data may be read or written; otherwise nil
	stream  *streamFile        // of named streams
	dir     bool               // a directory, not a stream of one
	granted wire.AccessMask    // generic rights mapped
	options wire.CreateOptions // as requested
	posix   bool               // the client uses the POSIX extensions with it
	deletes bool               // FILE_DELETE_ON_CLOSE: closing it deletes, see disposition
	key     lock.FileKey       // of the file, or of the stream
	link    *link              // its name, which is shared by all opens of it
	serial  uint64             // tells opens apart
	claim   *lock.Open         // share modes; nil: it has none

	refs  atomic.Int32
	ended atomic.Bool // it claims nothing any more
	about object

	sequence sequence
	ranges   ranges
	search   search  // of a directory
	changes  changes // of a directory
	// position is CurrentByteOffset of FilePositionInformation, bytes: as set (MS-FSA 2.1.5.15.10), or where the last READ or WRITE ended.
	position atomic.Uint64
	// keeps are the times that its changes leave as they are; nil: none.
	keeps atomic.Pointer[keepsTimes]
	// writeThrough is set if FileModeInformation has asked for it.
	writeThrough atomic.Bool
	// eaIndex is where the next QUERY_INFO of FileFullEaInformation goes on.
	eaIndex atomic.Uint32
	levelII atomic.Bool // the oplock is one of level II

	mu     sync.Mutex
	oplock oplock
}

// home is what an open belongs to while its client is connected. What does not depend on that uses the open's
// srv and share.
type home struct {
	session *Session
	tree    *Tree
	conn    *Conn // it was made on
}

// newOpen makes an open for a CREATE, with one reference, the caller's. It takes over the reference to the node. The caller ends it if it
// cannot be published.
func newOpen(r *request, n vfs.Node, k *link) *Open {
	t := r.tree
	o := &Open{srv: r.conn.srv, share: t.share, home: home{t.session, t, r.conn}, cred: &t.session.who().Cred, link: k, key: k.key}
	o.dir = n.Kind() == vfs.KindDirectory
	o.serial = o.srv.lastOpen.Add(1)
	o.about.first = n
	o.sequence.start(r.hdr.ChannelSequence())
	o.refs.Store(1)
	return o
}

// end gives up what the open claims: byte-range locks, changes to be told, its stream and its name, which are deleted if that is due, share
// modes and oplock, in this order. Then it gives a reference back: the session's, or that of a CREATE that has failed. Only the first
// call does something.
func (o *Open) end(ctx context.Context) {
	if o.ended.Swap(true) {
		return
	}
	o.unlockAll()
	if o.dir {
		o.changes.close()
	}
	o.leave(ctx)
	if o.claim != nil {
		o.claim.Close()
	}
	o.endOplock()
	o.release()
}

// release gives a reference back. The last one closes the file and lets go of the node.
func (o *Open) release() {
	if o.refs.Add(-1) > 0 {
		return
	}
	if o.file != nil {
		if err := o.file.Close(); err != nil {
			o.srv.cfg.Logger.Warn("smb: closing a file", "share", o.share.Name, "err", err)
		}
	}
	o.about.release()
}
