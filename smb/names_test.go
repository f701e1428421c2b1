package smb

import (
	"context"
	"testing"
	"time"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

// A link that replaces a file and fails leaves that file.
func TestLinkReplaceFails(t *testing.T) {
	e, h := hooked(t)
	c := e.files(wire.Dialect311)
	s := c.must(want("source", wire.FileCreate)).FileID
	x := c.must(want("target", wire.FileCreate)).FileID
	c.write(x, 0, []byte("precious"))
	c.closeFile(x)
	h.link = func(string) error { return vfs.ErrMaxLink }
	c.renameTo(s, wire.FileLinkInformation, "target", wire.RenameReplaceIfExists, wire.StatusTooManyLinks)
	h.link = nil
	x = c.must(want("target", wire.FileOpen)).FileID
	c.mustRead(x, 0, []byte("precious"))
	c.closeFile(x)
	// It replaces it where it can, and leaves no other name.
	c.write(s, 0, []byte("new"))
	c.renameTo(s, wire.FileLinkInformation, "target", wire.RenameReplaceIfExists, wire.StatusSuccess)
	x = c.must(want("target", wire.FileOpen)).FileID
	c.mustRead(x, 0, []byte("new"))
	c.closeFile(x)
	c.closeFile(s)
	if names := e.names(); len(names) != 2 {
		t.Errorf("the directory has %q", names)
	}
}

// names are the names in the root directory.
func (e *env) names() (names []string) {
	e.t.Helper()
	root, err := e.fs.Root(context.Background())
	if err != nil {
		e.t.Fatal(err)
	}
	defer root.Release()
	_, err = root.ReadDir(context.Background(), &vfs.Cred{}, 0, 0, false, func(d *vfs.DirEntry) bool {
		names = append(names, d.Name)
		return true
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return names
}

// What the server had left of a name it was about to replace when it was killed is not shown, and goes.
func TestLeftNames(t *testing.T) {
	e := newFileEnv(t, nil)
	root, err := e.fs.Root(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Release()
	old := vfs.TimeOf(time.Now().Add(-time.Hour))
	left := tempPrefix + "ABCDEFGH" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for _, name := range []string{left, tempName(), tempPrefix + "mine"} {
		n, _, err := root.Create(context.Background(), &vfs.Cred{}, name, true, &vfs.SetAttr{Mask: vfs.AttrMode | vfs.AttrMtime, Mtime: old})
		if err != nil {
			t.Fatal(err)
		}
		n.Release()
	}
	defer func(d time.Duration) { leftAfter = d }(leftAfter)
	leftAfter = 0
	c := e.files(wire.Dialect311)
	d := c.openDir("")
	list := c.listAll(d, wire.FileNamesInformation, "*", 0, 4096)
	if len(list) != 3 || list[2].Name != tempPrefix+"mine" {
		t.Errorf("listed: %+v", list)
	}
	c.closeFile(d)
	if names := e.names(); len(names) != 2 {
		t.Errorf("on disk: %q", names)
	}
}

// Between the look at a name and its removal nobody gives the name to another file.
func TestDeleteHoldsNames(t *testing.T) {
	e, h := hooked(t)
	c := e.files(wire.Dialect311)
	q := want("f", wire.FileCreate)
	q.Options = wire.FileDeleteOnClose
	f := c.must(q).FileID
	other := make(chan error, 1)
	h.looked = func(name string) {
		if name != "f" {
			return
		}
		h.looked = nil
		done := make(chan struct{})
		go func() { // as an NFS RENAME over the name
			defer close(done)
			ctx := context.Background()
			root, err := e.fs.Root(ctx)
			if err != nil {
				other <- err
				return
			}
			defer root.Release()
			defer e.srv.cfg.Locks.LockNames(root.Identity()).Unlock()
			n, _, err := root.Create(ctx, &vfs.Cred{}, "precious", true, &vfs.SetAttr{Mask: vfs.AttrMode})
			if err == nil {
				n.Release()
				err = root.Rename(ctx, &vfs.Cred{}, "precious", root, "f")
			}
			other <- err
		}()
		select {
		case <-done:
		case <-time.After(100 * time.Millisecond): // it waits for the names
		}
	}
	c.closeFile(f)
	if err := <-other; err != nil {
		t.Fatal(err)
	}
	if !e.exists("f") {
		t.Error("a file that another has given the name is deleted")
	}
}

// A rename moves no other file that has got the name meanwhile.
func TestRenameComparesName(t *testing.T) {
	e, _ := hooked(t)
	c := e.files(wire.Dialect311)
	f := c.must(want("f", wire.FileCreate)).FileID
	ctx := context.Background()
	root, err := e.fs.Root(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Release()
	if err := root.Rename(ctx, &vfs.Cred{}, "f", root, "elsewhere"); err != nil {
		t.Fatal(err)
	}
	n, _, err := root.Create(ctx, &vfs.Cred{}, "f", true, &vfs.SetAttr{Mask: vfs.AttrMode})
	if err != nil {
		t.Fatal(err)
	}
	n.Release()
	c.renameTo(f, wire.FileRenameInformation, "g", 0, wire.StatusObjectNameNotFound)
	if e.exists("g") || !e.exists("f") {
		t.Error("another's file was renamed")
	}
	c.closeFile(f)
}
