package notify

import (
	"context"
	"strings"
	"sync"

	"fileserver/vfs"
)

// maxDepth bounds how far above a change watches of trees are looked for, directories.
const maxDepth = 512

// system is who finds out where directories are.
var system = &vfs.Cred{}

// above adds what a change is for those who watch the trees that it is in, but for the directory's own watches.
func (h *Hub) above(ctx context.Context, fs [16]byte, c *Change, told []*delivery) []*delivery {
	at, name, path := c.Dir, c.Name, c.Path
	var way []vfs.Node // directories below the one looked at, up to the change's
	var held []vfs.Node
	defer func() {
		for _, n := range held {
			n.Release()
		}
	}()
	for range maxDepth {
		up, err := at.Parent(ctx, system)
		if err != nil {
			break // it has been removed meanwhile
		}
		held = append(held, up)
		if up.Handle() == at.Handle() {
			break
		}
		hint := path[strings.LastIndexByte(path, '/')+1:]
		path = strings.TrimSuffix(path[:len(path)-len(hint)], "/")
		own := h.names.find(ctx, fs, up, at, hint)
		if own == "" {
			break
		}
		name = own + "/" + name
		way = append(way, at)
		at = up
		h.mu.RLock()
		list := h.watches[key{fs, at.Handle()}]
		h.mu.RUnlock()
		for _, w := range list {
			if w.tree && visible(ctx, way, w.cred) {
				told = w.add(told, c, name)
			}
		}
	}
	return told
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

// maxNames bounds the names of directories that are remembered.
const maxNames = 4096

// nameCache remembers names of directories. What it says is checked before it is believed. mu is a leaf.
type nameCache struct {
	mu sync.Mutex
	m  map[key]string
}

// find is the name of a directory in the one above it, "" if it has none any more.
func (x *nameCache) find(ctx context.Context, fs [16]byte, up, dir vfs.Node, hint string) string {
	k := key{fs, dir.Handle()}
	is := func(name string) bool {
		if name == "" {
			return false
		}
		n, err := up.Lookup(ctx, system, name)
		if err != nil {
			return false
		}
		defer n.Release()
		return n.Handle() == k.h
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
		x.m = make(map[key]string)
	}
	x.m[k] = name
	return name
}

// scan reads a directory for a name of the one below.
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
