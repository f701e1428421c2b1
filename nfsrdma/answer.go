package nfsrdma

import (
	"fmt"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/rdma"
)

// answer posts the reply: WRITEs for the results that go into the client's Write
// chunks, the rest inline or into the Reply chunk, and one SEND.
func (k *call) answer() {
	h, c := &k.hdr, k.c
	op := c.ep.NewSendOp()
	rest, err := k.place()
	hl := h.replyHeaderLen()
	switch {
	case err != nil:
	case hl+rest <= c.inline:
		k.pullUp(hl)
		k.writePlaced(op)
		k.send(op, procMsg, hl+len(k.rep.Head))
		return
	case h.hasReply && rest <= int(h.reply.length) && k.bringBack(hl):
		h.reply.written = uint32(rest)
		k.writeReply(op, hl)
		k.send(op, procNoMsg, hl)
		return
	default:
		err = fmt.Errorf("the reply has %d bytes, there is room for %d inline", rest, c.inline-hl)
	}
	op.Discard()
	k.refuse(err)
}

// place assigns results to the client's Write chunks, in order (RFC 8166 4.3.2,
// RFC 8267 2.2), and returns the length of the rest of the message. Afterwards
// Placeable is true for the placed payloads only: the n-th of them goes into the n-th chunk.
func (k *call) place() (rest int, err error) {
	h := &k.hdr
	placed := 0
	rest = len(k.rep.Head)
	for i := range k.rep.Payloads {
		p := &k.rep.Payloads[i]
		if !p.Placeable || placed == len(h.writes) {
			p.Placeable = false
			rest += p.Len + xdr.Pad(p.Len)
			continue
		}
		w := &h.writes[placed]
		if p.Len > int(w.length) {
			return 0, fmt.Errorf("the result has %d bytes, its Write chunk %d", p.Len, w.length)
		}
		w.written = uint32(p.Len)
		placed++
	}
	return rest, nil
}

// writePlaced appends the WRITEs of the placed results. op keeps the first error.
func (k *call) writePlaced(op *rdma.SendOp) {
	placed := 0
	for i := range k.rep.Payloads {
		p := &k.rep.Payloads[i]
		if !p.Placeable {
			continue
		}
		if p.Len > 0 {
			_ = op.Write(p.Buf.Retain(), p.Off, p.Len, k.hdr.writes[placed].segs)
		}
		placed++
	}
}

// bringBack moves Head back to where it began, and reports whether it fits there. A
// directory listing that appends one entry too many and removes it has moved Head,
// and fits.
func (k *call) bringBack(hl int) bool {
	if k.inPlace(hl) {
		return true
	}
	out := k.out().Bytes()[k.outOff+hl:]
	if len(k.rep.Head) > len(out) {
		return false
	}
	k.rep.Head = append(out[:0], k.rep.Head...)
	return true
}

// inPlace reports whether Head still lies where it began. Appending more than there
// is room for moves it.
func (k *call) inPlace(hl int) bool {
	out := k.out().Bytes()
	at := k.outOff + hl
	return len(k.rep.Head) == 0 || at < len(out) && &k.rep.Head[0] == &out[at]
}

// pullUp copies the payloads that are not placed into the inline message, which is short.
func (k *call) pullUp(hl int) {
	out := k.out().Bytes()[k.outOff+hl:]
	if !k.inPlace(hl) {
		k.rep.Head = append(out[:0], k.rep.Head...)
	}
	n := len(k.rep.Head)
	for i := len(k.rep.Payloads) - 1; i >= 0; i-- {
		p := &k.rep.Payloads[i]
		if p.Placeable {
			continue
		}
		size := p.Len + xdr.Pad(p.Len)
		copy(out[p.Pos+size:n+size], out[p.Pos:n])
		xdr.AppendFixed(out[p.Pos:p.Pos], p.Bytes())
		n += size
	}
	k.rep.Head = out[:n]
}

// writeReply appends the WRITEs of the message into the Reply chunk. They gather Head from
// the call's buffer, payloads from theirs, and padding from the header, whose empty
// Read list is a word of zeros.
func (k *call) writeReply(op *rdma.SendOp, hl int) {
	buf := k.out()
	started := false
	write := func(p rpc.Payload) {
		if p.Len == 0 {
			return
		}
		p.Buf.Retain()
		if started {
			_ = op.WriteNext(p.Buf, p.Off, p.Len)
			return
		}
		started = true
		_ = op.Write(p.Buf, p.Off, p.Len, k.hdr.reply.segs)
	}
	at := 0
	for i := range k.rep.Payloads {
		p := k.rep.Payloads[i]
		if p.Placeable {
			continue
		}
		write(rpc.Payload{Buf: buf, Off: k.outOff + hl + at, Len: p.Pos - at})
		write(p)
		write(rpc.Payload{Buf: buf, Off: k.outOff + fixedHeader, Len: xdr.Pad(p.Len)})
		at = p.Pos
	}
	write(rpc.Payload{Buf: buf, Off: k.outOff + hl + at, Len: len(k.rep.Head) - at})
	k.writePlaced(op)
}

// send appends the SEND of the buffer's first n bytes and posts the chain.
func (k *call) send(op *rdma.SendOp, proc uint32, n int) {
	c, h := k.c, &k.hdr
	out := k.out()
	h.appendReply(out.Bytes()[k.outOff:k.outOff], c.credits(), proc)
	op.SendFrom(out.Retain(), k.outOff, n)
	if c.inv && h.keys == 1 {
		op.Invalidate(h.key)
		c.count.invalidates.Add(1)
	}
	k.post(op)
}

// refuse answers a call with an RDMA_ERROR: its header is invalid, or its reply does not fit.
func (k *call) refuse(err error) {
	c := k.c
	if k.own == nil && k.reply == nil {
		if k.reply = c.tryReply(); k.reply == nil {
			c.ep.Disconnect(fmt.Errorf("no memory to refuse a call (%w)", err))
			k.drop()
			return
		}
	}
	out := k.out()
	b := out.Bytes()[k.outOff:k.outOff]
	if err == errVersion {
		c.count.errVers.Add(1)
		b = appendErrVers(b, k.hdr.xid, c.credits())
	} else {
		c.count.errChunk.Add(1)
		b = appendErrChunk(b, k.hdr.xid, c.credits())
	}
	level := c.srv.cfg.Logger.Debug
	if c.count.errVers.Load()+c.count.errChunk.Load() == 1 { // the first refusal of a connection is worth a warning
		level = c.srv.cfg.Logger.Warn
	}
	level("nfsrdma: call refused", "remote", c.info.RemoteAddr, "xid", k.hdr.xid, "reason", err)
	op := c.ep.NewSendOp()
	op.SendFrom(out.Retain(), k.outOff, len(b))
	k.post(op)
}

// post posts the chain. The call is free again when the chain has completed.
func (k *call) post(op *rdma.SendOp) {
	c := k.c
	op.OnDone((*sent)(k))
	k.repost()
	c.count.calls.Add(1)
	xid := k.hdr.xid
	if err := c.ep.Queue(op); err != nil {
		// The connection has ended, or a result's buffer is not registered. Queue has
		// released the chain's references; Completed is not called.
		c.srv.cfg.Logger.Debug("nfsrdma: reply not sent", "remote", c.info.RemoteAddr, "xid", xid, "reason", err)
		c.ep.Disconnect(err) // the client repeats the call only on another connection
		c.putCall(k)
	}
}

// sent is a call whose reply has been posted.
type sent call

// Completed implements rdma.Completion: the reply's buffers are free.
func (s *sent) Completed(error) { s.c.putCall((*call)(s)) }
