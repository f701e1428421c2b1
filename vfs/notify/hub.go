package notify

import (
	"context"
	"sync"
	"sync/atomic"

	"fileserver/vfs"
)

// Hub holds all watches and delivers changes to them. The zero value is ready. All methods may be called from any
// goroutine.
type Hub struct {
	wanted atomic.Uint32 // the aspects that any watch wants; 0 if there is no watch

	mu      sync.RWMutex
	watches map[vfs.Identity][]*Watch // by directory
	counts  [32]int                   // number of watches that want each aspect
	trees   map[tree]int              // watches of trees
	sources map[vfs.Identity]*source  // of local events

	names nameCache
}

// tree says where a tree is watched: the published FS, and the file system that stores the directory.
type tree struct {
	fs     vfs.FS
	stored [16]byte
}

// Watch is one watch of a directory. Close ends it.
type Watch struct {
	hub  *Hub
	fs   vfs.FS
	dir  vfs.Identity
	tree bool
	what What
	cred *vfs.Cred
	tell func([]Event)
}

// Watch calls tell for the changes of any of what that c may see in a directory, or in the tree below it if below
// is set. The events of one call belong together. tell must not block, and may be called once more after Close. The
// caller keeps its reference to the directory.
func (h *Hub) Watch(ctx context.Context, fs vfs.FS, dir vfs.Node, c *vfs.Cred, what What, below bool, tell func([]Event)) *Watch {
	w := &Watch{hub: h, fs: fs, dir: dir.Identity(), tree: below, what: what, cred: c, tell: tell}
	h.mu.Lock()
	if h.watches == nil {
		h.watches = make(map[vfs.Identity][]*Watch)
		h.trees = make(map[tree]int)
		h.sources = make(map[vfs.Identity]*source)
	}
	h.watches[w.dir] = append(h.watches[w.dir], w)
	if k := (tree{fs, w.dir.FS}); below {
		h.trees[k]++
	}
	h.count(what|always, +1)
	s := h.sources[w.dir]
	if s == nil {
		if local, ok := dir.(vfs.Watcher); ok {
			s = newSource(h, w.dir, local)
			h.sources[w.dir] = s
		}
	}
	h.mu.Unlock()
	if s != nil {
		s.start(ctx)
	}
	return w
}

// Close ends the watch.
func (w *Watch) Close() {
	h := w.hub
	h.mu.Lock()
	list := h.watches[w.dir]
	for i, x := range list {
		if x == w {
			// A copy, because deliveries read the list without the lock.
			list = append(append([]*Watch(nil), list[:i]...), list[i+1:]...)
			break
		}
	}
	var s *source
	if len(list) == 0 {
		delete(h.watches, w.dir)
		s = h.sources[w.dir]
		delete(h.sources, w.dir)
	} else {
		h.watches[w.dir] = list
	}
	if k := (tree{w.fs, w.dir.FS}); w.tree {
		if h.trees[k]--; h.trees[k] == 0 {
			delete(h.trees, k)
		}
	}
	h.count(w.what|always, -1)
	h.mu.Unlock()
	if s != nil {
		s.stop()
	}
}

// count adds n to the number of watches of each aspect in what. The caller holds h.mu.
func (h *Hub) count(what What, n int) {
	all := What(0)
	for i := range h.counts {
		if bit := What(1) << i; what&bit != 0 {
			h.counts[i] += n
		}
		if h.counts[i] > 0 {
			all |= 1 << i
		}
	}
	h.wanted.Store(uint32(all))
}

// always is a bit that every watch sets.
const always What = 1 << 31

// Wants reports whether any watch wants any of what. If not, the caller need not report it. It costs one atomic
// load.
func (h *Hub) Wants(what What) bool { return What(h.wanted.Load())&what != 0 }

// Active reports whether there is any watch. It costs one atomic load.
func (h *Hub) Active() bool { return h.wanted.Load() != 0 }

// Report reports changes of a file system that belong together, in their order. The caller reports them after the
// operation and before the client has its answer.
func (h *Hub) Report(ctx context.Context, fs vfs.FS, changes ...Change) {
	if !h.Active() {
		return
	}
	h.report(ctx, fs, changes)
}

// report finds the watches of the changes and delivers the events.
func (h *Hub) report(ctx context.Context, fs vfs.FS, changes []Change) {
	var told []*delivery
	for i := range changes {
		c := &changes[i]
		k := c.Dir.Identity()
		h.mu.RLock()
		direct, trees, src := h.watches[k], h.mayBeBelow(fs, k), h.sources[k]
		h.mu.RUnlock()
		if src != nil {
			src.reported(c)
		}
		for _, w := range direct {
			told = w.add(told, c, c.Name)
		}
		if trees {
			told = h.above(ctx, fs, c, told)
		}
	}
	for _, d := range told {
		d.w.tell(d.events)
	}
}

// mayBeBelow reports whether the directory may be in a watched tree. The caller holds h.mu.
func (h *Hub) mayBeBelow(fs vfs.FS, dir vfs.Identity) bool {
	for t := range h.trees {
		if t.fs == fs || t.stored == dir.FS {
			return true
		}
	}
	return false
}

// delivery is the events for one watch.
type delivery struct {
	w      *Watch
	events []Event
}

// add adds the event for a change to the delivery of the watch, if the watch wants it.
func (w *Watch) add(told []*delivery, c *Change, name string) []*delivery {
	e := Event{c.Action, name, c.Stream}
	switch {
	case w.what&c.What != 0, c.Action >= Gone:
	case w.what&c.Else != 0:
		e.Action = Modified
	default:
		return told
	}
	for _, d := range told {
		if d.w == w {
			d.events = append(d.events, e)
			return told
		}
	}
	return append(told, &delivery{w, []Event{e}})
}

// Deleted reports to the watches of a directory that it is deleted or about to be deleted.
func (h *Hub) Deleted(dir vfs.Identity) {
	if h.Active() {
		h.gone(dir)
	}
}

func (h *Hub) gone(k vfs.Identity) {
	h.mu.RLock()
	list := h.watches[k]
	h.mu.RUnlock()
	for _, w := range list {
		w.tell([]Event{{Action: Gone}})
	}
}

// Changed reports a change of an object whose name the reporter does not know. The watches get it if the backend
// knows a name.
func (h *Hub) Changed(ctx context.Context, fs vfs.FS, n vfs.Node, what What) {
	if !h.Wants(what) {
		return
	}
	where, ok := n.(vfs.Namer)
	if !ok {
		return
	}
	dir, name, err := where.Where(ctx)
	if err != nil {
		return
	}
	defer dir.Release()
	h.Report(ctx, fs, Change{Dir: dir, Name: name, Action: Modified, What: what})
}
