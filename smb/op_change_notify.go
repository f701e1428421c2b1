package smb

import (
	"context"

	"fileserver/smb/wire"
)

// opChangeNotify handles CHANGE_NOTIFY (MS-SMB2 3.3.5.19, MS-FSA 2.1.5.11): it is answered when there is something to tell.
func opChangeNotify(ctx context.Context, r *request) wire.Status {
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
	case o.deletePending():
		return wire.StatusDeletePending
	}
	w := r.notify
	if w == nil || w.o != o { // it is related to what has opened the directory
		r.abandon()
		w = o.changes.arrived(o)
		r.notify = w
	}
	if !o.changes.begin(ctx, o, &q) {
		return r.notified(wire.StatusNotifyCleanup)
	}
	w.r, w.room = r, int(q.OutputLength)
	if o.changes.take(w, false) {
		return w.answer(ctx, r)
	}
	if !r.last() {
		// The requests behind it would wait, for longer than any client does (MS-SMB2 appendix A on 3.3.5.2.7).
		return wire.StatusInternalError
	}
	if st := r.goAsync(w.cancel); st != wire.StatusPending {
		return st
	}
	if o.changes.take(w, true) {
		return w.answer(ctx, r)
	}
	return statusParked
}

// changeWait is a CHANGE_NOTIFY from its arrival on. Its fields are guarded by the mutex of the open's changes as
// long as it is queued; then they are the request's.
type changeWait struct {
	o      *Open
	r      *request // nil until it is being executed
	room   int      // bytes
	queued bool
	parked bool        // who takes it out of the queue resumes the request
	status wire.Status // with which it ends; success: with events
	events []wire.Notify
}

// cancel ends the wait.
func (w *changeWait) cancel(st wire.Status) { w.o.changes.end(w, st) }

// abandon has the request not wait any more, if it has been left in the queue by something that failed.
func (r *request) abandon() {
	if w := r.notify; w != nil {
		r.notify = nil
		w.o.changes.abandon(w)
	}
}

// answer makes the response.
func (w *changeWait) answer(_ context.Context, r *request) wire.Status {
	if w.status != wire.StatusSuccess {
		return r.notified(w.status)
	}
	size := 0
	for i := range w.events {
		size = notifySize(size, w.events[i].Name)
	}
	if size > w.room {
		return r.notified(wire.StatusNotifyEnumDir)
	}
	if r.room(wire.OutputResponseLen+size) != nil {
		return statusDrop
	}
	r.out = wire.AppendOutputResponse(r.out, 0, 0)
	l := wire.NewList(r.out, size)
	for i := range w.events {
		l.AddNotify(&w.events[i])
	}
	r.out = l.Bytes()
	wire.PutOutputLength(r.out, l.Len())
	return wire.StatusSuccess
}

// notified is a response without events: why there are none.
func (r *request) notified(st wire.Status) wire.Status {
	if !st.Failed() {
		r.out = wire.AppendOutputResponse(r.out, 0, 0)
	}
	return st
}

// notifySize is the size of a list of FILE_NOTIFY_INFORMATION with one entry more, bytes (MS-FSCC 2.7.1).
func notifySize(size int, name string) int { return (size+3)&^3 + 12 + wire.UTF16Len(name) }
