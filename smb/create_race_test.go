package smb

import (
	"context"
	"sync/atomic"
	"testing"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// hookFS is a file system that lets a test in between what the server does. Set before the clients work.
type hookFS struct {
	vfs.FS
	created func(name string)       // a file has been made
	link    func(name string) error // is about to be linked
	looked  func(name string)       // a name has been looked up
}

type hookNode struct {
	vfs.Node
	fs *hookFS
}

func (f *hookFS) Root(ctx context.Context) (vfs.Node, error) {
	n, err := f.FS.Root(ctx)
	return f.wrap(n, err)
}

func (f *hookFS) Resolve(ctx context.Context, h vfs.Handle) (vfs.Node, error) {
	n, err := f.FS.Resolve(ctx, h)
	return f.wrap(n, err)
}

func (f *hookFS) wrap(n vfs.Node, err error) (vfs.Node, error) {
	if err != nil {
		return nil, err
	}
	return &hookNode{n, f}, nil
}

func (n *hookNode) Lookup(ctx context.Context, c *vfs.Cred, name string) (vfs.Node, error) {
	x, err := n.Node.Lookup(ctx, c, name)
	if looked := n.fs.looked; looked != nil {
		looked(name)
	}
	return n.fs.wrap(x, err)
}

func (n *hookNode) Create(ctx context.Context, c *vfs.Cred, name string, excl bool, s *vfs.SetAttr) (vfs.Node, bool, error) {
	x, created, err := n.Node.Create(ctx, c, name, excl, s)
	if err != nil {
		return nil, false, err
	}
	if n.fs.created != nil {
		n.fs.created(name)
	}
	return &hookNode{x, n.fs}, created, nil
}

func (n *hookNode) Link(ctx context.Context, c *vfs.Cred, name string, t vfs.Node) error {
	if n.fs.link != nil {
		if err := n.fs.link(name); err != nil {
			return err
		}
	}
	return n.Node.Link(ctx, c, name, t.(*hookNode).Node)
}

func (n *hookNode) Rename(ctx context.Context, c *vfs.Cred, from string, to vfs.Node, name string) error {
	return n.Node.Rename(ctx, c, from, to.(*hookNode).Node, name)
}

// hooked is a server whose share "data" has hooks.
func hooked(t *testing.T) (*env, *hookFS) {
	h := &hookFS{}
	e := newFileEnv(t, func(s *Share) { h.FS = s.FS; s.FS = h })
	return e, h
}

// once runs f when the file of the name has been made, the first time.
func (h *hookFS) once(name string, f func()) {
	var done atomic.Bool
	h.created = func(made string) {
		if made == name && !done.Swap(true) {
			f()
		}
	}
}

// A CREATE that makes a file, and finds it open by another that does not share it, fails and leaves the file to the other.
func TestCreateLosesRace(t *testing.T) {
	e, h := hooked(t)
	a, b := e.files(wire.Dialect311), e.files(wire.Dialect311)
	var bf wire.FileID
	h.once("race", func() {
		bf = b.must(sharingNothing("race", wire.FileOpen)).FileID
		if st := b.write(bf, 0, []byte("b's data")); st != 0 {
			t.Error(st)
		}
	})
	if _, st := a.create(want("race", wire.FileOpenIf)); st != wire.StatusSharingViolation {
		t.Errorf("the CREATE that lost: %v", st)
	}
	b.mustRead(bf, 0, []byte("b's data"))
	b.closeFile(bf)
	if !e.exists("race") {
		t.Error("the winner's file is gone")
	}
}

// What the other caches of the file is broken by the CREATE that has made it.
func TestCreateBreaksOplockOfRace(t *testing.T) {
	e, h := hooked(t)
	a, b := e.files(wire.Dialect210), e.files(wire.Dialect210)
	var got wire.CreateResponse
	h.once("race", func() { got = b.must(caching("race", levelBatch)) })
	r := a.must(want("race", wire.FileOpenIf))
	if r.Action != wire.FileCreated {
		t.Errorf("action %d", r.Action)
	}
	if got.OplockLevel == levelBatch {
		b.broken(got.FileID, levelII)
	} else if got.OplockLevel > levelII {
		t.Errorf("oplock %d", got.OplockLevel)
	}
	b.closeFile(got.FileID)
	a.closeFile(r.FileID)
}

// A CREATE that fails after it has made the file does not take it away from another that has opened it meanwhile.
func TestCreateUndoneLeavesOthers(t *testing.T) {
	for _, other := range []bool{false, true} {
		e, h := hooked(t)
		a, b := e.files(wire.Dialect311), e.files(wire.Dialect311)
		var bf wire.FileID
		h.once("race", func() {
			if other {
				bf = b.must(want("race", wire.FileOpen)).FileID
			}
		})
		eas := wire.NewList(nil, 1000)
		eas.AddEA(&wire.EA{Name: []byte("color"), Value: []byte("red")})
		q := want("race", wire.FileCreate)
		q.Contexts.Add(wire.CreateEABuffer, func(b []byte) []byte { return append(b, eas.Bytes()...) })
		if _, st := a.create(q); st != wire.StatusEAsNotSupported {
			t.Fatalf("CREATE with attributes that the file system does not have: %v", st)
		}
		if e.exists("race") != other {
			t.Errorf("opened by another: %v, there: %v", other, e.exists("race"))
		}
		if other {
			b.closeFile(bf)
			if !e.exists("race") {
				t.Error("another's file is gone with its last open")
			}
		}
	}
}

// Who holds a file in the arbiter by another protocol keeps it as well.
func TestCreateLosesRaceToOtherProtocol(t *testing.T) {
	e, h := hooked(t)
	a := e.files(wire.Dialect311)
	locks := e.srv.cfg.Locks
	var claim *lock.Open
	h.once("race", func() {
		root, err := e.fs.Root(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer root.Release()
		n, err := root.Lookup(context.Background(), &vfs.Cred{}, "race")
		if err != nil {
			t.Fatal(err)
		}
		defer n.Release()
		if claim, err = locks.Open(n.Identity(), lock.CacheKey{Proto: 4, Client: 1}, lock.Read|lock.Write, lock.Read|lock.Write); err != nil {
			t.Fatal(err)
		}
	})
	if _, st := a.create(want("race", wire.FileCreate)); st != wire.StatusSharingViolation {
		t.Errorf("CREATE: %v", st)
	}
	if claim.Close(); !e.exists("race") {
		t.Error("the other's file is gone")
	}
}
