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
	watches map[vfs.Identity][]*Watch // by directory
	counts  [32]int                   // watches that wait for each aspect
	trees   map[tree]int              // watches of trees
	sources map[vfs.Identity]*source  // of local events

	names nameCache
}

// tree says where watches of trees are: what was published, and the file system below it.
type tree struct {
	fs     vfs.FS
	stored [16]byte
}

// Watch is somebody's watch of a directory. Close ends it.
type Watch struct {
	hub  *Hub
	fs   vfs.FS
	dir  vfs.Identity
	tree bool
	what What
	cred *vfs.Cred
	tell func([]Event)
}

// Watch has tell called for the changes of what in a directory, or in the tree below it, that c may see. The events of
// one call belong together. It must not block, and may come once more after Close. The directory's
// reference stays the caller's.
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
			// Copied: who delivers goes through the list without the lock.
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
	h.report(ctx, fs, changes)
}

// report finds the watches of changes and tells them.
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

// mayBeBelow reports whether a tree is watched that the directory may be in. h.mu is held.
func (h *Hub) mayBeBelow(fs vfs.FS, dir vfs.Identity) bool {
	for t := range h.trees {
		if t.fs == fs || t.stored == dir.FS {
			return true
		}
	}
	return false
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
