package smb

import (
	"time"

	"fileserver/internal/slab"
	"fileserver/smb/crypt"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// request is one request of a message, and its response. It is its compound's, and
// used again: nobody keeps it beyond the response.
type request struct {
	compound *compound
	conn     *Conn
	hdr      wire.Header // of the request; TreeID and SessionID are resolved, and are the response's
	msg      []byte      // the request from its header on
	start    time.Time

	// What the message asks for, parsed as it arrived.
	row   *command // nil: there is no such command
	op    operation
	needs needs
	bad   wire.Status  // what is wrong with it
	read  readRequest  // where op is, if it is a READ
	write writeRequest // or a WRITE: these take no memory

	stage   stage
	wait    *wait // that has begun, or ended; nil: it runs
	ownWait wait  // of those that do not outlast the request

	// What the header names, if the command's row says that it is needed.
	session *Session
	channel *channel
	tree    *Tree
	early   *Open       // found as the message arrived
	notify  *changeWait // a CHANGE_NOTIFY's, in the queue of the open it is for
	open    *Open       // found by file, or made by CREATE; given back with the response
	counted *Open       // whose requests this is one of

	// The response: see response.go.
	rsp       *slab.Buf
	out       []byte
	tail      int    // bytes of payload that follow out in rsp
	errorData []byte // of an error response
	keepBody  bool   // out is the body even though the status is an error
	signer    *crypt.Signer
	sign      bool
	sealed    func([]byte) // is told of the response, from its header on, before it is signed and sent
	held      int64        // bytes that it has been admitted for

	// The client's memory, of READ and WRITE.
	into     []transport.Descriptor // storage is kept
	token    uint32                 // to be invalidated with the response
	hasToken bool
	place    transport.Piece // to be placed there
	data     *slab.Buf       // what has been pulled from there

	// Guarded by Conn.mu.
	prev, next  *request // in the list of outstanding requests
	asyncID     uint64   // 0: synchronous
	cancellable *wait    // that CANCEL ends
	cancelled   bool
}

// cred is the identity on whose behalf the request is made.
func (r *request) cred() *vfs.Cred { return &r.session.who().Cred }

// related reports whether the request goes on with what the one before in the message is about (MS-SMB2 3.3.5.2.7.2).
func (r *request) related() bool { return r.hdr.Flags&wire.FlagRelated != 0 }

// last reports whether nothing follows the request in its message.
func (r *request) last() bool { return r.compound.at == len(r.compound.reqs)-1 }

// encrypted reports whether the request came encrypted.
func (r *request) encrypted() bool { return r.compound.sealed != nil }

// file finds the open that id names, for this request and those that are related to it.
func (r *request) file(id wire.FileID) (*Open, wire.Status) {
	if id == wire.AnyFile && r.related() {
		if st := r.compound.fileStatus; st != wire.StatusSuccess {
			return nil, st
		}
		id = r.compound.fileID
	}
	o := r.opened(id)
	if o == nil || o.tree != r.tree {
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

// remoteMemory checks channel and channel info of a READ or WRITE and finds the client's memory in them: r.into. Without RDMA
// that is empty (MS-SMB2 3.3.5.12, 3.3.5.13).
func (r *request) remoteMemory() wire.Status {
	r.into = r.into[:0]
	ch, d := r.needs.channel, r.conn.dialect()
	switch {
	case d < wire.Dialect300 || ch == wire.ChannelNone:
		return wire.StatusSuccess
	case r.conn.placer == nil || !ch.RDMA() || ch == wire.ChannelRDMATransform:
		return wire.StatusInvalidParameter
	case ch == wire.ChannelRDMAV1Invalidate && d < wire.Dialect302:
		return wire.StatusInvalidParameter
	case r.encrypted():
		return wire.StatusAccessDenied // the data would travel in the clear
	}
	list, err := wire.ParseDescriptors(r.needs.info)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	for i := range list.Len() {
		var t transport.Descriptor
		t.Offset, t.Token, t.Length = list.At(i)
		r.into = append(r.into, t)
	}
	return wire.StatusSuccess
}

// noteToken finds the token that the response has to invalidate (MS-SMB2 3.3.4.1): before
// anything can fail, because every final response does.
func (r *request) noteToken() {
	if r.needs.channel != wire.ChannelRDMAV1Invalidate || r.conn.placer == nil || r.conn.dialect() < wire.Dialect302 {
		return
	}
	if list, err := wire.ParseDescriptors(r.needs.info); err == nil {
		_, r.token, _ = list.At(0)
		r.hasToken = true
	}
}

// pull has n bytes of the client's memory, r.into, be read into r.data, and waits for them.
func (r *request) pull(n int) wire.Status {
	var err error
	if r.data, err = r.conn.memory(n); err != nil {
		return statusDrop
	}
	r.beginWait()
	if err := r.conn.placer.Read(r.data, 0, n, r.into, r); err != nil {
		r.conn.log.Debug("smb: RDMA READ refused", "err", err)
		r.wait = nil
		return wire.StatusInvalidParameter
	}
	return statusParked
}

// Completed implements [transport.Completion] for pull.
func (r *request) Completed(err error) {
	st := wire.StatusSuccess
	if err != nil {
		r.conn.log.Debug("smb: RDMA READ failed", "err", err)
		st = wire.StatusInvalidParameter
	}
	r.ownWait.end(st)
}

// reset gives back what the request holds and makes it ready for its next use.
func (r *request) reset() {
	if r.held > 0 {
		r.conn.budget.Give(r.held)
	}
	if r.counted != nil {
		r.counted.sequence.end(r.hdr.ChannelSequence())
	}
	r.abandon()
	for _, o := range []*Open{r.open, r.early} {
		if o != nil {
			o.release()
		}
	}
	for _, b := range []*slab.Buf{r.rsp, r.data, r.place.Buf} {
		if b != nil {
			b.Release()
		}
	}
	clear(r.into)
	*r = request{into: r.into[:0]}
}
