package smb

import (
	"context"
	"sync"
	"time"

	"fileserver/internal/slab"
	"fileserver/smb/crypt"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// A handler that has to wait for something other than the client's memory (see
// request.pull) does, in this order:
//
//  1. st := r.goAsync(cancel); if st is not STATUS_PENDING it returns st.
//     The client has got its interim response then. It may be left out
//     where the wait is short, but the request cannot be cancelled then.
//  2. It starts the wait. Whoever ends it calls r.resume(then), once.
//  3. It returns statusParked, without touching r again.
//
// then runs on a worker, and its result is the request's status (or statusParked again). cancel is called at
// most once, from any goroutine and without locks, also when the request has just
// been resumed: it ends the wait, if there is still one, so that then returns the status it was given. It
// is told STATUS_CANCELLED for a CANCEL or the end of the connection. As it may come late
// it must not touch r.
const maxAsync = 512 // requests of a connection that wait (MS-SMB2 3.3.1.2, appendix A)

// goAsync makes the request asynchronous: the client is told, and can cancel it (MS-SMB2 3.3.4.2).
func (r *request) goAsync(cancel func(wire.Status)) wire.Status {
	c := r.conn
	c.mu.Lock()
	switch {
	case r.cancelled || c.closed:
		c.mu.Unlock()
		return wire.StatusCancelled
	case r.asyncID != 0:
		r.cancel = cancel
		c.mu.Unlock()
		return wire.StatusPending
	case c.asyncs >= maxAsync:
		c.mu.Unlock()
		return wire.StatusInsufficientResources
	}
	c.asyncs++
	c.lastAsync++
	r.asyncID, r.cancel = c.lastAsync, cancel
	credits := c.grant(r)
	c.mu.Unlock()
	r.chain.flush()
	if err := r.interim(credits); err != nil {
		c.drop(err)
	}
	return wire.StatusPending
}

// interim sends the interim response. It is not signed, as nobody checks that (MS-SMB2 3.2.5.1.3), and does not end the
// life of the client's memory.
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
	return c.sendOne(buf, len(b), r.chain.sealed)
}

// resume goes on with a parked request.
func (r *request) resume(then func(context.Context, *request) wire.Status) {
	r.then = then
	r.conn.srv.workers.Submit(r.chain)
}

// sendOne sends a message of n bytes that lies in buf at headroom, encrypted with the session's key if there is one. It takes over buf.
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

// opCancel handles CANCEL, which has no response (MS-SMB2 3.3.5.16).
func opCancel(_ context.Context, r *request) wire.Status {
	c := r.conn
	c.mu.Lock()
	var cancel func(wire.Status)
	for o := c.first; o != nil; o = o.next {
		found := o.hdr.MessageID == r.hdr.MessageID
		if r.hdr.Flags&wire.FlagAsyncCommand != 0 {
			found = o.asyncID != 0 && o.asyncID == r.hdr.AsyncID
		}
		if found && o.hdr.SessionID == r.hdr.SessionID {
			o.cancelled = true
			cancel, o.cancel = o.cancel, nil
			break
		}
	}
	c.mu.Unlock()
	if cancel != nil {
		cancel(wire.StatusCancelled)
	}
	return statusSilent
}

// sleep holds the response back, without telling the client, but not longer than the connection lasts.
func (r *request) sleep(d time.Duration, st wire.Status) wire.Status {
	c := r.conn
	var once sync.Once
	wake := func() { once.Do(func() { r.resume(func(context.Context, *request) wire.Status { return st }) }) }
	c.mu.Lock()
	if c.closed || r.cancelled {
		c.mu.Unlock()
		return st
	}
	timer := time.AfterFunc(d, wake)
	r.cancel = func(wire.Status) {
		if timer.Stop() {
			wake()
		}
	}
	c.mu.Unlock()
	return statusParked
}
