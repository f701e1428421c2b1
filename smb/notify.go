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

// maxChanges is how much is kept of changes that nobody has asked for yet, bytes of a response, whatever room the client gives.
const maxChanges = 256 << 10

// changes are what an open directory's client has not been told of yet (MS-FSA 2.1.1.5 ChangeNotifyEntry). The first
// CHANGE_NOTIFY says what is watched, and how much is kept, for as long as the directory is open.
//
// mu is a leaf but for the workers' queue.
type changes struct {
	mu     sync.Mutex
	closed bool
	watch  *notify.Watch
	room   int // bytes of events that are kept
	size   int // bytes of those that are
	events []wire.Notify
	lost   bool          // there were more
	queue  []*changeWait // in the order they came
}

// begin begins to watch, unless that has been done. It fails if the open has been closed.
func (s *changes) begin(ctx context.Context, o *Open, q *wire.ChangeNotifyRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.watch != nil {
		return !s.closed
	}
	s.room = min(int(q.OutputLength), maxChanges)
	tree := q.Flags&wire.ChangeNotifyWatchTree != 0
	s.watch = o.hub().Watch(ctx, o.tree.share.FS, o.node, o.cred, notify.What(q.Filter), tree, s.tell)
	return true
}

// arrived queues a CHANGE_NOTIFY, whenever it will be executed: what there is to tell is told in the order of the requests.
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

// take takes w out of the queue if it has something to answer; otherwise it is parked there, if that is asked for.
func (s *changes) take(w *changeWait, park bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case w.status != wire.StatusSuccess:
	case s.closed:
		w.status = wire.StatusNotifyCleanup
	case s.queue[0] == w && s.fill(w):
	default:
		w.parked = park
		return false
	}
	s.remove(w)
	return true
}

// fill gives w what there is to tell, if there is anything. mu is held.
func (s *changes) fill(w *changeWait) bool {
	switch {
	case s.lost:
		w.status = wire.StatusNotifyEnumDir
	case len(s.events) > 0:
		w.events = s.events
	default:
		return false
	}
	s.events, s.size, s.lost = nil, 0, false
	return true
}

// remove takes w out of the queue. mu is held.
func (s *changes) remove(w *changeWait) {
	w.queued = false
	s.queue = slices.DeleteFunc(s.queue, func(x *changeWait) bool { return x == w })
}

// first takes out of the queue the one that waits for what there is to tell: nil if there is none, or nothing. mu is held; the caller
// resumes it without.
func (s *changes) first() *changeWait {
	if len(s.queue) == 0 || !s.queue[0].parked || !s.fill(s.queue[0]) {
		return nil
	}
	w := s.queue[0]
	s.remove(w)
	return w
}

// end ends a wait with a status.
func (s *changes) end(w *changeWait, st wire.Status) {
	s.mu.Lock()
	if !w.queued {
		s.mu.Unlock()
		return
	}
	w.status = st
	if !w.parked {
		s.mu.Unlock()
		return // it will find out
	}
	s.remove(w)
	s.mu.Unlock()
	w.resume()
}

// abandon takes w out of the queue, if it is still there.
func (s *changes) abandon(w *changeWait) {
	s.mu.Lock()
	var next *changeWait
	if w.queued {
		s.remove(w)
		next = s.first()
	}
	s.mu.Unlock()
	next.resume()
}

// resume goes on with the request of one taken out of the queue; of nil it does nothing.
func (w *changeWait) resume() {
	if w != nil {
		w.r.resume(w.answer)
	}
}

// tell is told of changes that belong together.
func (s *changes) tell(list []notify.Event) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	gone := false
	for i := range list {
		switch e := &list[i]; e.Action {
		case notify.Gone:
			gone = true
		case notify.Lost:
			s.drop()
		default:
			name := visiblePath(e.Name)
			if e.Stream != "" {
				name += ":" + e.Stream + ":$DATA"
			}
			s.keep(wire.Notify{Action: wire.NotifyAction(e.Action), Name: name})
		}
	}
	woken := []*changeWait{s.first()}
	if gone {
		woken = append(woken, s.endAll(wire.StatusDeletePending)...)
	}
	s.mu.Unlock()
	for _, w := range woken {
		w.resume()
	}
}

// keep keeps an event. mu is held.
func (s *changes) keep(e wire.Notify) {
	if n := len(s.events); s.lost || n > 0 && e.Action == wire.FileActionModified && s.events[n-1] == e {
		return
	}
	if s.size = notifySize(s.size, e.Name); s.size > s.room {
		s.drop()
		return
	}
	s.events = append(s.events, e)
}

// drop gives up keeping events. mu is held.
func (s *changes) drop() { s.events, s.size, s.lost = nil, 0, true }

// endAll ends all waits. mu is held; the caller resumes without those that it returns.
func (s *changes) endAll(st wire.Status) (parked []*changeWait) {
	s.queue = slices.DeleteFunc(s.queue, func(w *changeWait) bool {
		w.status = st
		if w.parked {
			w.queued = false
			parked = append(parked, w)
		}
		return w.parked
	})
	return parked
}

// close ends everything: the directory is being closed.
func (s *changes) close() {
	s.mu.Lock()
	watch := s.watch
	s.closed, s.watch, s.events = true, nil, nil
	woken := s.endAll(wire.StatusNotifyCleanup)
	s.mu.Unlock()
	if watch != nil {
		watch.Close()
	}
	for _, w := range woken {
		w.resume()
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

// hub is where changes are reported.
func (o *Open) hub() *notify.Hub { return &o.session.srv.cfg.Locks.Changes }

// changed reports that something of what is open has changed.
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
		ref, _ := o.session.srv.streams.where(o.stream.s)
		c.Action, c.Stream = notify.ModifiedStream, ref.Name
	}
	hub.Report(ctx, o.tree.share.FS, c)
}

// streamed reports that the open's stream has come or gone.
func (o *Open) streamed(ctx context.Context, a notify.Action, stream string) {
	if !o.hub().Wants(notify.StreamName) {
		return
	}
	if dir, name, st := o.parent(ctx); st == wire.StatusSuccess {
		o.hub().Report(ctx, o.tree.share.FS, notify.Change{Dir: dir, Path: parentPath(o.path()), Name: name, Stream: stream, Action: a, What: notify.StreamName})
		dir.Release()
	}
}

// streamShift is how far the aspects of a stream's data are from those of a file's.
const streamShift = 7

// written reports a write that ended at end.
func (o *Open) written(ctx context.Context, end int64) {
	const data = notify.Size | notify.LastWrite
	if !o.hub().Wants(data | data<<streamShift) {
		return
	}
	what := notify.LastWrite
	if a, err := o.file.GetAttr(ctx, vfs.AttrSize); err == nil && a.Size == uint64(end) {
		what |= notify.Size // it has grown, as far as one can see
	}
	o.changed(ctx, what)
}

// added reports a new name.
func (o *Open) added(ctx context.Context, obj *namespace.Object, k vfs.Kind) {
	o.hub().Report(ctx, o.tree.share.FS, notify.Change{Dir: obj.Dir, Path: parentPath(obj.Path), Name: obj.Name, Action: notify.Added, What: notify.NameOf(k)})
}

// renamed reports that a name has become the one of obj, and has replaced what is obj.Node.
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
	o.hub().Report(ctx, o.tree.share.FS, list...)
}

// parentPath is the path of the directory that a path's last element is in.
func parentPath(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }
