package smb

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs/posix"
)

// overlapping is a server that publishes one directory three times: as "whole" and "again", and its subdirectory "sub" as "part".
// The clients are those of the three shares.
func overlapping(t *testing.T) (e *env, dir string, whole, again, part *fileClient) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	e = newEnv(t, nil)
	var shares []*Share
	for name, root := range map[string]string{"whole": dir, "again": dir, "part": filepath.Join(dir, "sub")} {
		fs, err := posix.New(posix.Config{Root: root, StateDir: t.TempDir(), Share: name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := fs.Close(); err != nil {
				t.Error(err)
			}
		})
		shares = append(shares, &Share{Name: name, FS: fs})
	}
	e.srv.SetShares(shares)
	t.Cleanup(func() {
		deadline := time.Now().Add(smbtest.Timeout)
		for e.srv.cfg.Locks.Counts().Files+e.links() > 0 {
			if time.Now().After(deadline) {
				t.Fatalf("left: %+v, %d links", e.srv.cfg.Locks.Counts(), e.links())
			}
			time.Sleep(time.Millisecond)
		}
	})
	mount := func(share string, d wire.Dialect) *fileClient {
		c := &fileClient{e.loggedIn(d), e}
		c.Tree(`\\server\`+share, 0)
		return c
	}
	return e, dir, mount("whole", wire.Dialect210), mount("again", wire.Dialect210), mount("part", wire.Dialect210)
}

// sharingNothing is a CREATE that shares nothing.
func sharingNothing(name string, d wire.CreateDisposition) wire.CreateRequest {
	q := want(name, d)
	q.ShareAccess = 0
	return q
}

// Share modes hold for the file, whichever share it is opened through.
func TestSharesOfOneDirectory(t *testing.T) {
	_, _, whole, again, part := overlapping(t)
	for _, c := range []*fileClient{whole, again} {
		f := c.must(sharingNothing(`sub\f`, wire.FileOpenIf)).FileID
		for _, o := range []struct {
			c    *fileClient
			name string
		}{{whole, `sub\f`}, {again, `sub\f`}, {part, `f`}} {
			if r, st := o.c.create(sharingNothing(o.name, wire.FileOpenIf)); st != wire.StatusSharingViolation {
				t.Errorf("a second open that shares nothing: %v", st)
				if st == 0 {
					o.c.closeFile(r.FileID)
				}
			}
		}
		c.closeFile(f)
	}
	f := part.must(sharingNothing("f", wire.FileOpen)).FileID
	if _, st := whole.create(sharingNothing(`sub\f`, wire.FileOpen)); st != wire.StatusSharingViolation {
		t.Errorf("through the share above: %v", st)
	}
	part.closeFile(f)
}

// An oplock is broken by an open through another share.
func TestOplockAcrossShares(t *testing.T) {
	_, _, whole, _, part := overlapping(t)
	r := whole.must(caching(`sub\f`, levelBatch))
	if r.OplockLevel != levelBatch {
		t.Fatalf("level %d", r.OplockLevel)
	}
	waits := part.start(want("f", wire.FileOpen))
	whole.broken(r.FileID, levelII)
	whole.closeFile(r.FileID)
	part.closeFile(part.finish(waits, wire.StatusSuccess).FileID)
}

// A file that is to be deleted is opened through no share, and goes with the last open of all of them. Each share has its own paths.
func TestDeletePendingAcrossShares(t *testing.T) {
	_, dir, whole, again, part := overlapping(t)
	a := whole.must(want(`sub\f`, wire.FileCreate)).FileID
	b := part.must(want("f", wire.FileOpen)).FileID
	if got := part.all(b).Name; got != `\f` {
		t.Errorf("the name in the share of the subdirectory is %q", got)
	}
	if got := whole.all(a).Name; got != `\sub\f` {
		t.Errorf("the name is %q", got)
	}
	part.renameTo(b, wire.FileRenameInformation, "g", 0, 0)
	if got := whole.all(a).Name; got != `\sub\g` {
		t.Errorf("after the rename the name is %q", got)
	}
	whole.set(a, wire.FileDispositionInformation, []byte{1}, 0)
	whole.closeFile(a)
	for _, o := range []struct {
		c    *fileClient
		name string
	}{{again, `sub\g`}, {part, "g"}} {
		if _, st := o.c.create(want(o.name, wire.FileOpen)); st != wire.StatusDeletePending {
			t.Errorf("open of what is to be deleted: %v", st)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "sub/g")); err != nil {
		t.Errorf("deleted while it is open: %v", err)
	}
	part.closeFile(b)
	if _, err := os.Stat(filepath.Join(dir, "sub/g")); err == nil {
		t.Error("not deleted with the last open")
	}
}

// Who watches a tree is told of what is done through a share of a part of it, and the other way round.
func TestNotifyAcrossShares(t *testing.T) {
	_, _, whole, again, part := overlapping(t)
	top := again.openDir("")
	again.parks(watch(top, allNames, true, anyRoom))
	sub := part.openDir("")
	part.parks(watch(sub, allNames, true, anyRoom))
	whole.closeFile(whole.must(want(`sub\one`, wire.FileCreate)).FileID)
	again.told(`+sub\one`)
	part.told("+one")
	again.parks(watch(top, allNames, true, anyRoom))
	part.parks(watch(sub, allNames, true, anyRoom))
	part.W.Send(part.Message(smbtest.Request{Command: wire.CmdCreate, Body: new(want("two", wire.FileCreate)).Append}))
	part.Recv() // the CREATE's response and the event come in any order
	part.Recv()
	again.told(`+sub\two`)
}
