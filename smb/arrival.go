package smb

import "fileserver/smb/wire"

// arrived parses the message's requests. It also finds the opens of the commands that are marked so in the table.
//
// The requests of a connection run at the same time, but a client may close a file right after a READ of it, without
// waiting for the READ's response. The READ must still succeed, so it takes its reference to the open here. Only
// commands that leave nothing behind in the open do this: a LOCK that runs late must not lock a closed file. Nothing
// is checked or refused yet.
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

// opened returns the session's open with the ID, with a reference.
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
