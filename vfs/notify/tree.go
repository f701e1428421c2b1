package notify

import (
	"context"
	"slices"
	"strings"
	"sync"

	"fileserver/vfs"
)

// maxDepth bounds, in directories, how far above a change watches of trees are searched for.
const maxDepth = 512

// system is the identity that finds out where directories are.
var system = &vfs.Cred{}

// above adds the events of a change for the watches of the trees that contain it, without the watches of the
// directory itself. If another FS publishes a directory further up, the trees watched there count too.
func (h *Hub) above(ctx context.Context, fs vfs.FS, c *Change, told []*delivery) []*delivery {
	a := ascent{hub: h, change: c, at: c.Dir, name: c.Name, path: c.Path, told: told}
	defer a.release()
	if !a.climb(ctx) {
		return a.told
	}
	root, name, way := a.at, a.name, slices.Clip(a.way)
	a.seen = make(map[vfs.Identity]bool)
	for _, other := range h.otherTrees(fs, c.Dir.Identity()) {
		if n, err := other.Find(ctx, root); err == nil {
			a.held = append(a.held, n)
			a.at, a.name, a.path, a.way = n, name, "", way
			a.climb(ctx)
		}
	}
	return a.told
}

// otherTrees returns the other FSes with watched trees that may contain the directory, which is of fs.
func (h *Hub) otherTrees(fs vfs.FS, dir vfs.Identity) (all []vfs.Finder) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for t := range h.trees {
		if f, ok := t.fs.(vfs.Finder); ok && t.fs != fs && t.stored == dir.FS {
			all = append(all, f)
		}
	}
	return all
}

// ascent is the state of going up from a change.
type ascent struct {
	hub    *Hub
	change *Change
	at     vfs.Node
	name   string     // of the changed object, relative to at
	path   string     // of at, if known; a hint
	way    []vfs.Node // directories below at, down to the change's
	held   []vfs.Node
	seen   map[vfs.Identity]bool // directories whose watches have the event; nil if no directory can come twice
	told   []*delivery
}

func (a *ascent) release() {
	for _, n := range a.held {
		n.Release()
	}
}

// climb delivers to the watches of trees on the way to the root, and reports whether it reached the root.
func (a *ascent) climb(ctx context.Context) bool {
	for range maxDepth {
		up, err := a.at.Parent(ctx, system)
		if err != nil {
			return false // it has been removed meanwhile
		}
		a.held = append(a.held, up)
		if up.Identity() == a.at.Identity() {
			return true
		}
		hint := a.path[strings.LastIndexByte(a.path, '/')+1:]
		a.path = strings.TrimSuffix(a.path[:len(a.path)-len(hint)], "/")
		own := a.hub.names.find(ctx, up, a.at, hint)
		if own == "" {
			return false
		}
		a.name = own + "/" + a.name
		a.way = append(a.way, a.at)
		a.at = up
		a.tell(ctx)
	}
	return false
}

// tell delivers to the watches of the tree below the directory.
func (a *ascent) tell(ctx context.Context) {
	dir := a.at.Identity()
	if a.seen[dir] {
		return
	}
	if a.seen != nil {
		a.seen[dir] = true
	}
	a.hub.mu.RLock()
	list := a.hub.watches[dir]
	a.hub.mu.RUnlock()
	for _, w := range list {
		if w.tree && visible(ctx, a.way, w.cred) {
			a.told = w.add(a.told, a.change, a.name)
		}
	}
}

// visible reports whether c may list all the directories.
func visible(ctx context.Context, way []vfs.Node, c *vfs.Cred) bool {
	const need = vfs.AccessRead | vfs.AccessLookup
	for _, n := range way {
		if got, err := n.Access(ctx, c, need); err != nil || got != need {
			return false
		}
	}
	return true
}

// maxNames bounds the cached names of directories.
const maxNames = 4096

// nameCache caches names of directories. Every name is checked before it is used. mu is a leaf.
type nameCache struct {
	mu sync.Mutex
	m  map[vfs.Identity]string
}

// find returns the name of a directory in the one above it, or "" if it has none any more.
func (x *nameCache) find(ctx context.Context, up, dir vfs.Node, hint string) string {
	k := dir.Identity()
	is := func(name string) bool {
		if name == "" {
			return false
		}
		n, err := up.Lookup(ctx, system, name)
		if err != nil {
			return false
		}
		defer n.Release()
		return n.Identity() == k
	}
	if is(hint) {
		return hint
	}
	x.mu.Lock()
	name := x.m[k]
	x.mu.Unlock()
	if is(name) {
		return name
	}
	if w, ok := dir.(vfs.Namer); ok {
		if at, found, err := w.Where(ctx); err == nil {
			at.Release()
			name = found
		}
	}
	if !is(name) {
		if name = scan(ctx, up, dir); !is(name) {
			return ""
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.m == nil || len(x.m) >= maxNames {
		x.m = make(map[vfs.Identity]string)
	}
	x.m[k] = name
	return name
}

// scan reads the directory up to find the name of dir.
func scan(ctx context.Context, up, dir vfs.Node) (name string) {
	a, err := dir.GetAttr(ctx, vfs.AttrFileID)
	if err != nil {
		return ""
	}
	_, _ = up.ReadDir(ctx, system, 0, vfs.AttrFileID, false, func(e *vfs.DirEntry) bool {
		if e.FileID == a.FileID {
			name = e.Name
		}
		return name == ""
	})
	return name
}
