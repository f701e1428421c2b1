package smb

import (
	"context"
	"slices"
	"strings"
	"sync"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/notify"
)

// maxChanges bounds the changes that are kept until a client asks for them, in bytes of a response, however much room
// the client gives.
const maxChanges = 256 << 10

// changes are the changes in an open directory that its client has not been told yet (MS-FSA 2.1.1.5
// ChangeNotifyEntry). The first CHANGE_NOTIFY determines what is watched and how much is kept, for as long as the
// directory is open.
//
// mu is a leaf, except that the workers' queue may be locked under it.
type changes struct {
	mu     sync.Mutex
	closed bool
	watch  *notify.Watch
	room   int // bytes of events that are kept
	size   int // bytes of the events kept now
	events []wire.Notify
	lost   bool          // some events were dropped
	queue  []*changeWait // in the order they came
}

// begin begins to watch, unless it has done so already. It returns false if the open has been closed.
func (s *changes) begin(ctx context.Context, o *Open, q *wire.ChangeNotifyRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.watch != nil {
		return !s.closed
	}
	s.room = min(int(q.OutputLength), maxChanges)
	tree := q.Flags&wire.ChangeNotifyWatchTree != 0
	s.watch = o.hub().Watch(ctx, o.share.FS, o.object(), o.cred, notify.What(q.Filter), tree, s.tell)
	return true
}

// arrived queues a CHANGE_NOTIFY on its arrival. Requests get their answers in the order of arrival, whenever they
// run.
func (s *changes) arrived(o *Open) *changeWait {
	w := &changeWait{o: o}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		w.queued = true
		s.queue = append(s.queue, w)
	}
	return w
}

// take removes w from the queue and returns true, if w can be answered. Otherwise w stays in the queue, and wt, if it
// is not nil, ends when w can be answered.
func (s *changes) take(w *changeWait, wt *wait) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case w.status != wire.StatusSuccess:
	case s.closed:
		w.status = wire.StatusNotifyCleanup
	case s.queue[0] == w && s.fillLocked(w):
		s.events, s.size, s.lost = nil, 0, false
	default:
		w.wait = wt
		return false
	}
	s.removeLocked(w)
	return true
}

// fillLocked puts the pending changes into w, and reports whether there are any.
func (s *changes) fillLocked(w *changeWait) bool {
	switch {
	case s.lost:
		w.status = wire.StatusNotifyEnumDir
	case len(s.events) > 0:
		w.events = s.events
	default:
		return false
	}
	return true
}

func (s *changes) removeLocked(w *changeWait) {
	w.queued = false
	s.queue = slices.DeleteFunc(s.queue, func(x *changeWait) bool { return x == w })
}

// answerLocked gives the pending changes to the first request of the queue, if that one is waiting.
func (s *changes) answerLocked() {
	for len(s.queue) > 0 {
		w := s.queue[0]
		if w.wait == nil || !s.fillLocked(w) {
			return
		}
		s.removeLocked(w)
		if w.wait.end(wire.StatusSuccess) {
			s.events, s.size, s.lost = nil, 0, false
			return
		}
		// The request has been cancelled, so the next one gets the changes.
	}
}

// abandon removes w from the queue, if it is still there.
func (s *changes) abandon(w *changeWait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.queued {
		s.removeLocked(w)
		s.answerLocked()
	}
}

// tell receives changes that belong together. The hub calls it.
func (s *changes) tell(list []notify.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	gone := false
	for i := range list {
		switch e := &list[i]; e.Action {
		case notify.Gone:
			gone = true
		case notify.Lost:
			s.dropLocked()
		default:
			name := visiblePath(e.Name)
			if e.Stream != "" {
				name += ":" + e.Stream + ":$DATA"
			}
			s.keepLocked(wire.Notify{Action: wire.NotifyAction(e.Action), Name: name})
		}
	}
	s.answerLocked()
	if gone {
		s.endAllLocked(wire.StatusDeletePending)
	}
}

// keepLocked appends an event to those kept, or drops all of them if there are too many.
func (s *changes) keepLocked(e wire.Notify) {
	if n := len(s.events); s.lost || n > 0 && e.Action == wire.FileActionModified && s.events[n-1] == e {
		return
	}
	if s.size = notifySize(s.size, e.Name); s.size > s.room {
		s.dropLocked()
		return
	}
	s.events = append(s.events, e)
}

// dropLocked drops the events kept, and notes that events were lost.
func (s *changes) dropLocked() { s.events, s.size, s.lost = nil, 0, true }

// endAllLocked ends all waits with the status. Requests that do not wait yet find the status when they run.
func (s *changes) endAllLocked(st wire.Status) {
	s.queue = slices.DeleteFunc(s.queue, func(w *changeWait) bool {
		if w.wait == nil {
			w.status = st
			return false
		}
		w.queued = false
		w.wait.end(st)
		return true
	})
}

// close ends all requests of the queue, because the directory is being closed.
func (s *changes) close() {
	s.mu.Lock()
	watch := s.watch
	s.closed, s.watch, s.events = true, nil, nil
	s.endAllLocked(wire.StatusNotifyCleanup)
	s.mu.Unlock()
	if watch != nil {
		watch.Close()
	}
}

// visiblePath is a path as clients see it.
func visiblePath(path string) string {
	elems := strings.Split(path, "/")
	for i := range elems {
		elems[i] = namespace.Visible(elems[i])
	}
	return strings.Join(elems, `\`)
}

// hub returns the hub to which changes are reported.
func (o *Open) hub() *notify.Hub { return &o.srv.cfg.Locks.Changes }

// changed reports to the hub that attributes or data of the open's file have changed.
func (o *Open) changed(ctx context.Context, what notify.What) {
	hub := o.hub()
	if !hub.Active() {
		return
	}
	stream := o.named()
	if data := what & (notify.Size | notify.LastWrite); stream && data != 0 {
		what = what&^data | data<<streamShift
	}
	if stream = stream && what&(notify.StreamSize|notify.StreamWrite) != 0; !hub.Wants(what) {
		return
	}
	dir, name, st := o.parent(ctx)
	if st != wire.StatusSuccess {
		return // the root, or its directory is gone
	}
	defer dir.Release()
	c := notify.Change{Dir: dir, Path: parentPath(o.path()), Name: name, Action: notify.Modified, What: what}
	if stream {
		ref, _ := o.srv.streams.where(o.stream.s)
		c.Action, c.Stream = notify.ModifiedStream, ref.Name
	}
	hub.Report(ctx, o.share.FS, c)
}

// streamed reports to the hub that the open's stream was created or deleted.
func (o *Open) streamed(ctx context.Context, a notify.Action, stream string) {
	if !o.hub().Wants(notify.StreamName) {
		return
	}
	if dir, name, st := o.parent(ctx); st == wire.StatusSuccess {
		o.hub().Report(ctx, o.share.FS, notify.Change{Dir: dir, Path: parentPath(o.path()), Name: name, Stream: stream, Action: a, What: notify.StreamName})
		dir.Release()
	}
}

// streamShift is the distance, in bits, between the change flags of a file's data and those of a stream's data.
const streamShift = 7

// written reports to the hub a write that ended at offset end.
func (o *Open) written(ctx context.Context, end int64) {
	const data = notify.Size | notify.LastWrite
	if !o.hub().Wants(data | data<<streamShift) {
		return
	}
	what := notify.LastWrite
	if a, err := o.file.GetAttr(ctx, vfs.AttrSize); err == nil && a.Size == uint64(end) {
		what |= notify.Size // the file may have grown
	}
	o.changed(ctx, what)
}

// added reports a new name to the hub.
func (o *Open) added(ctx context.Context, obj *namespace.Object, k vfs.Kind) {
	o.hub().Report(ctx, o.share.FS, notify.Change{Dir: obj.Dir, Path: parentPath(obj.Path), Name: obj.Name, Action: notify.Added, What: notify.NameOf(k)})
}

// renamed reports to the hub that a name has become the name in obj, and has replaced obj.Node if there was one.
func (o *Open) renamed(ctx context.Context, dir vfs.Node, name, path string, obj *namespace.Object) {
	if !o.hub().Active() {
		return
	}
	kind := o.object().Kind()
	what := notify.NameOf(kind)
	from := notify.Change{Dir: dir, Path: parentPath(path), Name: name, Action: notify.RenamedOld, What: what}
	to := notify.Change{Dir: obj.Dir, Path: parentPath(obj.Path), Name: obj.Name, Action: notify.RenamedNew, What: what}
	if dir.Handle() != obj.Dir.Handle() {
		from.Action, to.Action = notify.Removed, notify.Added
	}
	if kind != vfs.KindDirectory {
		to.Else = notify.Attributes | notify.Creation // as Windows does
	}
	list := []notify.Change{from, to}
	if obj.Node != nil {
		gone := to
		gone.Action, gone.What, gone.Else = notify.Removed, notify.NameOf(obj.Node.Kind()), 0
		list = []notify.Change{gone, from, to}
		o.hub().Deleted(obj.Node.Identity())
	}
	o.hub().Report(ctx, o.share.FS, list...)
}

// parentPath returns the path without its last element.
func parentPath(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }
