package vfstest

import (
	"fmt"
	"math/rand/v2"

	"fileserver/vfs"
)

// resolve finds an object by its handle.
func (e *env) resolve(h vfs.Handle) vfs.Node {
	e.Helper()
	n, err := e.fs.Resolve(e.ctx, h)
	if err != nil {
		e.Fatalf("Resolve: %v", err)
	}
	e.Cleanup(n.Release)
	return n
}

func (e *env) unresolvable(what string, h vfs.Handle, allowed ...vfs.Status) {
	e.Helper()
	n, err := e.fs.Resolve(e.ctx, h)
	if err == nil {
		n.Release()
	}
	e.want("Resolve of "+what, err, allowed...)
}

func testHandles(e *env) {
	d := e.mkdir(e.root, "d", 0o755)
	objects := e.all(e.root)
	objects["root"] = e.root
	handles := map[vfs.Handle]string{}
	identities := map[vfs.Identity]string{{}: "nothing"}
	for name, n := range objects {
		h := n.Handle()
		if other := handles[h]; other != "" || h.IsZero() {
			e.Fatalf("handle of %s is zero or that of %q", name, other)
		}
		handles[h] = name
		got := e.resolve(h)
		if other := identities[n.Identity()]; other != "" || got.Identity() != n.Identity() {
			e.Fatalf("%s has identity %v by name, %v by handle; the first is that of %q", name, n.Identity(), got.Identity(), other)
		}
		identities[n.Identity()] = name
		if e.same(got, n); got.Kind() != n.Kind() {
			e.Fatalf("%s has kind %d by its handle", name, got.Kind())
		}
	}
	// Over renames and links, wherever the object goes.
	h, id := objects["file"].Handle(), objects["file"].Identity()
	e.rename(e.root, "file", d, "moved")
	e.contains(e.resolve(h), "content")
	if got := e.lookup(d, "moved").Identity(); got != id {
		e.Fatalf("a rename changed the identity from %v to %v", id, got)
	}
	e.ok("Link", e.root.Link(e.ctx, e.c, "second", e.resolve(h)))
	e.remove(d, "moved", false)
	e.contains(e.resolve(h), "content")
	inner := e.mkdir(objects["dir"], "inner", 0o755)
	e.rename(e.root, "dir", d, "dir")
	e.same(e.resolve(inner.Handle()), inner)
	e.same(e.node(e.resolve(inner.Handle()).Parent(e.ctx, e.c)), objects["dir"])

	e.unresolvable("nothing", vfs.Handle{}, vfs.ErrBadHandle)
	raw := h.Append(nil)
	rng := rand.New(rand.NewPCG(1, 2))
	for bit := range len(raw) * 8 {
		bad := append([]byte(nil), raw...)
		bad[bit/8] ^= 1 << (bit % 8)
		g, _ := vfs.HandleFrom(bad)
		e.unresolvable(fmt.Sprintf("a handle with bit %d flipped", bit), g, vfs.ErrStale, vfs.ErrBadHandle)
	}
	for n := 1; n <= vfs.MaxHandle; n++ {
		bad := make([]byte, n)
		copy(bad, raw)
		for i := n / 2; i < n; i++ {
			bad[i] = byte(rng.Uint32())
		}
		if g, _ := vfs.HandleFrom(bad); g != h {
			e.unresolvable(fmt.Sprintf("%d bytes", n), g, vfs.ErrStale, vfs.ErrBadHandle)
		}
	}
	other := newEnv(e.T, e.newFS, e.opt)
	of := other.file(other.root, "f", "")
	e.unresolvable("another file system's handle", of.Handle(), vfs.ErrStale, vfs.ErrBadHandle)
}

// testUnlinked checks the life of an object without a name.
func testUnlinked(e *env) {
	for _, how := range []string{"remove", "replace"} {
		n, created, err := e.root.Create(e.ctx, e.c, "f", true, mode(0o644))
		if err != nil || !created {
			e.Fatalf("Create: %v", err)
		}
		h := n.Handle()
		f, err := n.Open(e.ctx, e.c, vfs.OpenRead|vfs.OpenWrite)
		e.ok("Open", err)
		n.Release()
		e.write(f, "before", 0)
		if how == "remove" {
			e.remove(e.root, "f", false)
		} else {
			e.file(e.root, "g", "")
			e.rename(e.root, "g", e.root, "f")
		}
		if got := e.read(f, 0, 10); got != "before" {
			e.Fatalf("an open file reads %q after %s", got, how)
		}
		e.write(f, "after", 6)
		if got := e.read(f, 0, 20); got != "beforeafter" {
			e.Fatalf("an open file reads %q after %s", got, how)
		}
		e.ok("Commit", f.Commit(e.ctx, 0, 0))
		if a := e.attr(f); a.Nlink != 0 || a.Size != 11 {
			e.Fatalf("after %s: %+v", how, a)
		}
		again, err := e.fs.Resolve(e.ctx, h)
		e.ok("Resolve of an open file without a name", err)
		if a := e.attr(again); a.Size != 11 {
			e.Fatalf("after %s: %+v", how, a)
		}
		e.want("Link of what has no name", e.root.Link(e.ctx, e.c, "again", again), vfs.ErrNotFound, vfs.ErrStale)
		again.Release()
		e.ok("Close", f.Close())
		e.unresolvable("a removed file", h, vfs.ErrStale)
	}
}

// testReopen checks what a restart must leave.
func testReopen(e *env) {
	if e.opt.Reopen == nil {
		return
	}
	handles := map[string]vfs.Handle{"root": e.root.Handle()}
	ids := map[string]uint64{}
	for name, n := range e.all(e.root) {
		handles[name] = n.Handle()
		ids[name] = e.attr(n).FileID
	}
	sub := e.mkdir(e.lookup(e.root, "dir"), "sub", 0o755)
	handles["sub"] = sub.Handle()
	removed := e.file(e.root, "removed", "")
	gone := removed.Handle()
	f := e.open(e.lookup(e.root, "file"), vfs.OpenWrite)
	if _, err := f.WriteAt(e.ctx, []byte("C"), 0, vfs.FileSync); err != nil {
		e.Fatal(err)
	}
	e.ok("Commit", f.Commit(e.ctx, 0, 0))
	e.remove(e.root, "removed", false)
	e.ok("SyncMeta", e.fs.SyncMeta(e.ctx, e.root, sub))
	caps := e.fs.Caps()

	next := *e
	next.fs = e.opt.Reopen(e.T, e.fs)
	if got := next.fs.Caps(); got != caps {
		e.Fatalf("Caps are %+v after a restart, and were %+v", got, caps)
	}
	next.root = next.node(next.fs.Root(e.ctx))
	for name, h := range handles {
		n := next.resolve(h)
		if want := ids[name]; want != 0 {
			if got := next.attr(n).FileID; got != want {
				e.Errorf("%s has file id %d after a restart, and had %d", name, got, want)
			}
			next.same(next.lookup(next.root, name), n)
		}
	}
	next.contains(next.resolve(handles["file"]), "Content")
	next.same(next.node(next.resolve(handles["sub"]).Parent(e.ctx, e.c)), next.resolve(handles["dir"]))
	next.unresolvable("what was removed before the restart", gone, vfs.ErrStale)
	n := next.file(next.root, "new", "")
	for name, h := range handles {
		if n.Handle() == h {
			e.Errorf("a new file has the handle of %s", name)
		}
	}
}
