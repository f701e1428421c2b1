package smb

import (
	"context"

	"fileserver/smb/wire"
)

// changeNotifyRequest is a CHANGE_NOTIFY (MS-SMB2 3.3.5.19, MS-FSA 2.1.5.11). It is answered when there are changes.
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
	if q.w == nil || q.w.o != o { // the CREATE that opened the directory is in the same message
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
		// The later requests of the message would have to wait longer than any client does (MS-SMB2 appendix A on
		// 3.3.5.2.7).
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

// changeWait is the state of a CHANGE_NOTIFY from its arrival on. While it is queued, the mutex of the open's changes
// guards its fields; afterwards they belong to the request.
type changeWait struct {
	o      *Open
	wait   *wait // ends when the request can be answered; nil: the request is not waiting
	room   int   // bytes
	queued bool
	status wire.Status // the status of the response; on success the response has events
	events []wire.Notify
}

// enqueue puts the request into the queue of the directory, in which it is answered.
func (q *changeNotifyRequest) enqueue(o *Open) {
	if o.dir {
		q.w = o.changes.arrived(o)
	}
}

// release removes the request from the queue, if a failure has left it there.
func (q *changeNotifyRequest) release() {
	if w := q.w; w != nil {
		q.w = nil
		w.o.changes.abandon(w)
	}
}

// answer builds the response.
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

// notified builds a response without events, whose status says why there are none.
func (r *request) notified(st wire.Status) wire.Status {
	if !st.Failed() {
		r.out = wire.AppendOutputResponse(r.out, 0, 0)
	}
	return st
}

// notifySize returns the size, in bytes, of a list of FILE_NOTIFY_INFORMATION that has size bytes and gets one more
// entry (MS-FSCC 2.7.1).
func notifySize(size int, name string) int { return (size+3)&^3 + 12 + wire.UTF16Len(name) }
