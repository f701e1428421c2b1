package nfsrdma

import (
	"sync/atomic"

	"fileserver/internal/slab"
	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
)

// call is one call from its arrival to the post of its reply. The
// completion goroutine begins it, its Read chunks are pulled if there are any, and a
// worker runs it (Run). One goroutine at a time uses it.
type call struct {
	c      *Conn
	hdr    header
	recv   *slab.Buf // the message as received
	inline []byte    // the RPC message in it

	// The reply is built in out()[outOff:], which is a reply buffer of the connection,
	// or the call's own buffer, after the data of its Read chunks.
	reply  *replyBuf
	own    *slab.Buf
	outOff int

	chunks  []xdr.Chunk
	limits  []int
	fetched bool         // the Read chunks are here
	pending atomic.Int32 // pulls outstanding, plus one while they are being started
	failed  atomic.Bool  // one of them has failed, and ended the connection

	memory int // bytes that count towards Config.MaxHeld

	rpc rpc.Call
	rep rpc.Reply
}

func (k *call) reset() {
	if k.recv != nil {
		k.recv.Release()
	}
	if k.reply != nil {
		k.c.putReply(k.reply)
	}
	if k.own != nil {
		k.own.Release()
	}
	k.rep.Reset(nil)
	clear(k.chunks)
	k.recv, k.reply, k.own, k.inline = nil, nil, nil, nil
	k.chunks, k.outOff, k.fetched, k.memory = k.chunks[:0], 0, false, 0
	k.failed.Store(false)
}

// drop ends a call that gets no reply.
func (k *call) drop() {
	k.repost()
	k.c.putCall(k)
}

// repost posts the receive again. This must happen before the reply returns the credit.
func (k *call) repost() {
	if buf := k.recv; buf != nil {
		k.recv, k.inline = nil, nil
		_ = k.c.ep.Repost(buf) // an error ends the connection, and Closed says why
	}
}

// ownLen returns the size of the buffer that the call needs for itself, or 0: room for its
// Read chunks, each at a multiple of 8, and for the reply if there is a Reply chunk. One
// buffer holds both, so that no call holds one part while it waits for the other.
func (k *call) ownLen() (chunks, total int) {
	for i := range k.hdr.reads {
		chunks += chunkRoom(&k.hdr.reads[i])
	}
	switch {
	case k.hdr.hasReply:
		return chunks, chunks + k.hdr.replyHeaderLen() + k.maxReplyChunk()
	case len(k.hdr.reads) > 0: // they may be empty
		return chunks, chunks + k.c.inline
	}
	return 0, 0
}

// maxReplyChunk is how much of the Reply chunk is used at most. It is at least the inline
// threshold, so that an inline reply fits the buffer, too.
func (k *call) maxReplyChunk() int { return max(min(int(k.hdr.reply.length), maxReply), k.c.inline) }

// memoryNeeded returns how many bytes of the pool the call may hold: its own buffer,
// and results for its Write chunks. A call without chunks counts as 0.
func (k *call) memoryNeeded() int {
	_, n := k.ownLen()
	if n > 0 {
		n = slab.SizeOf(n)
	}
	for i := range k.hdr.writes {
		n += slab.SizeOf(min(int(k.hdr.writes[i].length), k.c.srv.cfg.MaxMessage))
	}
	return n
}

// begin starts the call on the completion goroutine, or lets it wait until the calls of its connection hold less memory. The bound keeps
// a client that leaves its replies unread from taking everybody's memory.
func (k *call) begin() {
	k.memory = k.memoryNeeded()
	if k.memory == 0 || k.c.budget.Admit(int64(k.memory), k) {
		k.start()
	}
}

// Admitted implements [admission.Waiter].
func (k *call) Admitted() { k.start() }

// start takes the call's memory if it is available at once, and continues with the Read chunks or with a worker,
// which may wait for memory.
func (k *call) start() {
	if _, n := k.ownLen(); n > 0 {
		k.own, _ = k.c.mem.Pool().TryGet(n)
	} else {
		k.reply = k.c.tryReply()
	}
	if k.own != nil && len(k.hdr.reads) > 0 {
		k.fetch()
		return
	}
	k.c.srv.workers.Submit(k)
}

// fetch pulls the Read chunks.
func (k *call) fetch() {
	k.placeChunks()
	k.fetched = true
	k.pending.Store(int32(len(k.hdr.reads)) + 1)
	off := 0
	for i := range k.hdr.reads {
		r := &k.hdr.reads[i]
		if err := k.c.ep.Read(k.own, off, r.segs, k); err != nil {
			k.Completed(err)
		}
		off += chunkRoom(r)
	}
	k.Completed(nil)
}

// chunkRoom is the room, bytes, that a Read chunk takes in the call's buffer.
func chunkRoom(r *readChunk) int { return int(r.length+7) &^ 7 }

// placeChunks assigns each Read chunk its part of the call's buffer, and the rest to the reply.
func (k *call) placeChunks() {
	off := 0
	for i := range k.hdr.reads {
		r := &k.hdr.reads[i]
		k.chunks = append(k.chunks, xdr.Chunk{Pos: r.pos, Data: k.own.Bytes()[off : off+int(r.length)], Buf: k.own})
		off += chunkRoom(r)
	}
	k.outOff = off
}

// message returns the RPC message, which is inline or in the chunk at position zero (RFC 8166 3.5.3), with the other chunks.
func (k *call) message() xdr.Decoder {
	if k.hdr.hasPositionZero() {
		return xdr.NewChunkedDecoder(k.chunks[0].Data, k.own, k.chunks[1:])
	}
	return xdr.NewChunkedDecoder(k.inline, k.recv, k.chunks)
}

// Completed implements rdma.Completion for the pulls of the chunks.
func (k *call) Completed(err error) {
	if err != nil {
		k.failed.Store(true)
	}
	if k.pending.Add(-1) == 0 {
		k.c.srv.workers.Submit(k)
	}
}

// Run implements workers.Task.
func (k *call) Run() {
	c := k.c
	if _, n := k.ownLen(); n > 0 && k.own == nil {
		var err error
		if k.own, err = c.mem.Pool().Get(c.srv.base, n); err != nil {
			k.drop() // the server is going down
			return
		}
	} else if n == 0 && k.reply == nil {
		if k.reply = c.waitReply(); k.reply == nil {
			k.drop()
			return
		}
	}
	if len(k.hdr.reads) > 0 && !k.fetched {
		k.fetch()
		return
	}
	if k.failed.Load() {
		k.drop()
		return
	}
	k.serve()
}

// out returns the buffer in which the reply is built, from outOff on.
func (k *call) out() *slab.Buf {
	if k.own != nil {
		return k.own
	}
	return k.reply.buf
}

// serve executes the call and answers it.
func (k *call) serve() {
	h := &k.hdr
	k.rpc.Message = k.message()
	hl := h.replyHeaderLen()
	k.rpc.Limits.Inline = k.c.inline - hl
	if h.hasReply {
		k.rpc.Limits.Inline = max(k.rpc.Limits.Inline, min(int(h.reply.length), k.maxReplyChunk()))
	}
	k.limits = k.limits[:0]
	for i := range h.writes {
		k.limits = append(k.limits, int(h.writes[i].length))
	}
	k.rpc.Limits.Payloads = k.limits
	out := k.out().Bytes()
	k.rep.Reset(out[k.outOff+hl : len(out) : len(out)])
	if !k.c.srv.cfg.Handler.Serve(k.c.srv.base, &k.rpc, &k.rep) {
		k.c.count.dropped.Add(1)
		k.drop()
		return
	}
	k.answer()
}
