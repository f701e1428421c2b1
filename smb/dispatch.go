package smb

import (
	"context"

	"fileserver/smb/crypt"
	"fileserver/smb/wire"
)

// operation is what a request asks for, parsed as it arrived: one type per command. What it refers to lies in the message.
type operation interface {
	// needs is what the operation's body asks for that is checked before it runs, the same way for all commands.
	needs() needs
	// run executes the operation. What it returns is the response's status; a failure needs no body.
	run(context.Context, *request) wire.Status
}

// needs is what has to be there, and paid for, before an operation runs.
type needs struct {
	onOpen  bool        // an open, request.open
	file    wire.FileID // of that
	bytes   uint64      // that CreditCharge has to pay for, of the request's payload or the response's
	channel wire.Channel
	info    []byte // the descriptors of the client's memory, if there is a channel
}

// needsNothing is for operations that need neither open nor credits.
type needsNothing struct{}

func (needsNothing) needs() needs { return needs{} }

// command is a row of the table of commands: what must be there before its operation runs.
type command struct {
	// parse makes the operation of the request's message. With an error that is a wire.Status the request is refused with that, with
	// others with STATUS_INVALID_PARAMETER. What there is of the operation says whose memory the refusal gives back.
	parse   func(*request) (operation, error)
	session bool // a session
	tree    bool // a session and a tree
	// arrival: the open is found as the message arrives (see arrival.go).
	arrival bool
	// ownRoom: run takes its response's buffer itself (request.room, request.payload).
	ownRoom bool
	// data: it holds data, as much as its CreditCharge pays for.
	data bool
}

// commands are the commands there are.
var commands = [wire.Commands]command{
	wire.CmdNegotiate:      {parse: parseNegotiate},
	wire.CmdSessionSetup:   {parse: parseSessionSetup},
	wire.CmdLogoff:         {parse: parseLogoff, session: true},
	wire.CmdTreeConnect:    {parse: parseTreeConnect, session: true},
	wire.CmdTreeDisconnect: {parse: parseTreeDisconnect, tree: true},
	wire.CmdCreate:         {parse: parseCreate, tree: true},
	wire.CmdClose:          {parse: parseClose, tree: true},
	wire.CmdFlush:          {parse: parseFlush, tree: true, arrival: true},
	wire.CmdRead:           {parse: parseRead, tree: true, arrival: true, ownRoom: true, data: true},
	wire.CmdWrite:          {parse: parseWrite, tree: true, arrival: true, data: true},
	wire.CmdLock:           {parse: parseLock, tree: true},
	wire.CmdIoctl:          {parse: parseIoctl, tree: true, ownRoom: true, data: true},
	wire.CmdCancel:         {parse: parseCancel, ownRoom: true},
	wire.CmdEcho:           {parse: parseEcho},
	wire.CmdQueryDirectory: {parse: parseQueryDirectory, tree: true, arrival: true, ownRoom: true, data: true},
	wire.CmdChangeNotify:   {parse: parseChangeNotify, tree: true, arrival: true},
	wire.CmdQueryInfo:      {parse: parseQueryInfo, tree: true, arrival: true, ownRoom: true, data: true},
	wire.CmdSetInfo:        {parse: parseSetInfo, tree: true},
	wire.CmdOplockBreak:    {parse: parseOplockBreak, tree: true},
}

// parse makes the request's operation of its message. An error is answered later, after session, signature and tree have been checked.
func (r *request) parse() {
	if r.hdr.Command >= wire.Commands {
		r.bad = wire.StatusInvalidParameter
		return
	}
	r.row = &commands[r.hdr.Command]
	op, err := r.row.parse(r)
	if err != nil {
		r.bad = wire.StatusInvalidParameter
		if st, ok := err.(wire.Status); ok {
			r.bad = st
		}
	}
	if op != nil {
		r.op, r.needs = op, op.needs()
		r.noteToken()
	}
}

// stage is how far a request has come.
type stage uint8

const (
	arrived stage = iota
	checked       // and admitted, as soon as it does not wait any more
	ready         // to run, as often as it takes
)

// proceed goes on with the request: from its arrival, or after a wait.
func (r *request) proceed() wire.Status {
	if r.wait != nil {
		if st, again := r.resume(); !again {
			return st
		}
	}
	if r.stage == arrived {
		if st := r.check(); st != wire.StatusSuccess {
			return st
		}
		r.stage = checked
		if r.row.data {
			if st := r.admit(); st != wire.StatusSuccess {
				return st
			}
		}
	}
	if r.stage == checked {
		if st := r.prepare(); st != wire.StatusSuccess {
			return st
		}
		r.stage = ready
	}
	return r.op.run(r.conn.srv.ctx, r)
}

// check checks what there is to check before the request holds anything.
func (r *request) check() wire.Status {
	if r.row == nil {
		return r.bad
	}
	if st := r.resolve(r.row); st != wire.StatusSuccess {
		return st
	}
	if r.bad != wire.StatusSuccess {
		return r.bad
	}
	return r.paid()
}

// paid checks that the request's CreditCharge pays for what it needs (MS-SMB2 3.3.5.2.5).
func (r *request) paid() wire.Status {
	charge := uint64(max(r.hdr.CreditCharge, 1))
	if n := r.needs.bytes; n > 64<<10 && (n-1)/(64<<10)+1 > charge && r.conn.largeMTU() {
		return wire.StatusInvalidParameter
	}
	return wire.StatusSuccess
}

// prepare finds what the operation needs: the client's memory, the open, and room for the response.
func (r *request) prepare() wire.Status {
	if st := r.remoteMemory(); st != wire.StatusSuccess {
		return st
	}
	if r.needs.onOpen {
		if _, st := r.file(r.needs.file); st != wire.StatusSuccess {
			return st
		}
	}
	if !r.row.ownRoom {
		if err := r.room(smallRoom); err != nil {
			r.conn.log.Warn("smb: request refused", "command", r.hdr.Command, "err", err)
			return statusDrop
		}
	}
	return wire.StatusSuccess
}

// resolve finds session and tree and checks signature and encryption (MS-SMB2 3.3.5.2.4 to 3.3.5.2.11).
func (r *request) resolve(row *command) wire.Status {
	cm := r.compound
	if r.related() {
		r.channel = cm.channel
		if cm.at == 0 {
			return r.relatedToNothing()
		}
		if r.channel == nil {
			return wire.StatusInvalidParameter
		}
	} else {
		cm.fileStatus = wire.StatusFileClosed
		r.channel = r.conn.channel(r.hdr.SessionID)
	}
	if r.channel == nil {
		cm.channel, cm.tree = nil, nil
		return r.withoutSession(row)
	}
	r.session = r.channel.session
	r.hdr.SessionID = r.session.id
	r.signer = r.channel.signer
	cm.channel = r.channel
	if cm.sealed != nil && cm.sealed != r.session {
		return statusDrop
	}
	if st := r.authentic(); st != wire.StatusSuccess {
		return st
	}
	if !r.related() {
		cm.tree = r.session.tree(r.hdr.TreeID)
	}
	if !row.tree {
		return wire.StatusSuccess
	}
	r.tree = cm.tree
	if r.tree == nil && r.related() {
		return wire.StatusInvalidParameter
	}
	if r.tree == nil {
		return wire.StatusNetworkNameDeleted
	}
	r.hdr.TreeID = r.tree.id
	if r.tree.share.Encrypt && !r.encrypted() {
		return wire.StatusAccessDenied
	}
	return wire.StatusSuccess
}

// relatedToNothing refuses a first request that says it is related; signed, if it is.
func (r *request) relatedToNothing() wire.Status {
	if r.channel = r.conn.channel(r.hdr.SessionID); r.channel != nil {
		r.session, r.signer = r.channel.session, r.channel.signer
		if st := r.authentic(); st != wire.StatusSuccess {
			return st
		}
	}
	return wire.StatusInvalidParameter
}

// withoutSession says what becomes of a request that names no session of this connection. The refusal is signed with the key
// of a session that has been on this connection, or is on others.
func (r *request) withoutSession(row *command) wire.Status {
	if r.hdr.Flags&wire.FlagSigned != 0 {
		if key := r.keyOfAbsent(); r.verify(key) {
			r.signer, r.sign = key, true
		}
	}
	switch {
	case row.session || row.tree, r.compound.sealed != nil:
		return wire.StatusUserSessionDeleted
	case r.hdr.Command == wire.CmdEcho && r.hdr.SessionID != 0:
		return wire.StatusUserSessionDeleted
	}
	return wire.StatusSuccess
}

// keyOfAbsent is the key of the session that the request names, which is not on this connection; nil if nothing may be signed
// with it here. With AES-GMAC that is so: its nonce is the message ID (MS-SMB2 3.1.4.1), and only within one connection is
// that used once. Who replayed a signed request on a connection of its own would get a second signature under a
// nonce, and two give away the key that authenticates.
//
// A connection on which the client has asked to bind the session is different: the protocol has the session's key sign the refusals
// there (MS-SMB2 3.3.4.1.1), and clients insist. A binding request that has come before does not count: it may be
// replayed. Its own response is signed nevertheless, because channels of one session may begin with the same bytes.
func (r *request) keyOfAbsent() *crypt.Signer {
	s := r.conn.srv.session(r.hdr.SessionID)
	if s == nil {
		if past := r.conn.pastChannel(); past != nil && past.session.id == r.hdr.SessionID {
			return past.signer
		}
		return nil
	}
	if s.signing == crypt.AESGMAC && !r.conn.askedToBind(s) {
		return nil
	}
	return s.signer
}

// authentic checks the request's signature, or that it needs none (MS-SMB2 3.3.5.2.4, 3.3.5.2.9).
func (r *request) authentic() wire.Status {
	s := r.session
	if r.encrypted() {
		return wire.StatusSuccess
	}
	if s.encrypt && r.hdr.Command != wire.CmdSessionSetup {
		return wire.StatusAccessDenied
	}
	if r.hdr.Flags&wire.FlagSigned == 0 {
		// A SESSION_SETUP need not be encrypted. But one that fails ends the session: where requests are protected, nobody else may send it.
		if s.signed || s.encrypt {
			return wire.StatusAccessDenied
		}
		return wire.StatusSuccess
	}
	if !r.verify(r.signer) {
		r.conn.log.Warn("smb: wrong signature", "command", r.hdr.Command, "user", s.who().Name)
		if r.signer = nil; r.hdr.Command == wire.CmdSessionSetup && r.verify(s.signer) {
			// It would bind the session where it is bound. The protocol wants this signed with the session's key, not the
			// channel's, whatever that means for AES-GMAC's nonces (MS-SMB2 3.3.4.1.1).
			r.signer, r.sign = s.signer, true
		}
		return wire.StatusAccessDenied
	}
	r.sign = true
	return wire.StatusSuccess
}

// verify checks the request's signature, and leaves the message as it was: preauthentication hashes take it in.
func (r *request) verify(s *crypt.Signer) bool {
	if s == nil {
		return false
	}
	err := s.Verify(r.msg)
	copy(r.msg[signatureOffset:], r.hdr.Signature[:])
	return err == nil
}
