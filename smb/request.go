package smb

import (
	"time"

	"fileserver/internal/slab"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// request is one request of a message, with its response. It belongs to its compound, which uses it again: nobody may
// keep it after the response.
type request struct {
	compound *compound
	conn     *Conn
	hdr      wire.Header // the request's header; TreeID and SessionID are resolved, and go into the response
	msg      []byte      // the request from its header on
	start    time.Time

	// What the message asks for, parsed as it arrived.
	row   *command // nil: there is no such command
	op    operation
	needs needs
	bad   wire.Status  // the status to refuse the request with, or success
	read  readRequest  // op points here if it is a READ
	write writeRequest // or here if it is a WRITE, so that neither allocates

	stage   stage
	wait    *wait // the wait that has begun, or ended; nil: the request runs
	ownWait wait  // used for waits that do not outlast the request

	// What the header names, if the command's row says that it is needed.
	session *Session
	channel *channel
	tree    *Tree
	early   *Open // found as the message arrived
	open    *Open // found by file, or created by CREATE; released with the response
	counted *Open // the open that counts this request in its sequence

	held int64 // bytes that the request was admitted for
	response
	clientMemory
	outstanding
}

// outstanding is what a connection knows about a request that has no response yet. Conn.mu guards it.
type outstanding struct {
	prev, next  *request
	asyncID     uint64 // 0: synchronous
	cancellable *wait  // the wait that CANCEL ends
	cancelled   bool
}

// cred returns the identity that the request runs with.
func (r *request) cred() *vfs.Cred { return &r.session.who().Cred }

// related reports whether the request refers to the session, tree and open of the previous request in the message
// (MS-SMB2 3.3.5.2.7.2).
func (r *request) related() bool { return r.hdr.Flags&wire.FlagRelated != 0 }

// last reports whether the request is the last of its message.
func (r *request) last() bool { return r.compound.at == len(r.compound.reqs)-1 }

// encrypted reports whether the request came encrypted.
func (r *request) encrypted() bool { return r.compound.sealed != nil }

// file finds the open with the ID, for this request and those related to it.
func (r *request) file(id wire.FileID) (*Open, wire.Status) {
	if id == wire.AnyFile && r.related() {
		if st := r.compound.fileStatus; st != wire.StatusSuccess {
			return nil, st
		}
		id = r.compound.fileID
	}
	o := r.opened(id)
	if o == nil || o.home.tree != r.tree {
		if o != nil {
			o.release()
		}
		return nil, wire.StatusFileClosed
	}
	if st := r.inSequence(o); st != wire.StatusSuccess {
		o.release()
		return nil, st
	}
	if r.open != nil {
		r.open.release()
	}
	r.open = o
	r.compound.fileID, r.compound.fileStatus = id, wire.StatusSuccess
	return o, wire.StatusSuccess
}

// releaser is an operation with resources of its own, which are released when the request is over.
type releaser interface{ release() }

// reset releases what the request holds and prepares it for its next use.
func (r *request) reset() {
	if r.held > 0 {
		r.conn.budget.Give(r.held)
	}
	if r.counted != nil {
		r.counted.sequence.end(r.hdr.ChannelSequence())
	}
	if x, ok := r.op.(releaser); ok {
		x.release()
	}
	for _, o := range [...]*Open{r.open, r.early} {
		if o != nil {
			o.release()
		}
	}
	for _, b := range [...]*slab.Buf{r.rsp, r.data, r.place.Buf} {
		if b != nil {
			b.Release()
		}
	}
	clear(r.into)
	*r = request{clientMemory: clientMemory{into: r.into[:0]}}
}
