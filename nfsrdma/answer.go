package nfsrdma

import (
	"fmt"

	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/rdma"
)

// answer posts the reply: results with a place in the client's memory by
// WRITEs, the rest inline or into the Reply chunk, and one SEND.
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
		err = fmt.Errorf("a reply of %d bytes, room for %d inline", rest, c.inline-hl)
	}
	op.Discard()
	k.refuse(err)
}

// place assigns results to the client's Write chunks, in order (RFC 8166 4.3.2,
// RFC 8267 2.2), and returns how long the rest of the message is. Afterwards
// the Placeable payloads are those that are placed: the n-th in the n-th chunk.
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
			return 0, fmt.Errorf("a result of %d bytes for a Write chunk of %d", p.Len, w.length)
		}
		w.written = uint32(p.Len)
		placed++
	}
	return rest, nil
}

// writePlaced appends the WRITEs of the placed results. An error is kept in op.
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

// bringBack makes Head lie where it was begun, and reports whether it fits. A
// directory listing that appends one entry too many, and takes it back, has
// moved it and fits.
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

// inPlace reports whether Head still lies where it was begun: a program that
// appended more than there is room for has moved it.
func (k *call) inPlace(hl int) bool {
	out := k.out().Bytes()
	at := k.outOff + hl
	return len(k.rep.Head) == 0 || at < len(out) && &k.rep.Head[0] == &out[at]
}

// pullUp puts the payloads that are not placed into the stream: it is short.
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

// writeReply writes the message into the Reply chunk, its pieces gathered: Head
// lies in the call's buffer, payloads in theirs, and pads are taken from the header, whose
// empty Read list is a word of zeros.
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

// send completes the chain with the SEND of n bytes of the buffer and posts it.
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

// refuse answers a call with an RDMA_ERROR: the header, or the reply's size, is not one that can be served.
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
	if c.count.errVers.Load()+c.count.errChunk.Load() == 1 { // the first of a connection tells the story
		level = c.srv.cfg.Logger.Warn
	}
	level("nfsrdma: call refused", "remote", c.info.RemoteAddr, "xid", k.hdr.xid, "reason", err)
	op := c.ep.NewSendOp()
	op.SendFrom(out.Retain(), k.outOff, len(b))
	k.post(op)
}

// post hands the chain to the endpoint. The call is taken back when it has completed.
func (k *call) post(op *rdma.SendOp) {
	c := k.c
	op.OnDone((*sent)(k))
	k.repost()
	c.count.calls.Add(1)
	xid := k.hdr.xid
	if err := c.ep.Queue(op); err != nil {
		// The connection has ended, or a result could not be named. Queue has
		// released the chain's references, and told nobody.
		c.srv.cfg.Logger.Debug("nfsrdma: reply not sent", "remote", c.info.RemoteAddr, "xid", xid, "reason", err)
		c.ep.Disconnect(err) // a call without a reply would never be asked again
		c.putCall(k)
	}
}

// sent is a call whose reply is under way.
type sent call

// Completed implements rdma.Completion: the reply is out, and its buffers are free.
func (s *sent) Completed(error) { s.c.putCall((*call)(s)) }
