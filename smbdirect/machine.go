package smbdirect

import (
	"errors"
	"fmt"
	"time"
)

// state is a connection's phase (MS-SMBD 3.1.1.1 Connection.Protocol).
type state uint8

const (
	negotiating state = iota // server: waits for the request; client: for the response
	open                     // data transfer
	ended
)

// machine decides for one connection about credits, fragments and keep-alives. It has
// no side effects; its driver does what it says at once and in order.
//
// Counting of credits (MS-SMBD 3.1.5.1): available receives are posted but not
// granted; the peer holds peerCredits. A message from the peer consumes one of those, and
// posting its receive again makes that available.
type machine struct {
	p      Params
	client bool
	state  state

	// Negotiated.
	maxSend     int // bytes of one SEND of ours
	maxRecv     int
	maxMessage  int // bytes of one message of ours
	maxTransfer int // bytes of one RDMA transfer

	// Receiving.
	receives    int // posted, granted, or consumed and about to be posted again
	wanted      int // credits the peer asks for, limited by Params.Credits
	target      int // credits to grant to the peer: wanted, but no more than receives
	available   int
	peerCredits int
	left        uint32 // of the message being reassembled, bytes
	assembling  bool

	// Sending.
	sendCredits int
	respond     bool // the peer asked for a message (SMB_DIRECT_RESPONSE_REQUESTED)

	// Time. The zero time is "not running".
	idleAt  time.Time // negotiate, idle or keep-alive timer
	probing bool      // a keep-alive has been sent, or is due
	probe   bool      // the keep-alive has not been sent yet
	grantAt time.Time // send credit grant timer
}

// Reasons to end a connection.
var (
	errNegotiateTimeout = errors.New("smbdirect: the peer did not negotiate in time")
	errKeepaliveTimeout = errors.New("smbdirect: the peer does not answer the keep-alive")
	errGrantTimeout     = errors.New("smbdirect: the peer grants no credits")
	errVersion          = errors.New("smbdirect: no common version")
	errCredits          = errors.New("smbdirect: the peer sent without a credit")
)

func newMachine(p Params, client bool, now time.Time) *machine {
	m := &machine{p: p, client: client, maxRecv: p.ReceiveSize, receives: p.Credits}
	if !client {
		m.receives = min(firstReceives, p.Credits)
	}
	m.idleAt = now.Add(p.Negotiate)
	return m
}

// posted counts a receive that was posted: one of the first, or one that a message had consumed.
func (m *machine) posted() { m.available++ }

// grown counts n receives that were posted in addition.
func (m *machine) grown(n int) {
	m.receives += n
	m.available += n
	m.target = min(m.wanted, m.receives)
}

// want notes how many credits the peer asks for.
func (m *machine) want(credits uint16) {
	m.wanted = min(int(credits), m.p.Credits)
	m.target = min(m.wanted, m.receives)
}

// more returns how many receives to post in addition: as many as there are, once the peer has used a quarter of its
// credits; otherwise 0.
func (m *machine) more() int {
	if m.wanted <= m.receives || 4*(m.target-m.peerCredits) <= m.target {
		return 0
	}
	return min(m.receives, m.p.Credits-m.receives)
}

// request is the client's negotiate request. It lets the server send one message, the response.
func (m *machine) request() negotiateRequest {
	m.available--
	m.peerCredits = 1
	return negotiateRequest{
		minVersion: version, maxVersion: version, creditsRequested: uint16(m.p.Credits),
		preferredSendSize: uint32(m.p.SendSize), maxReceiveSize: uint32(m.p.ReceiveSize),
		maxFragmentedSize: uint32(m.p.MaxFragmented),
	}
}

// requested handles a message in the server's negotiating phase (MS-SMBD
// 3.1.5.2). With errVersion the caller sends the response and closes the connection; with
// any other error there is no response. The caller fills in the credits that the response
// grants, once it has posted the request's receive again.
func (m *machine) requested(b []byte, now time.Time) (negotiateResponse, error) {
	m.available--
	r, err := parseRequest(b)
	if err != nil {
		return negotiateResponse{}, err
	}
	if r.minVersion > version || r.maxVersion < version {
		return negotiateResponse{minVersion: version, maxVersion: version, status: statusNotSupported},
			fmt.Errorf("%w: the peer speaks %#04x to %#04x", errVersion, r.minVersion, r.maxVersion)
	}
	switch {
	case r.creditsRequested == 0:
		return negotiateResponse{}, errors.New("smbdirect: the peer asks for no credits")
	case r.maxReceiveSize < minReceiveSize:
		return negotiateResponse{}, fmt.Errorf("smbdirect: the peer receives %d bytes at most", r.maxReceiveSize)
	case r.maxFragmentedSize < minFragmentedSize:
		return negotiateResponse{}, fmt.Errorf("smbdirect: the peer receives messages of %d bytes at most", r.maxFragmentedSize)
	}
	m.maxSend = min(m.p.SendSize, int(min(r.maxReceiveSize, 1<<30)))
	m.maxRecv = min(m.p.ReceiveSize, int(min(max(r.preferredSendSize, minReceiveSize), 1<<30)))
	m.maxMessage = int(min(r.maxFragmentedSize, 1<<30))
	m.maxTransfer = m.p.MaxReadWrite
	m.want(r.creditsRequested)
	m.opened(now)
	return negotiateResponse{
		minVersion: version, maxVersion: version, negotiated: version,
		creditsRequested: uint16(m.p.Credits),
		maxReadWriteSize: uint32(m.p.MaxReadWrite), preferredSendSize: uint32(m.maxSend),
		maxReceiveSize: uint32(m.maxRecv), maxFragmentedSize: uint32(m.p.MaxFragmented),
	}, nil
}

// responded handles the response to the client's request (MS-SMBD 3.1.5.3).
func (m *machine) responded(b []byte, now time.Time) error {
	m.peerCredits--
	r, err := parseResponse(b)
	switch {
	case err != nil:
		return err
	case r.status == statusNotSupported:
		return fmt.Errorf("%w: the server speaks %#04x to %#04x", errVersion, r.minVersion, r.maxVersion)
	case r.status != statusSuccess:
		return fmt.Errorf("smbdirect: the server refuses the negotiation with status %#08x", r.status)
	case r.negotiated != version:
		return fmt.Errorf("smbdirect: the server chose version %#04x", r.negotiated)
	case r.creditsRequested == 0 || r.creditsGranted == 0:
		return errors.New("smbdirect: the server asks for, or grants, no credits")
	case r.preferredSendSize > uint32(m.p.ReceiveSize):
		return fmt.Errorf("smbdirect: the server wants to send %d bytes, but we receive %d", r.preferredSendSize, m.p.ReceiveSize)
	case r.maxReceiveSize < minReceiveSize || r.maxFragmentedSize < minFragmentedSize:
		return fmt.Errorf("smbdirect: the server receives %d bytes, messages of %d", r.maxReceiveSize, r.maxFragmentedSize)
	case r.maxReadWriteSize < 4096:
		return fmt.Errorf("smbdirect: the server transfers %d bytes at most", r.maxReadWriteSize)
	}
	m.maxSend = min(m.p.SendSize, int(min(r.maxReceiveSize, 1<<30)))
	m.maxMessage = int(min(r.maxFragmentedSize, 1<<30))
	m.maxTransfer = int(min(r.maxReadWriteSize, 1<<30))
	m.want(r.creditsRequested)
	m.sendCredits = int(r.creditsGranted)
	m.opened(now)
	return nil
}

func (m *machine) opened(now time.Time) {
	m.state = open
	m.idleAt = now.Add(m.p.Idle)
}

// grant grants as many credits as it can, and returns how many.
func (m *machine) grant() uint16 { return m.grantBut(0) }

// grantBut is grant, but holds back keep credits.
func (m *machine) grantBut(keep int) uint16 {
	n := max(0, min(m.available, m.target-m.peerCredits)-keep)
	m.available -= n
	m.peerCredits += n
	return uint16(n)
}

// fragment is the data that a received SEND adds to the message being reassembled.
type fragment struct {
	data  []byte
	total int  // first fragment: length of the whole message; otherwise 0
	last  bool // the message is complete
}

// received handles a data transfer message (MS-SMBD 3.1.5.4). The fragment is empty if the message has no data.
func (m *machine) received(b []byte, now time.Time) (fragment, error) {
	var f fragment
	if m.peerCredits--; m.peerCredits < 0 {
		return f, errCredits
	}
	if len(b) > m.maxRecv && len(b) > m.p.ReceiveSize {
		return f, fmt.Errorf("smbdirect: a message of %d bytes, at most %d were negotiated", len(b), m.maxRecv)
	}
	h, data, err := parseData(b)
	if err != nil {
		return f, err
	}
	if h.creditsRequested == 0 {
		return f, errors.New("smbdirect: the peer asks for no credits")
	}
	if n := uint64(h.offset) + uint64(h.length); len(data) > 0 && n > uint64(m.maxRecv) {
		return f, fmt.Errorf("smbdirect: data ends at byte %d of a message, at most %d were negotiated", n, m.maxRecv)
	}
	m.want(h.creditsRequested)
	m.sendCredits = min(m.sendCredits+int(h.creditsGranted), 65535)
	if h.creditsGranted > 0 {
		m.grantAt = time.Time{}
	}
	m.alive(now)
	if h.flags&flagResponseRequested != 0 {
		m.respond = true
	}
	whole := uint64(h.length) + uint64(h.remaining)
	if len(data) == 0 {
		// A peer may state how much data remains without sending any. The number must be true.
		if h.remaining != 0 && (m.assembling && h.remaining != m.left || whole > uint64(m.p.MaxFragmented)) {
			return f, fmt.Errorf("smbdirect: a message without data says that %d bytes remain, but %d are missing", h.remaining, m.left)
		}
		return f, nil
	}
	switch {
	case !m.assembling && whole > uint64(m.p.MaxFragmented):
		return f, fmt.Errorf("smbdirect: a message of %d bytes, at most %d were negotiated", whole, m.p.MaxFragmented)
	case m.assembling && whole != uint64(m.left):
		return f, fmt.Errorf("smbdirect: a fragment of %d bytes with %d to follow, but %d are missing", h.length, h.remaining, m.left)
	case !m.assembling:
		f.total = int(whole)
	}
	m.left, m.assembling = h.remaining, h.remaining > 0
	f.data, f.last = data, h.remaining == 0
	return f, nil
}

// alive restarts the idle timer: a message has arrived. It is called, too, for messages that cannot be handled yet.
func (m *machine) alive(now time.Time) {
	m.probing, m.probe = false, false
	m.idleAt = now.Add(m.p.Idle)
}

// outgoing is a SEND to post now.
type outgoing struct {
	h    dataTransfer
	data int // bytes of the message that go with it
}

// next decides on the next SEND. left is how many bytes of the current message are not
// sent yet, 0 if there is no message, and fit how many of them one SEND can gather.
// When ok is false there is nothing to send until the next event.
func (m *machine) next(left, fit int, now time.Time) (o outgoing, ok bool) {
	if m.state != open {
		return o, false
	}
	empty := m.respond || m.probe || m.low()
	if left == 0 && !empty {
		m.grantAt = time.Time{}
		return o, false
	}
	grantable := max(0, min(m.available, m.target-m.peerCredits))
	if m.sendCredits == 0 || m.sendCredits == 1 && grantable == 0 {
		if left > 0 && m.grantAt.IsZero() {
			m.grantAt = now.Add(m.p.Grant)
		}
		return o, false
	}
	m.grantAt = time.Time{}
	keep := 0
	if left > 0 {
		o.data = min(left, fit, m.maxSend-dataOffset)
		if m.sendCredits > 1 && left > m.sendCredits*o.data && !m.low() {
			keep = 1 // the message will take all credits, and the last can be spent only with a grant
		}
	}
	m.sendCredits--
	o.h = dataTransfer{creditsRequested: uint16(m.p.Credits), creditsGranted: m.grantBut(keep)}
	if left > 0 {
		o.h.length, o.h.remaining = uint32(o.data), uint32(left-o.data)
	}
	m.respond = false
	if m.probe {
		m.probe = false
		o.h.flags = flagResponseRequested
		m.idleAt = now.Add(m.p.Keepalive)
	}
	return o, true
}

// low reports whether the peer runs out of credits while some are available: then
// an empty message grants them. A peer with one credit has run out, because it keeps
// that one for a message that grants.
func (m *machine) low() bool {
	mark := m.target / 4
	if m.target < 16 {
		mark = 1
	}
	return m.available > 0 && m.peerCredits <= mark && m.peerCredits < m.target
}

// deadline returns when to call tick; the zero time means never.
func (m *machine) deadline() time.Time {
	if m.grantAt.IsZero() || m.idleAt.Before(m.grantAt) {
		return m.idleAt
	}
	return m.grantAt
}

// tick handles timers that have expired. Afterwards there may be something to send.
func (m *machine) tick(now time.Time) error {
	if m.state == ended {
		return nil
	}
	if !m.grantAt.IsZero() && !now.Before(m.grantAt) {
		return errGrantTimeout
	}
	if m.idleAt.IsZero() || now.Before(m.idleAt) {
		return nil
	}
	switch {
	case m.state == negotiating:
		return errNegotiateTimeout
	case m.probing:
		return errKeepaliveTimeout
	}
	m.probing, m.probe = true, true
	m.idleAt = now.Add(m.p.Keepalive)
	return nil
}
