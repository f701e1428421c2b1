package smb

import (
	"context"

	"fileserver/smb/wire"
)

// opChangeNotify refuses CHANGE_NOTIFY, as a server does whose object store has no notifications (MS-SMB2 3.3.5.19). What is
// wrong with the request comes first: a client that asks about a file that failed to open is told why it did.
func opChangeNotify(_ context.Context, r *request) wire.Status {
	q, err := wire.ParseChangeNotifyRequest(r.msg)
	if err != nil || q.OutputLength > r.conn.neg.Load().maxTransact {
		return wire.StatusInvalidParameter
	}
	if st := r.charge(uint64(q.OutputLength)); st != wire.StatusSuccess {
		return st
	}
	o, st := r.file(q.FileID)
	switch {
	case st != wire.StatusSuccess:
		return st
	case !o.dir:
		return wire.StatusInvalidParameter
	case o.granted&wire.FileListDirectory == 0:
		return wire.StatusAccessDenied
	}
	return wire.StatusNotSupported
}
