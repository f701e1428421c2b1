package smb

import (
	"testing"
	"time"

	"fileserver/smb/namespace"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// FILE_DELETE_ON_CLOSE, and what others see of it until then (MS-FSA 2.1.5.4).
func TestDeleteOnClose(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	del := want("f", wire.FileOpenIf)
	del.Options = wire.FileDeleteOnClose

	// The last open of all, which is the one that deletes.
	r := c.must(del)
	if !e.exists("f") {
		t.Fatal("it is not there")
	}
	c.closeFile(r.FileID)
	if e.exists("f") {
		t.Fatal("it is still there")
	}

	// Others keep it until they have closed it; nobody opens it meanwhile.
	first, second := c.must(del), c.must(want("f", wire.FileOpen))
	c.closeFile(c.must(want("f", wire.FileOpen)).FileID) // it is not pending yet
	c.closeFile(first.FileID)
	for d := range wire.FileOverwriteIf + 1 {
		c.fails(want("F", d), wire.StatusDeletePending)
	}
	if !e.exists("f") {
		t.Fatal("it is gone with an open left")
	}
	c.closeFile(second.FileID)
	if e.exists("f") {
		t.Fatal("it is still there")
	}
	c.closeFile(c.must(want("f", wire.FileCreate)).FileID)

	// The connection's end is a close of all.
	other := e.files(wire.Dialect300)
	other.must(del)
	other.W.Close()
	for e.links() > 0 {
		c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
	}
	if e.exists("f") {
		t.Error("it is still there")
	}

	// Without sharing the deletion nobody opens it to delete.
	r = c.must(del)
	q := want("f", wire.FileOpen)
	q.ShareAccess = wire.FileShareRead | wire.FileShareWrite
	c.fails(q, wire.StatusSharingViolation)
	c.closeFile(r.FileID)
	c.W.Close()
}

// A directory that is going to be deleted takes nothing new; one that has got something stays.
func TestDeleteDirectory(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	dir := want("d", wire.FileCreate)
	dir.Options = wire.FileDirectoryFile | wire.FileDeleteOnClose
	first := c.must(dir)
	dir.Disposition, dir.Options = wire.FileOpen, wire.FileDirectoryFile
	second := c.must(dir)
	c.closeFile(first.FileID)
	c.fails(want(`d\x`, wire.FileCreate), wire.StatusDeletePending)
	c.fails(dir, wire.StatusDeletePending)
	c.closeFile(second.FileID)
	if e.exists("d") {
		t.Error("the directory is still there")
	}
	dir.Disposition, dir.Options = wire.FileCreate, wire.FileDirectoryFile|wire.FileDeleteOnClose
	r := c.must(dir)
	c.closeFile(c.must(want(`d\x`, wire.FileCreate)).FileID)
	c.closeFile(r.FileID) // the close does not fail
	if !e.exists("d", "x") {
		t.Error("the directory is gone")
	}
	c.W.Close()
}

// open finds the server's side of an open.
func (c *fileClient) open(id wire.FileID) *Open {
	c.T.Helper()
	c.e.srv.mu.Lock()
	s := c.e.srv.sessions[c.SessionID]
	c.e.srv.mu.Unlock()
	o := s.open(id)
	if o == nil {
		c.T.Fatal("no such open")
	}
	return o
}

// What SET_INFO does of deletions and names.
func TestSetDeletePending(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("full", "x")
	e.touch("hard")
	e.node("hard", func(n vfs.Node) {
		root, _ := e.fs.Root(t.Context())
		if err := root.Link(t.Context(), &vfs.Cred{}, "other", n); err != nil {
			t.Fatal(err)
		}
		root.Release()
	})
	c := e.files(wire.Dialect311)
	ctx := t.Context()
	r := &request{}
	set := func(o *Open, on, posix bool, st wire.Status) {
		t.Helper()
		r.session = o.home.session
		flags := uint32(0)
		if on {
			flags |= wire.DispositionDelete
		}
		if posix {
			flags |= wire.DispositionPosixSemantics
		}
		if got := o.setDeletePending(ctx, r, flags); got != st {
			t.Errorf("%v, want %v", got, st)
		}
	}
	f := c.must(want("f", wire.FileCreate))
	o := c.open(f.FileID)
	set(o, true, false, wire.StatusSuccess)
	if !o.deletePending() || o.path() != "f" {
		t.Error("it is not pending")
	}
	c.fails(want("f", wire.FileOpen), wire.StatusDeletePending)
	set(o, false, false, wire.StatusSuccess)
	c.closeFile(c.must(want("f", wire.FileOpen)).FileID)
	set(o, true, true, wire.StatusSuccess) // POSIX: the name goes at once
	if e.exists("f") || !o.deletePending() {
		t.Error("the name is still there")
	}
	c.closeFile(c.must(want("f", wire.FileCreate)).FileID) // another file of the name
	o.release()
	c.closeFile(f.FileID)
	if !e.exists("f") {
		t.Error("the other file is gone")
	}

	full := want("full", wire.FileOpen)
	o = c.open(c.must(full).FileID)
	set(o, true, false, wire.StatusDirectoryNotEmpty)
	o.release()
	o = c.open(c.must(want("", wire.FileOpen)).FileID)
	set(o, true, false, wire.StatusCannotDelete)
	if _, _, st := o.parent(ctx); st != wire.StatusAccessDenied {
		t.Error(st)
	}
	o.release()

	// One name of several: the others go on.
	hard := c.must(want("hard", wire.FileOpen))
	o = c.open(hard.FileID)
	set(o, true, false, wire.StatusSuccess)
	other := c.must(want("other", wire.FileOpen))
	o.release()
	c.closeFile(hard.FileID)
	if e.exists("hard") || !e.exists("other") {
		t.Error("the wrong name is gone")
	}
	c.closeFile(other.FileID)
	c.W.Close()
}

// A rename changes the names of all that is open, and the deletion goes to the new name.
func TestMoved(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("dir", "sub", "file")
	e.touch("victim")
	c := e.files(wire.Dialect311)
	ctx := t.Context()
	rename := func(o *Open, to string) {
		t.Helper()
		dir, name, st := o.parent(ctx)
		if st != wire.StatusSuccess {
			t.Fatal(st)
		}
		defer dir.Release()
		p, _ := namespace.Parse(wire.AppendUTF16(nil, to), false)
		obj, err := o.share.view().Walk(ctx, &vfs.Cred{}, &p, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer obj.Release()
		if err := dir.Rename(ctx, &vfs.Cred{}, name, obj.Dir, obj.Name); err != nil {
			t.Fatal(err)
		}
		o.moved(ctx, &obj)
	}
	file := c.open(c.must(want(`dir\sub\file`, wire.FileOpen)).FileID)
	same := c.open(c.must(want(`dir\sub\file`, wire.FileOpen)).FileID)
	sub := c.open(c.must(want(`dir\sub`, wire.FileOpen)).FileID)
	if !sub.openBelow() || file.openBelow() {
		t.Error("openBelow")
	}
	rename(sub, `moved`)
	if file.path() != "moved/file" || same.path() != "moved/file" || sub.path() != "moved" {
		t.Errorf("%q %q %q", file.path(), same.path(), sub.path())
	}
	victim := c.open(c.must(want(`victim`, wire.FileOpen)).FileID)
	rename(file, `victim`)
	if file.path() != "victim" || same.path() != "victim" || sub.openBelow() {
		t.Errorf("%q %q", file.path(), same.path())
	}
	rename(file, `back`)
	r := &request{session: file.home.session}
	if st := same.setDeletePending(ctx, r, wire.DispositionDelete); st != wire.StatusSuccess {
		t.Error(st)
	}
	for _, o := range []*Open{file, same, sub, victim} {
		o.release()
	}
	c.W.Close()
	for e.links() > 0 {
		time.Sleep(time.Millisecond)
	}
	if e.exists("back") || e.exists("victim") || !e.exists("moved") {
		t.Error("not the renamed file has been deleted")
	}
}

// Nothing is moved into a directory that is open for deletion.
func TestRenameIntoDying(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("dir", "file")
	c := e.files(wire.Dialect311)
	dir := c.must(want("dir", wire.FileOpen))
	file := c.must(want(`dir\file`, wire.FileOpen))
	rename := func(st wire.Status) {
		t.Helper()
		info := wire.RenameInfo{Name: `dir\other`}
		q := wire.SetInfoRequest{Type: wire.InfoFile, Class: wire.FileRenameInformation, FileID: file.FileID, Input: info.Append(wire.FileRenameInformation, nil)}
		c.Call(wire.CmdSetInfo, q.Append, st)
	}
	rename(wire.StatusSharingViolation)
	c.closeFile(dir.FileID)
	rename(wire.StatusSuccess)
	if !e.exists("dir", "other") {
		t.Error("not renamed")
	}
	c.W.Close()
}

// A read-only file is deleted only by those who say that they know (MS-FSCC 2.4.12).
func TestDeleteReadOnly(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	f := c.must(want("f", wire.FileCreate)).FileID
	c.set(f, wire.FileBasicInformation, (&wire.BasicInfo{FileAttributes: wire.FileAttributeReadonly}).Append(nil), 0)
	dispose := func(flags uint32, st wire.Status) {
		t.Helper()
		c.set(f, wire.FileDispositionInformationEx, wire.AppendInfo32(nil, flags), st)
	}
	dispose(wire.DispositionDelete, wire.StatusCannotDelete)
	dispose(wire.DispositionDelete|wire.DispositionIgnoreReadonlyAttribute, 0)
	c.closeFile(f)
	if e.exists("f") {
		t.Error("it is still there")
	}
}
