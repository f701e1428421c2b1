package smb

import (
	"context"

	"fileserver/smb/wire"
)

// infoQuery is a QUERY_INFO being answered.
type infoQuery struct {
	ctx context.Context
	r   *request
	o   *Open
	q   *wire.QueryInfoRequest
	out []byte // follows the response's fixed part, and is cut if it is too long for the client
}

// infoRow is a row of a table of information classes.
type infoRow struct {
	access wire.AccessMask // needed (MS-FSA 2.1.5.12)
	run    func(*infoQuery) wire.Status
}

// queryInfoRequest is a QUERY_INFO (MS-SMB2 3.3.5.20).
type queryInfoRequest struct{ wire.QueryInfoRequest }

func parseQueryInfo(r *request) (operation, error) {
	q, err := wire.ParseQueryInfoRequest(r.msg)
	if limit := r.conn.neg.Load().maxTransact; err == nil && (q.OutputLength > limit || len(q.Input) > int(limit)) {
		err = wire.StatusInvalidParameter
	}
	return &queryInfoRequest{q}, err
}

func (q *queryInfoRequest) needs() needs {
	return needs{onOpen: true, file: q.FileID, bytes: max(uint64(q.OutputLength), uint64(len(q.Input)))}
}

func (q *queryInfoRequest) run(ctx context.Context, r *request) (st wire.Status) {
	if r.room(smallRoom) != nil {
		return statusDrop
	}
	iq := infoQuery{ctx: ctx, r: r, o: r.open, q: &q.QueryInfoRequest, out: wire.AppendOutputResponse(r.out, 0, 0)}
	switch q.Type {
	case wire.InfoFile:
		st = iq.file()
	case wire.InfoFilesystem:
		st = iq.filesystem()
	case wire.InfoSecurity:
		st = iq.security()
	case wire.InfoQuota:
		st = wire.StatusNotSupported
	default:
		st = wire.StatusInvalidParameter
	}
	return r.finishInfo(&iq, st)
}

// finishInfo builds the response.
func (r *request) finishInfo(iq *infoQuery, st wire.Status) wire.Status {
	if st.Failed() && st != wire.StatusBufferOverflow {
		return st
	}
	n := len(iq.out) - wire.HeaderLen - wire.OutputResponseLen
	if n > int(iq.q.OutputLength) {
		n, st = int(iq.q.OutputLength), wire.StatusBufferOverflow
	}
	r.out = iq.out[:wire.HeaderLen+wire.OutputResponseLen+n]
	wire.PutOutputLength(r.out, n)
	return st
}

// row runs a row of a table, if the open has a right that allows it and the client gives room for at least the fixed
// part.
func (iq *infoQuery) row(row infoRow, known bool, least int) wire.Status {
	switch {
	case !known:
		return wire.StatusInvalidInfoClass
	case int(iq.q.OutputLength) < least:
		return wire.StatusInfoLengthMismatch
	case row.access != 0 && iq.o.granted&row.access == 0:
		return wire.StatusAccessDenied
	}
	return row.run(iq)
}

// file answers a query of a file's information class (MS-SMB2 3.3.5.20.1).
func (iq *infoQuery) file() wire.Status {
	least, ok := wire.MinQueryFile(iq.q.Class)
	row, known := fileQueries[iq.q.Class]
	return iq.row(row, ok && known, least)
}

// filesystem answers a query of a file system's information class (MS-SMB2 3.3.5.20.2).
func (iq *infoQuery) filesystem() wire.Status {
	least, ok := wire.MinQueryFilesystem(iq.q.Class)
	row, known := filesystemQueries[iq.q.Class]
	return iq.row(row, ok && known, least)
}

// with returns an infoRow.run function that appends what f returns for the open's info.
func with(f func(iq *infoQuery, i *info) []byte) func(*infoQuery) wire.Status {
	return func(iq *infoQuery) wire.Status {
		i, err := iq.o.info(iq.ctx)
		if err != nil {
			return statusOf(err)
		}
		iq.out = f(iq, &i)
		return wire.StatusSuccess
	}
}

// appendix is the data of an information class.
type appendix interface{ Append([]byte) []byte }

// say appends the data of an information class.
func (iq *infoQuery) say(a appendix) wire.Status {
	iq.out = a.Append(iq.out)
	return wire.StatusSuccess
}
