package smb

import (
	"context"

	"fileserver/smb/crypt"
	"fileserver/smb/wire"
)

// command is a row of the table of commands: what must be there before run is called.
type command struct {
	run     func(context.Context, *request) wire.Status
	session bool // a session
	tree    bool // a session and a tree
	// ownRoom: run takes its response's buffer itself (request.room, request.payload).
	ownRoom bool
	// data: it holds data, as much as its CreditCharge pays for.
	data bool
}

// commands are the commands there are.
var commands = [wire.Commands]command{
	wire.CmdNegotiate:      {run: opNegotiate},
	wire.CmdSessionSetup:   {run: opSessionSetup},
	wire.CmdLogoff:         {run: opLogoff, session: true},
	wire.CmdTreeConnect:    {run: opTreeConnect, session: true},
	wire.CmdTreeDisconnect: {run: opTreeDisconnect, tree: true},
	wire.CmdCreate:         {run: opCreate, tree: true},
	wire.CmdClose:          {run: opClose, tree: true},
	wire.CmdFlush:          {run: opFlush, tree: true},
	wire.CmdRead:           {run: opRead, tree: true, ownRoom: true, data: true},
	wire.CmdWrite:          {run: opWrite, tree: true, data: true},
	wire.CmdLock:           {run: opLock, tree: true},
	wire.CmdIoctl:          {run: opIoctl, tree: true, ownRoom: true, data: true},
	wire.CmdCancel:         {run: opCancel, ownRoom: true},
	wire.CmdEcho:           {run: opEcho},
	wire.CmdQueryDirectory: {run: opQueryDirectory, tree: true, ownRoom: true, data: true},
	wire.CmdChangeNotify:   {run: opChangeNotify, tree: true},
	wire.CmdQueryInfo:      {run: opQueryInfo, tree: true, ownRoom: true, data: true},
	wire.CmdSetInfo:        {run: opSetInfo, tree: true},
	wire.CmdOplockBreak:    {run: opOplockBreak, tree: true},
}

// dispatch checks what the request's command needs, and runs it.
func (r *request) dispatch() wire.Status {
	if r.hdr.Command >= wire.Commands {
		return wire.StatusInvalidParameter
	}
	r.noteToken()
	row := &commands[r.hdr.Command]
	if st := r.resolve(row); st != wire.StatusSuccess {
		return st
	}
	if row.data {
		if st := r.admit(); st != wire.StatusSuccess {
			return st
		}
	}
	return r.run(row)
}

// run handles the request.
func (r *request) run(row *command) wire.Status {
	if !row.ownRoom {
		if err := r.room(smallRoom); err != nil {
			r.conn.log.Warn("smb: request refused", "command", r.hdr.Command, "err", err)
			return statusDrop
		}
	}
	return row.run(r.conn.srv.ctx, r)
}

// resolve finds session and tree and checks signature and encryption (MS-SMB2 3.3.5.2.4 to 3.3.5.2.11).
func (r *request) resolve(row *command) wire.Status {
	ch := r.chain
	if r.related() {
		r.channel = ch.channel
		if ch.at == 0 {
			return r.relatedToNothing()
		}
		if r.channel == nil {
			return wire.StatusInvalidParameter
		}
	} else {
		ch.fileStatus = wire.StatusFileClosed
		r.channel = r.conn.channel(r.hdr.SessionID)
	}
	if r.channel == nil {
		ch.channel, ch.tree = nil, nil
		return r.withoutSession(row)
	}
	r.session = r.channel.session
	r.hdr.SessionID = r.session.id
	r.signer = r.channel.signer
	ch.channel = r.channel
	if ch.sealed != nil && ch.sealed != r.session {
		return statusDrop
	}
	if st := r.authentic(); st != wire.StatusSuccess {
		return st
	}
	if !r.related() {
		ch.tree = r.session.tree(r.hdr.TreeID)
	}
	if !row.tree {
		return wire.StatusSuccess
	}
	r.tree = ch.tree
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

// withoutSession says what becomes of a request that names no session of this
// connection. The key of one that is on others, or has been here, signs the refusal.
func (r *request) withoutSession(row *command) wire.Status {
	if r.hdr.Flags&wire.FlagSigned != 0 {
		var key *crypt.Signer
		if s := r.conn.srv.session(r.hdr.SessionID); s != nil {
			key = s.signer
		} else if past := r.conn.pastChannel(); past != nil && past.session.id == r.hdr.SessionID {
			key = past.signer
		}
		if r.verify(key) {
			r.signer, r.sign = key, true
		}
	}
	switch {
	case row.session || row.tree, r.chain.sealed != nil:
		return wire.StatusUserSessionDeleted
	case r.hdr.Command == wire.CmdEcho && r.hdr.SessionID != 0:
		return wire.StatusUserSessionDeleted
	}
	return wire.StatusSuccess
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
		if s.signed {
			return wire.StatusAccessDenied
		}
		return wire.StatusSuccess
	}
	if !r.verify(r.signer) {
		r.conn.log.Warn("smb: wrong signature", "command", r.hdr.Command, "user", s.who().Name)
		if r.signer = nil; r.hdr.Command == wire.CmdSessionSetup && r.verify(s.signer) {
			r.signer, r.sign = s.signer, true // it would bind the session where it is bound
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
