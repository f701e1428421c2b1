package notify

import (
	"context"
	"sync"
	"sync/atomic"

	"fileserver/vfs"
)

// Hub knows who watches what. The zero value is ready. All methods may be called from any goroutine.
type Hub struct {
	wanted atomic.Uint32 // all that the watches wait for; 0: there are none

	mu      sync.RWMutex
	watches map[key][]*Watch
	counts  [32]int          // watches that wait for each aspect
	trees   map[[16]byte]int // watches of trees, by file system
	sources map[key]*source  // of local events

	names nameCache
}

// key is the identity of a directory.
type key struct {
	fs [16]byte
	h  vfs.Handle
}

// Watch is somebody's watch of a directory. Close ends it.
type Watch struct {
	hub  *Hub
	key  key
	tree bool
	what What
	cred *vfs.Cred
	tell func([]Event)
}

// Watch has tell called for the changes of what in a directory, or in the tree below it, that c may see. The events of
// one call belong together. It must not block, and may come once more after Close. The directory's
// reference stays the caller's.
func (h *Hub) Watch(ctx context.Context, fs vfs.FS, dir vfs.Node, c *vfs.Cred, what What, tree bool, tell func([]Event)) *Watch {
	w := &Watch{hub: h, key: key{fs.Caps().FSID, dir.Handle()}, tree: tree, what: what, cred: c, tell: tell}
	h.mu.Lock()
	if h.watches == nil {
		h.watches = make(map[key][]*Watch)
		h.trees = make(map[[16]byte]int)
		h.sources = make(map[key]*source)
	}
	h.watches[w.key] = append(h.watches[w.key], w)
	if tree {
		h.trees[w.key.fs]++
	}
	h.count(what|always, +1)
	s := h.sources[w.key]
	if s == nil {
		if local, ok := dir.(vfs.Watcher); ok {
			s = newSource(h, w.key, local)
			h.sources[w.key] = s
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
	list := h.watches[w.key]
	for i, x := range list {
		if x == w {
			// Copied: who delivers goes through the list without the lock.
			list = append(append([]*Watch(nil), list[:i]...), list[i+1:]...)
			break
		}
	}
	var s *source
	if len(list) == 0 {
		delete(h.watches, w.key)
		s = h.sources[w.key]
		delete(h.sources, w.key)
	} else {
		h.watches[w.key] = list
	}
	if w.tree {
		if h.trees[w.key.fs]--; h.trees[w.key.fs] == 0 {
			delete(h.trees, w.key.fs)
		}
	}
	h.count(w.what|always, -1)
	h.mu.Unlock()
	if s != nil {
		s.stop()
	}
}

// count notes n watches more, or fewer, of what. h.mu is held.
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

// always is waited for by every watch.
const always What = 1 << 31

// Wants reports whether somebody waits for any of what: if not, there is no need to report it. It costs one atomic load.
func (h *Hub) Wants(what What) bool { return What(h.wanted.Load())&what != 0 }

// Active reports whether anybody watches anything. It costs one atomic load.
func (h *Hub) Active() bool { return h.wanted.Load() != 0 }

// Report tells of changes of a file system that belong together, in their order. They have happened: it is called behind the
// operation, before its client has its answer.
func (h *Hub) Report(ctx context.Context, fs vfs.FS, changes ...Change) {
	if !h.Active() {
		return
	}
	h.report(ctx, fs.Caps().FSID, changes)
}

// report finds the watches of changes and tells them.
func (h *Hub) report(ctx context.Context, fs [16]byte, changes []Change) {
	var told []*delivery
	for i := range changes {
		c := &changes[i]
		k := key{fs, c.Dir.Handle()}
		h.mu.RLock()
		direct, trees, src := h.watches[k], h.trees[fs] > 0, h.sources[k]
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

// delivery is what one watch is told.
type delivery struct {
	w      *Watch
	events []Event
}

// add adds the event that a change is for the watch, if it waits for it.
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

// Deleted tells those who watch a directory that it is deleted, or is going to be.
func (h *Hub) Deleted(fs vfs.FS, dir vfs.Handle) {
	if h.Active() {
		h.gone(key{fs.Caps().FSID, dir})
	}
}

func (h *Hub) gone(k key) {
	h.mu.RLock()
	list := h.watches[k]
	h.mu.RUnlock()
	for _, w := range list {
		w.tell([]Event{{Action: Gone}})
	}
}

// Changed reports a change of an object whose name the reporter does not know. It is told if the backend knows a name.
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
