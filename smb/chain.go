package smb

import (
	"errors"
	"time"

	"fileserver/internal/slab"
	"fileserver/smb/crypt"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// chain is one message's requests, being executed in their order. It implements workers.Task.
type chain struct {
	conn   *Conn
	buf    *slab.Buf // the message, which its requests lie in
	reqs   []request
	at     int      // the request being executed
	sealed *Session // whose key the message came encrypted with; nil: in the clear
	closed bool     // still to be decrypted, in the worker
	smb1   bool     // buf is a multi-protocol negotiate

	// What the request before was about: for those related to it.
	channel    *channel
	tree       *Tree
	fileID     wire.FileID
	fileStatus wire.Status // why there is no fileID

	replies []reply // finished and not sent yet
	size    int     // bytes of their message
	opened  []*Open // that the client will know of with them, and are to be announced then
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

// keptRequests is how many requests a chain keeps room for, to be used again.
const keptRequests = 8

// Run implements workers.Task: it executes the requests there still are. When one has to
// wait it returns, and is called again when the wait has ended.
func (ch *chain) Run() {
	c := ch.conn
	if ch.closed {
		ch.closed = false
		if err := ch.unseal(); err != nil {
			c.drop(err)
			ch.end()
			return
		}
		ch.arrived()
	}
	if ch.smb1 {
		ch.multiProtocol()
		ch.end()
		return
	}
	for ch.at < len(ch.reqs) {
		r := &ch.reqs[ch.at]
		st := r.proceed()
		if st == statusParked {
			if r.wait.park() {
				return // and somebody else may be running the chain already
			}
			continue
		}
		if err := ch.finish(r, st); err != nil {
			c.drop(err)
			break
		}
		ch.at++
	}
	ch.flush()
	ch.end()
}

// finish makes the response to r, to be sent with those of its message.
func (ch *chain) finish(r *request, st wire.Status) error {
	c := ch.conn
	if r.hdr.Command == wire.CmdCreate && st.Failed() {
		ch.fileStatus = st
	}
	async, credits := c.finished(r, st)
	defer r.reset()
	c.srv.observe(r, st)
	switch {
	case st == statusDrop:
		return errDropped
	case st == statusSilent, r.hdr.Command == wire.CmdCancel: // that has no response, not even to say that it is refused
		return nil
	}
	if async {
		credits = 0 // the interim response has granted them
	}
	if err := r.seal(st, credits); err != nil {
		return err
	}
	r.countBuffers()
	if (ch.out.HasInvalidate || len(ch.out.Place) > 0) && (r.hasToken || r.place.Buf != nil) {
		ch.flush() // a message carries one token
	}
	n := (len(r.out) + r.tail + 7) &^ 7
	if crypt.TransformLen+ch.size+n > c.maxMessage() {
		ch.flush() // what the client has asked for at once may be more than it, or the transport, takes in one message
	}
	ch.size += n
	if r.hasToken {
		ch.out.HasInvalidate, ch.out.Invalidate = true, r.token
	}
	if r.place.Buf != nil && !st.Failed() {
		ch.out.Place = append(ch.out.Place, r.place)
		ch.out.Into = append(ch.out.Into, r.into...)
		r.place.Buf = nil
	}
	rep := reply{buf: r.rsp, n: len(r.out) + r.tail}
	if r.sign && ch.sealed == nil {
		rep.signer = r.signer
	}
	r.rsp = nil
	if r.sealed != nil {
		rep.sign() // it is alone in its message: that is what goes out
		r.sealed(rep.bytes())
	}
	ch.replies = append(ch.replies, rep)
	return nil
}

// bytes is the response from its header on.
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
func (ch *chain) flush() {
	n := len(ch.replies)
	if n == 0 {
		return
	}
	for i := range ch.replies {
		p := &ch.replies[i]
		if n > 1 { // the last is padded, too, as Windows does
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
	if ch.sealed != nil {
		ch.encrypt()
	} else {
		for _, p := range ch.replies {
			ch.out.Pieces = append(ch.out.Pieces, transport.Piece{Buf: p.buf, Off: headroom, Len: p.n})
		}
	}
	clear(ch.replies)
	ch.replies, ch.size = ch.replies[:0], 0
	if len(ch.out.Pieces) > 0 {
		ch.conn.send(&ch.out)
	}
	ch.clearOut()
	for _, o := range ch.opened {
		o.announce()
	}
	clear(ch.opened)
	ch.opened = ch.opened[:0]
}

func (ch *chain) clearOut() {
	o := &ch.out
	clear(o.Pieces[:cap(o.Pieces)])
	clear(o.Place[:cap(o.Place)])
	*o = transport.Outgoing{Pieces: o.Pieces[:0], Place: o.Place[:0], Into: o.Into[:0]}
}

// encrypt makes one encrypted message of the responses: in place if there is one.
func (ch *chain) encrypt() {
	p := ch.replies[0]
	if len(ch.replies) > 1 {
		total := 0
		for i := range ch.replies {
			total += ch.replies[i].n
		}
		b, err := ch.conn.memory(headroom + total + tailroom)
		at := headroom
		for i := range ch.replies {
			if err == nil {
				at += copy(b.Bytes()[at:], ch.replies[i].bytes())
			}
			ch.replies[i].buf.Release()
		}
		if err != nil {
			ch.conn.drop(err)
			return
		}
		p = reply{buf: b, n: total}
		ch.conn.budget.Add(int64(b.Cap()))
		b.SetOwner(ch.conn.budget)
	}
	if err := ch.sealed.seal(p.buf, p.n); err != nil {
		p.buf.Release()
		ch.conn.drop(err)
		return
	}
	ch.out.Pieces = append(ch.out.Pieces, transport.Piece{Buf: p.buf, Off: headroom - crypt.TransformLen, Len: crypt.TransformLen + p.n})
}

// unseal decrypts the message where it lies, and takes it apart.
func (ch *chain) unseal() error {
	plain, err := ch.sealed.unseal(ch.buf.Bytes())
	if err != nil {
		return err
	}
	if s := ch.sealed; !s.encrypt && !s.sealed.Load() && !s.sealed.Swap(true) {
		ch.conn.log.Info("smb: session: the client encrypts", "user", s.who().Name, "cipher", s.cipher, "rdma", rdmaOf(ch.conn, true, false))
	}
	return ch.parse(plain)
}

// end gives back what the chain holds. It is not to be touched any more.
func (ch *chain) end() {
	c := ch.conn
	for i := range ch.reqs {
		r := &ch.reqs[i]
		if i >= ch.at && r.conn != nil {
			c.finished(r, statusSilent) // those not executed, after an error
			r.reset()
		}
	}
	for i := range ch.replies {
		ch.replies[i].buf.Release()
	}
	ch.out.Release()
	ch.clearOut()
	clear(ch.replies)
	if ch.buf != nil {
		ch.buf.Release()
	}
	reqs := ch.reqs[:0]
	if cap(reqs) > keptRequests {
		reqs = nil
	}
	clear(ch.opened)
	*ch = chain{reqs: reqs, replies: ch.replies[:0], opened: ch.opened[:0], out: ch.out}
	c.srv.chains.Put(ch)
	c.done()
}

// observe tells the observer of a finished request.
func (s *Server) observe(r *request, st wire.Status) {
	if s.cfg.Observer != nil && st < statusDrop {
		s.cfg.Observer.Done(r.hdr.Command, st, time.Since(r.start))
	}
}
