package smb

import (
	"encoding/binary"
	"errors"
	"fmt"

	"fileserver/internal/slab"
	"fileserver/smb/crypt"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

var le = binary.LittleEndian

// Offsets in a header (MS-SMB2 2.2.1).
const (
	flagsOffset     = 16
	nextOffset      = 20
	signatureOffset = 48
)

// spareCredits are given beyond what is asked for while a session is set up: go-smb2
// does not count what that costs it, and would use more than it has.
const spareCredits = 3

// inlineDecrypt is the largest message, bytes, that is decrypted on the transport's goroutine.
const inlineDecrypt = 64 << 10

var (
	errProtocol = errors.New("smb: not an SMB2 message")
	errSequence = errors.New("smb: message IDs that the client has no credits for")
	errCompound = errors.New("smb: malformed compound")
	errOrder    = errors.New("smb: a request where none of its kind may be")
	errSession  = errors.New("smb: an encrypted message of no session")
)

// Message implements [transport.Handler].
func (c *Conn) Message(buf *slab.Buf) {
	cm := c.srv.newCompound(c, buf)
	if err := c.accept(cm); err != nil {
		c.drop(err)
		cm.end()
		return
	}
	cm.arrived()
	if len(cm.reqs) == 1 && cm.reqs[0].hdr.Command == wire.CmdCancel {
		cm.Run() // it takes no credits, so nothing else would bound how many there are
		return
	}
	c.srv.workers.Submit(cm)
}

// accept finds out what a message is and notes its requests.
func (c *Conn) accept(cm *compound) error {
	b := cm.buf.Bytes()
	if len(b) < 4 {
		return errProtocol
	}
	switch p := le.Uint32(b); p {
	case wire.ProtocolSMB2:
		return cm.parse(b)
	case wire.ProtocolSMB1:
		cm.smb1 = true
		return c.beginNegotiate()
	case wire.ProtocolTransform:
		id, err := crypt.SessionOf(b)
		if err != nil {
			return err
		}
		bound := c.channel(id)
		if bound == nil || bound.session.sealOut == nil || !bound.session.who().authenticated() && !c.hasProvenUser() {
			return errSession
		}
		cm.sealed = bound.session
		if len(b) > inlineDecrypt {
			cm.closed = true
			return nil
		}
		return cm.unseal()
	default:
		return fmt.Errorf("%w: protocol %#08x", errProtocol, p)
	}
}

// parse takes a message apart that is not encrypted, or not any more, and notes its requests (MS-SMB2 3.3.5.2).
func (cm *compound) parse(b []byte) error {
	n := 0
	for rest := b; ; n++ {
		if len(rest) < wire.HeaderLen+2 || le.Uint32(rest) != wire.ProtocolSMB2 {
			return errProtocol
		}
		next := le.Uint32(rest[nextOffset:])
		if next == 0 {
			n++
			break
		}
		if next%8 != 0 || next < wire.HeaderLen || uint64(next) > uint64(len(rest)) {
			return errCompound
		}
		rest = rest[next:]
	}
	c := cm.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return nil // and nobody answers
	}
	if n > c.window.held+1 { // a CANCEL needs no credit
		return errSequence
	}
	if cap(cm.reqs) < n {
		cm.reqs = make([]request, n)
	}
	cm.reqs = cm.reqs[:n]
	now := c.srv.clock.Now()
	for i := range cm.reqs {
		r := &cm.reqs[i]
		h, err := wire.ParseHeader(b)
		if err != nil {
			return err
		}
		r.compound, r.hdr, r.msg, r.start = cm, h, b, now
		if h.Next != 0 {
			r.msg, b = b[:h.Next:h.Next], b[h.Next:]
		}
		if err := c.beginLocked(r, n); err != nil {
			return err
		}
	}
	return nil
}

// beginLocked notes a request (MS-SMB2 3.3.5.2.3).
func (c *Conn) beginLocked(r *request, inMessage int) error {
	h := &r.hdr
	switch {
	case h.Flags&wire.FlagServerToRedir != 0:
		return errOrder
	case h.Command == wire.CmdCancel:
		if inMessage > 1 {
			return errCompound
		}
		r.conn = c
		return nil
	case h.Command == wire.CmdNegotiate:
		if inMessage > 1 || c.negotiating && !c.again {
			return errOrder
		}
		c.negotiating, c.again = true, false
	case c.neg.Load() == nil, h.Command == wire.CmdSessionSetup && inMessage > 1:
		return errOrder
	}
	charge := 1
	if c.largeMTU() {
		charge = int(max(h.CreditCharge, 1))
	}
	if !c.window.take(h.MessageID, charge) {
		return fmt.Errorf("%w: %d for %v", errSequence, h.MessageID, h.Command)
	}
	r.conn, r.channel = c, c.channels[h.SessionID]
	r.prev, r.next = c.last, nil
	if c.last != nil {
		c.last.next = r
	} else {
		c.first = r
	}
	c.last = r
	return nil
}

// finished takes a request from those outstanding, and reports whether it was asynchronous and what credits its response grants.
func (c *Conn) finished(r *request, st wire.Status) (async bool, credits int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.hdr.Command == wire.CmdCancel {
		return false, 0
	}
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		c.first = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	} else {
		c.last = r.prev
	}
	r.prev, r.next, r.cancellable = nil, nil, nil
	if r.asyncID != 0 {
		c.asyncs--
		return true, 0
	}
	if st >= statusDrop {
		return false, 0
	}
	return false, c.grantLocked(r)
}

// grantLocked is how many credits a response grants.
func (c *Conn) grantLocked(r *request) int {
	limit := c.srv.cfg.MaxCredits
	if !c.authenticated {
		limit = min(limit, earlyCredits)
	}
	asked := int(r.hdr.Credits)
	if r.hdr.Command <= wire.CmdSessionSetup && asked > 0 {
		asked += spareCredits
	}
	return c.window.grant(asked, limit)
}

// send hands a message to the transport.
func (c *Conn) send(o *transport.Outgoing) {
	if err := c.t.Send(o); err != nil {
		c.drop(err)
	}
}
