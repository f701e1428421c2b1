package smb

import (
	"errors"
	"time"

	"fileserver/internal/slab"
	"fileserver/smb/crypt"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// compound is the requests of one message, which run in their order. It implements workers.Task.
type compound struct {
	conn   *Conn
	buf    *slab.Buf // the message, which its requests lie in
	reqs   []request
	at     int      // the request being executed
	sealed *Session // the session whose key encrypted the message; nil: not encrypted
	closed bool     // the message is still encrypted; the worker decrypts it
	smb1   bool     // buf is a multi-protocol negotiate

	// What the previous request referred to, for requests related to it.
	channel    *channel
	tree       *Tree
	fileID     wire.FileID
	fileStatus wire.Status // why there is no fileID

	replies []reply // finished and not sent yet
	size    int     // bytes of their message
	opened  []*Open // opens that the client learns of with these replies; they are announced when the replies are sent
	out     transport.Outgoing
}

// reply is a finished response in its buffer, at headroom.
type reply struct {
	buf    *slab.Buf
	n      int
	signer *crypt.Signer // nil: unsigned
}

// Results of handlers that are not statuses of responses.
const (
	// statusSilent is the result of a request that has no response.
	statusSilent wire.Status = 0xfffffffe
	// statusDrop is the result of a request that ends the connection.
	statusDrop wire.Status = 0xfffffffd
)

var errDropped = errors.New("smb: the client's message ends the connection")

// keptRequests is the largest number of requests whose memory a compound keeps for its next message.
const keptRequests = 8

// Run implements workers.Task: it runs the remaining requests. If one has to wait, Run returns, and is called again
// when the wait has ended.
func (cm *compound) Run() {
	c := cm.conn
	if cm.closed {
		cm.closed = false
		if err := cm.unseal(); err != nil {
			c.drop(err)
			cm.end()
			return
		}
		cm.arrived()
	}
	if cm.smb1 {
		cm.multiProtocol()
		cm.end()
		return
	}
	for cm.at < len(cm.reqs) {
		r := &cm.reqs[cm.at]
		st := r.proceed()
		if st == statusParked {
			if r.wait.park() {
				return // another worker may be running the compound already
			}
			continue
		}
		if err := cm.finish(r, st); err != nil {
			c.drop(err)
			break
		}
		cm.at++
	}
	cm.flush()
	cm.end()
}

// finish builds the response to r. It is sent together with the others of its message.
func (cm *compound) finish(r *request, st wire.Status) error {
	c := cm.conn
	if r.hdr.Command == wire.CmdCreate && st.Failed() {
		cm.fileStatus = st
	}
	async, credits := c.finished(r, st)
	defer r.reset()
	c.srv.observe(r, st)
	switch {
	case st == statusDrop:
		return errDropped
	case st == statusSilent, r.hdr.Command == wire.CmdCancel: // a CANCEL has no response, even if it is refused
		return nil
	}
	if async {
		credits = 0 // the interim response has granted them
	}
	if err := r.seal(st, credits); err != nil {
		return err
	}
	r.countBuffers()
	if (cm.out.HasInvalidate || len(cm.out.Place) > 0) && (r.hasToken || r.place.Buf != nil) {
		cm.flush() // a message carries one token
	}
	n := (len(r.out) + r.tail + 7) &^ 7
	if crypt.TransformLen+cm.size+n > c.maxMessage() {
		cm.flush() // the responses together may be longer than the client, or the transport, accepts in one message
	}
	cm.size += n
	if r.hasToken {
		cm.out.HasInvalidate, cm.out.Invalidate = true, r.token
	}
	if r.place.Buf != nil && !st.Failed() {
		cm.out.Place = append(cm.out.Place, r.place)
		cm.out.Into = append(cm.out.Into, r.into...)
		r.place.Buf = nil
	}
	rep := reply{buf: r.rsp, n: len(r.out) + r.tail}
	if r.sign && cm.sealed == nil {
		rep.signer = r.signer
	}
	r.rsp = nil
	if r.sealed != nil {
		rep.sign() // it is alone in its message, so nothing is added before it is sent
		r.sealed(rep.bytes())
	}
	cm.replies = append(cm.replies, rep)
	return nil
}

// bytes returns the response, from its header on.
func (p *reply) bytes() []byte {
	b := p.buf.Bytes()
	return b[headroom : headroom+p.n]
}

// sign signs the response, once.
func (p *reply) sign() {
	if p.signer == nil {
		return
	}
	msg := p.bytes()
	f := le.Uint32(msg[flagsOffset:])
	le.PutUint32(msg[flagsOffset:], f|uint32(wire.FlagSigned))
	p.signer.Sign(msg)
	p.signer = nil
}

// flush sends the responses finished so far as one message (MS-SMB2 3.3.4.1.3).
func (cm *compound) flush() {
	n := len(cm.replies)
	if n == 0 {
		return
	}
	for i := range cm.replies {
		p := &cm.replies[i]
		if n > 1 { // Windows pads the last response, too
			m := p.buf.Bytes()
			for p.n%8 != 0 {
				m[headroom+p.n] = 0
				p.n++
			}
			if i < n-1 {
				le.PutUint32(m[headroom+nextOffset:], uint32(p.n))
			}
		}
		p.sign()
	}
	if cm.sealed != nil {
		cm.encrypt()
	} else {
		for _, p := range cm.replies {
			cm.out.Pieces = append(cm.out.Pieces, transport.Piece{Buf: p.buf, Off: headroom, Len: p.n})
		}
	}
	clear(cm.replies)
	cm.replies, cm.size = cm.replies[:0], 0
	if len(cm.out.Pieces) > 0 {
		cm.conn.send(&cm.out)
	}
	cm.clearOut()
	for _, o := range cm.opened {
		o.announce()
	}
	clear(cm.opened)
	cm.opened = cm.opened[:0]
}

func (cm *compound) clearOut() {
	o := &cm.out
	clear(o.Pieces[:cap(o.Pieces)])
	clear(o.Place[:cap(o.Place)])
	*o = transport.Outgoing{Pieces: o.Pieces[:0], Place: o.Place[:0], Into: o.Into[:0]}
}

// encrypt puts the responses into one encrypted message. A single response is encrypted in place.
func (cm *compound) encrypt() {
	p := cm.replies[0]
	if len(cm.replies) > 1 {
		total := 0
		for i := range cm.replies {
			total += cm.replies[i].n
		}
		b, err := cm.conn.memory(headroom + total + tailroom)
		at := headroom
		for i := range cm.replies {
			if err == nil {
				at += copy(b.Bytes()[at:], cm.replies[i].bytes())
			}
			cm.replies[i].buf.Release()
		}
		if err != nil {
			cm.conn.drop(err)
			return
		}
		p = reply{buf: b, n: total}
		cm.conn.budget.Add(int64(b.Cap()))
		b.SetOwner(cm.conn.budget)
	}
	if err := cm.sealed.seal(p.buf, p.n); err != nil {
		p.buf.Release()
		cm.conn.drop(err)
		return
	}
	cm.out.Pieces = append(cm.out.Pieces, transport.Piece{Buf: p.buf, Off: headroom - crypt.TransformLen, Len: crypt.TransformLen + p.n})
}

// unseal decrypts the message in place, and parses it.
func (cm *compound) unseal() error {
	plain, err := cm.sealed.unseal(cm.buf.Bytes())
	if err != nil {
		return err
	}
	if s := cm.sealed; !s.encrypt && !s.sealed.Load() && !s.sealed.Swap(true) {
		cm.conn.log.Info("smb: session: the client encrypts", "user", s.who().Name, "cipher", s.cipher, "rdma", rdmaOf(cm.conn, true, false))
	}
	return cm.parse(plain)
}

// end releases what the compound holds. The caller must not use the compound afterwards.
func (cm *compound) end() {
	c := cm.conn
	for i := range cm.reqs {
		r := &cm.reqs[i]
		if i >= cm.at && r.conn != nil {
			c.finished(r, statusSilent) // requests that did not run, after an error
			r.reset()
		}
	}
	for i := range cm.replies {
		cm.replies[i].buf.Release()
	}
	cm.out.Release()
	cm.clearOut()
	clear(cm.replies)
	if cm.buf != nil {
		cm.buf.Release()
	}
	reqs := cm.reqs[:0]
	if cap(reqs) > keptRequests {
		reqs = nil
	}
	clear(cm.opened)
	*cm = compound{reqs: reqs, replies: cm.replies[:0], opened: cm.opened[:0], out: cm.out}
	c.srv.compounds.Put(cm)
	c.done()
}

// observe reports a finished request to the observer.
func (s *Server) observe(r *request, st wire.Status) {
	if s.cfg.Observer != nil && st < statusDrop {
		s.cfg.Observer.Done(r.hdr.Command, st, time.Since(r.start))
	}
}
