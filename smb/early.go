package smb

import "fileserver/smb/wire"

// openedAt is where, in a request, the file ID lies of the commands that find their open as the message arrives. Requests of a
// connection run at the same time, but a client that closes a file behind a READ of it, without waiting, gets what it has read. Only
// commands are here that leave nothing behind with the open: one that ends late must not lock what is closed.
var openedAt = [wire.Commands]uint8{
	wire.CmdFlush: wire.HeaderLen + 8, wire.CmdRead: wire.HeaderLen + 16, wire.CmdWrite: wire.HeaderLen + 16,
	wire.CmdQueryDirectory: wire.HeaderLen + 8, wire.CmdQueryInfo: wire.HeaderLen + 24, wire.CmdChangeNotify: wire.HeaderLen + 8,
}

// findOpens finds the opens that the message's requests name, for request.file. Nothing has been checked yet, and nothing is
// refused: a reference is all that is taken.
func (ch *chain) findOpens() {
	for i := range ch.reqs {
		r := &ch.reqs[i]
		if r.channel == nil || r.hdr.Command >= wire.Commands {
			continue
		}
		at, s := int(openedAt[r.hdr.Command]), r.channel.session
		if at == 0 || len(r.msg) < at+16 || ch.sealed != nil && ch.sealed != s {
			continue
		}
		r.early = s.open(wire.FileID{Persistent: le.Uint64(r.msg[at:]), Volatile: le.Uint64(r.msg[at+8:])})
		if r.hdr.Command == wire.CmdChangeNotify && r.early != nil && r.early.dir {
			r.notify = r.early.changes.arrived(r.early)
		}
	}
}

// opened is the session's open of the ID, with a reference.
func (r *request) opened(id wire.FileID) *Open {
	o := r.early
	r.early = nil
	if o != nil && (o.id != id || o.session != r.session) {
		o.release()
		o = nil
	}
	if o == nil {
		o = r.session.open(id)
	}
	return o
}
