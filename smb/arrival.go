package smb

import "fileserver/smb/wire"

// arrived parses the message's requests, and finds the opens of those whose command says so.
//
// Requests of a connection run at the same time, but a client that closes a file right behind a READ of it, without waiting, gets
// what it has read. That is only for commands that leave nothing behind with the open: one that ends late must not lock what
// is closed. Nothing has been checked yet, and nothing is refused: a reference to the open is all that is taken.
func (cm *compound) arrived() {
	for i := range cm.reqs {
		r := &cm.reqs[i]
		if r.conn == nil {
			continue
		}
		r.parse()
		if r.op == nil || !r.row.arrival || r.channel == nil || cm.sealed != nil && cm.sealed != r.channel.session {
			continue
		}
		r.early = r.channel.session.open(r.needs.file)
		if x, ok := r.op.(*changeNotifyRequest); ok && r.early != nil {
			x.enqueue(r.early)
		}
	}
}

// opened is the session's open of the ID, with a reference.
func (r *request) opened(id wire.FileID) *Open {
	o := r.early
	r.early = nil
	if o != nil && (o.id != id || o.home.session != r.session) {
		o.release()
		o = nil
	}
	if o == nil {
		o = r.session.open(id)
	}
	return o
}
