package smb

import (
	"context"
	"math"
	"strings"

	"fileserver/smb/wire"
)

// listSlack is extra room, in bytes, for the first entry that does not fit.
const listSlack = 1024

// maxListing is the size, in bytes, of the longest list of a response. A client that gives more room has to ask
// again.
const maxListing = 1 << 20

// queryDirectoryRequest is a QUERY_DIRECTORY (MS-SMB2 3.3.5.18).
type queryDirectoryRequest struct{ wire.QueryDirectoryRequest }

func parseQueryDirectory(r *request) (operation, error) {
	q, err := wire.ParseQueryDirectoryRequest(r.msg)
	if err == nil && q.OutputLength > r.conn.neg.Load().maxTransact {
		err = wire.StatusInvalidParameter
	}
	return &queryDirectoryRequest{q}, err
}

func (q *queryDirectoryRequest) needs() needs {
	return needs{onOpen: true, file: q.FileID, bytes: max(uint64(q.OutputLength), uint64(len(q.Pattern)))}
}

func (q *queryDirectoryRequest) run(ctx context.Context, r *request) wire.Status {
	o := r.open
	posix := r.conn.neg.Load().posix
	switch {
	case !o.dir:
		return wire.StatusInvalidParameter
	case o.granted&wire.FileListDirectory == 0:
		return wire.StatusAccessDenied
	case !wire.IsDirClass(q.Class), q.Class == wire.FilePosixInformation && !posix:
		return wire.StatusInvalidInfoClass
	}
	pattern, err := wire.UTF16(q.Pattern)
	if err != nil || strings.ContainsAny(pattern, "\\/\x00") {
		return wire.StatusObjectNameInvalid
	}
	room := min(int(q.OutputLength), maxListing)
	if r.room(wire.OutputResponseLen+room+listSlack) != nil {
		return statusDrop
	}
	r.out = wire.AppendOutputResponse(r.out, 0, 0)
	w := searcher{
		ctx: ctx, c: r.cred(), o: o, s: &o.search, view: o.share.view(), class: q.Class, posix: posix,
		list: wire.NewList(r.out, room), max: math.MaxInt,
	}
	if q.Flags&wire.QueryDirectoryReturnSingleEntry != 0 {
		w.max = 1
	}
	return r.search(&w, pattern, q.Flags)
}

// search returns the next entries.
func (r *request) search(w *searcher, pattern string, flags uint8) wire.Status {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun || flags&(wire.QueryDirectoryRestartScans|wire.QueryDirectoryReopen) != 0 {
		s.restart(pattern)
	}
	err := w.run()
	switch {
	case !w.list.Empty(): // if there was an error, the next request gets it
		r.out = w.list.Bytes()
		wire.PutOutputLength(r.out, w.list.Len())
		return wire.StatusSuccess
	case err != nil:
		return statusOf(err)
	case w.full:
		return wire.StatusInfoLengthMismatch // not even one entry fits
	case s.given:
		return wire.StatusNoMoreFiles
	}
	s.given = true // the client gets NO_SUCH_FILE only once
	return wire.StatusNoSuchFile
}

// pathElems returns the elements of a path.
func pathElems(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}
