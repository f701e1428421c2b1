package smb

import (
	"context"
	"fmt"
	"time"

	"fileserver/internal/slab"
	"fileserver/smb/crypt"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// A response is built in one buffer of the pool. The buffer has room for a transform header in front, so that the
// response can be encrypted in place. The header and the body follow, and then room for padding and the cipher's tag.
// r.out holds the header and body built so far: the Append methods of package wire take it with at = 0.
//
// Before the handler runs there is room for a small body. Commands whose row has ownRoom call room or payload
// instead. Appending beyond the room works, but costs a copy.
const (
	headroom  = 64 // in front of the header; the transform header takes the end of it
	tailroom  = 8 + crypt.TagLen
	smallRoom = 2048 - headroom - wire.HeaderLen - tailroom

	memoryWait = 30 * time.Second // then the connection ends
)

// response is a request's response while it is being built.
type response struct {
	rsp       *slab.Buf
	out       []byte // header and body so far
	tail      int    // bytes of payload that follow out in rsp
	errorData []byte // the data of an error response
	keepBody  bool   // out is the body even though the status is an error
	signer    *crypt.Signer
	sign      bool
	sealed    func([]byte) // called with the complete response, from its header on, before it is sent
}

// body is a response's body as package wire builds it.
type body interface {
	Append(b []byte, at int) []byte
}

// reply appends a body and returns success.
func (r *response) reply(b body) wire.Status {
	r.out = b.Append(r.out, 0)
	return wire.StatusSuccess
}

// replyEmpty appends a body without contents and returns success.
func (r *response) replyEmpty() wire.Status {
	r.out = wire.AppendEmpty(r.out)
	return wire.StatusSuccess
}

// room makes room for a body of n bytes and discards what has been appended.
func (r *request) room(n int) error {
	size := headroom + wire.HeaderLen + n + tailroom
	if r.rsp == nil || r.rsp.Cap() < size {
		if r.rsp != nil {
			r.rsp.Release()
			r.rsp = nil
		}
		b, err := r.conn.memory(size)
		if err != nil {
			return err
		}
		r.rsp = b
	}
	r.rsp.SetLen(r.rsp.Cap())
	m := r.rsp.Bytes()
	r.out = m[headroom : headroom+wire.HeaderLen : len(m)-tailroom]
	r.tail = 0
	return nil
}

// payload makes room for a body with a fixed part of fixed bytes, followed by n bytes of data. It returns the slice
// for the data, so that a READ can read into it. The handler appends the fixed part, and calls setPayload with the
// number of data bytes.
func (r *request) payload(fixed, n int) ([]byte, error) {
	if err := r.room(fixed + n); err != nil {
		return nil, err
	}
	at := headroom + wire.HeaderLen + fixed
	return r.rsp.Bytes()[at : at+n : at+n], nil
}

// setPayload makes the first n bytes of the payload part of the response.
func (r *response) setPayload(n int) { r.tail = n }

// memory takes a buffer from the pool. It waits for one for at most memoryWait.
func (c *Conn) memory(n int) (*slab.Buf, error) {
	if b, ok := c.srv.cfg.Buffers.TryGet(n); ok {
		return b, nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, memoryWait)
	defer cancel()
	b, err := c.srv.cfg.Buffers.Get(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("smb: no memory for a response of %d bytes: %w", n, err)
	}
	return b, nil
}

// hasBody reports whether a response of the status has the command's body rather than an error's (MS-SMB2 3.3.4.4).
func (r *request) hasBody(st wire.Status) bool {
	return !st.Failed() && st != wire.StatusPending || st == wire.StatusBufferOverflow ||
		st == wire.StatusMoreProcessingRequired && r.hdr.Command == wire.CmdSessionSetup || r.keepBody
}

// seal completes the response: body and header. After an error there is no response, and the connection must end.
func (r *request) seal(st wire.Status, credits int) error {
	if r.rsp == nil || !r.hasBody(st) {
		if err := r.room(len(r.errorData)); err != nil {
			return err
		}
		e := wire.ErrorResponse{Data: r.errorData}
		if len(r.errorData) > 0 && r.conn.dialect() == wire.Dialect311 {
			e.ContextCount = 1 // the handler has built the data as an error context
		}
		r.out = e.Append(r.out, 0)
	}
	m := r.rsp.Bytes()
	if &r.out[0] != &m[headroom] { // the response has outgrown its room
		old := r.out
		if err := r.room(len(old) - wire.HeaderLen); err != nil {
			return err
		}
		r.out = append(r.out[:0], old...)
	}
	h := r.hdr
	h.Status, h.Credits, h.Next = st, uint16(credits), 0
	h.Flags = wire.FlagServerToRedir | h.Flags&(wire.FlagRelated|wire.FlagPriorityMask)
	h.Signature = [16]byte{}
	if r.asyncID != 0 {
		h.Flags |= wire.FlagAsyncCommand
		h.AsyncID = r.asyncID
	}
	h.Put(r.out)
	return nil
}

// interim sends the interim response. It is not signed, because no client checks that (MS-SMB2 3.2.5.1.3). It does
// not invalidate the client's memory.
func (r *request) interim(credits int) error {
	c := r.conn
	buf, err := c.memory(headroom + wire.HeaderLen + smallRoom + tailroom)
	if err != nil {
		return err
	}
	h := r.hdr
	h.Status, h.Credits, h.Next = wire.StatusPending, uint16(credits), 0
	h.Flags = wire.FlagServerToRedir | wire.FlagAsyncCommand | h.Flags&(wire.FlagRelated|wire.FlagPriorityMask)
	h.Signature, h.AsyncID = [16]byte{}, r.asyncID
	m := buf.Bytes()
	b := h.Append(m[headroom:headroom])
	b = (&wire.ErrorResponse{}).Append(b, 0)
	return c.sendOne(buf, len(b), r.compound.sealed)
}

// sendOne sends a message of n bytes that begins at headroom in buf. If sealed is not nil, the message is encrypted
// with that session's key. sendOne takes over buf.
func (c *Conn) sendOne(buf *slab.Buf, n int, sealed *Session) error {
	piece := transport.Piece{Buf: buf, Off: headroom, Len: n}
	if sealed != nil {
		if err := sealed.seal(buf, n); err != nil {
			buf.Release()
			return err
		}
		piece.Off -= crypt.TransformLen
		piece.Len += crypt.TransformLen
	}
	o := transport.Outgoing{Pieces: []transport.Piece{piece}}
	return c.t.Send(&o)
}
