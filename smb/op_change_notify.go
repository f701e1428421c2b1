package smb

import (
	"context"

	"fileserver/smb/wire"
)

// changeNotifyRequest is a CHANGE_NOTIFY (MS-SMB2 3.3.5.19, MS-FSA 2.1.5.11): it is answered when there is something to tell.
type changeNotifyRequest struct {
	wire.ChangeNotifyRequest
	w *changeWait // its place in the queue of the directory
}

func parseChangeNotify(r *request) (operation, error) {
	q, err := wire.ParseChangeNotifyRequest(r.msg)
	if err == nil && q.OutputLength > r.conn.neg.Load().maxTransact {
		err = wire.StatusInvalidParameter
	}
	return &changeNotifyRequest{ChangeNotifyRequest: q}, err
}

func (q *changeNotifyRequest) needs() needs {
	return needs{onOpen: true, file: q.FileID, bytes: uint64(q.OutputLength)}
}

func (q *changeNotifyRequest) run(ctx context.Context, r *request) wire.Status {
	o := r.open
	switch {
	case !o.dir:
		return wire.StatusInvalidParameter
	case o.granted&wire.FileListDirectory == 0:
		return wire.StatusAccessDenied
	case o.deletePending():
		return wire.StatusDeletePending
	}
	if q.w == nil || q.w.o != o { // it is related to what has opened the directory
		q.release()
		q.enqueue(o)
	}
	w := q.w
	if !o.changes.begin(ctx, o, &q.ChangeNotifyRequest) {
		return r.notified(wire.StatusNotifyCleanup)
	}
	w.room = int(q.OutputLength)
	if o.changes.take(w, nil) {
		return q.answer(r)
	}
	if !r.last() {
		// The requests behind it would wait, for longer than any client does (MS-SMB2 appendix A on 3.3.5.2.7).
		return wire.StatusInternalError
	}
	wt, st := r.beginAsync()
	if wt == nil {
		return st
	}
	if o.changes.take(w, wt) {
		return q.answer(r)
	}
	return statusParked
}

// resumed implements resumer.
func (q *changeNotifyRequest) resumed(r *request, st wire.Status) (wire.Status, bool) {
	if st != wire.StatusSuccess {
		return r.notified(st), false
	}
	return q.answer(r), false
}

// changeWait is a CHANGE_NOTIFY from its arrival on. Its fields are guarded by the mutex of the open's changes as
// long as it is queued; then they are the request's.
type changeWait struct {
	o      *Open
	wait   *wait // that ends when there is something to answer; nil: it is not waiting
	room   int   // bytes
	queued bool
	status wire.Status // with which it ends; success: with events
	events []wire.Notify
}

// enqueue puts the request into the queue of the directory, in which it is answered.
func (q *changeNotifyRequest) enqueue(o *Open) {
	if o.dir {
		q.w = o.changes.arrived(o)
	}
}

// release takes the request out of the queue, if it has been left there by something that failed.
func (q *changeNotifyRequest) release() {
	if w := q.w; w != nil {
		q.w = nil
		w.o.changes.abandon(w)
	}
}

// answer makes the response.
func (q *changeNotifyRequest) answer(r *request) wire.Status {
	w := q.w
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
