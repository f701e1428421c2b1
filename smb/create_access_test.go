package smb

import (
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// as mounts a share as a user.
func (e *env) as(user, password, share string) *fileClient {
	e.t.Helper()
	c := e.client()
	c.Connect(wire.Dialect311)
	c.MustLogin(user, password)
	c.Tree(`\\server\`+share, wire.StatusSuccess)
	return &fileClient{c, e}
}

// Modes and owners decide what an open may be granted (bob is 1000, of the groups 100 and 4).
func TestCreateAccess(t *testing.T) {
	e := newFileEnv(t, nil)
	const ok, denied = wire.StatusSuccess, wire.StatusAccessDenied
	for _, name := range []string{"open", "read", "none", "own"} {
		e.touch(name)
	}
	e.touch("dir", "file")
	e.setMode("open", 0o666, 0)
	e.setMode("none", 0o600, 0)
	e.setMode("own", 0o400, 1000)
	c := e.as("bob", "hidden", "data")
	for _, test := range []struct {
		name   string
		access wire.AccessMask
		d      wire.CreateDisposition
		st     wire.Status
	}{
		{"open", wire.GenericRead | wire.GenericWrite, wire.FileOpen, ok},
		{"open", wire.Delete, wire.FileOpen, denied}, // the directory is not his
		{"open", wire.GenericAll, wire.FileOpen, denied},
		{"open", wire.FileReadAttributes, wire.FileOverwrite, ok},
		{"open", wire.FileReadAttributes, wire.FileSupersede, denied},
		{"open", wire.WriteDAC, wire.FileOpen, denied},
		{"read", wire.GenericRead | wire.GenericExecute, wire.FileOpen, ok},
		{"read", wire.FileWriteData, wire.FileOpen, denied},
		{"read", wire.FileWriteAttributes, wire.FileOpen, denied},
		{"read", wire.FileReadAttributes, wire.FileOverwriteIf, denied},
		{"none", wire.FileReadData, wire.FileOpen, denied},
		{"none", wire.FileReadAttributes | wire.ReadControl | wire.Synchronize, wire.FileOpen, ok},
		{"none", wire.MaximumAllowed, wire.FileOpen, ok},
		{"none", wire.MaximumAllowed | wire.FileReadData, wire.FileOpen, denied},
		{"own", wire.FileReadData | wire.WriteDAC | wire.FileWriteAttributes, wire.FileOpen, ok},
		{"own", wire.FileWriteData, wire.FileOpen, denied},
		{"new", wire.GenericRead, wire.FileCreate, denied},
		{`dir\file`, wire.Delete, wire.FileOpen, denied},
	} {
		q := want(test.name, test.d)
		q.DesiredAccess = test.access
		r, st := c.create(q)
		if st != test.st {
			t.Errorf("%s for %#x, disposition %d: %v", test.name, test.access, test.d, st)
		}
		if st == ok {
			c.closeFile(r.FileID)
		}
	}
	if e.attr("read").Size != 10 {
		t.Error("a refused CREATE has changed the file")
	}
	e.setMode("", 0o777, 0)
	q := want("open", wire.FileOpen)
	c.closeFile(c.must(q).FileID)
	e.setMode("", 0o1777, 0) // sticky: only owners delete
	c.fails(q, denied)
	q = want("own", wire.FileOpen)
	q.DesiredAccess = wire.Delete
	c.closeFile(c.must(q).FileID)
	e.posix()
	// Whoever creates a file has it as asked, whatever mode it is made with.
	q = want("mine", wire.FileCreate)
	q.Contexts.Add(wire.CreatePosix, func(b []byte) []byte { return wire.AppendPosixCreate(b, 0o400) })
	c.closeFile(c.must(q).FileID)
	if a := e.attr("mine"); a.Mode != 0o400 || a.UID != 1000 || a.GID != 100 {
		t.Errorf("%+v", a)
	}
	c.W.Close()
}

// A read-only share.
func TestCreateReadOnly(t *testing.T) {
	e := newFileEnv(t, func(s *Share) { s.ReadOnly = true })
	e.touch("file")
	c := e.files(wire.Dialect311)
	c.fails(want("new", wire.FileOpenIf), wire.StatusAccessDenied)
	c.fails(want("file", wire.FileOpen), wire.StatusAccessDenied)
	q := want("file", wire.FileOverwrite)
	q.DesiredAccess = wire.FileReadData
	c.fails(q, wire.StatusAccessDenied)
	q = want("file", wire.FileOpen)
	q.DesiredAccess = wire.MaximumAllowed
	q.Contexts.Add(wire.CreateQueryMaximalAccess, nil)
	r := c.must(q)
	d, _ := r.Contexts.Find(wire.CreateQueryMaximalAccess)
	if m, err := wire.ParseMaximalAccessResponse(d); err != nil || m.Access != wire.FileGenericRead|wire.FileGenericExecute {
		t.Errorf("%+v %v", m, err)
	}
	c.W.Close()
}

// Share modes: what is open, with what it lets others do, against what is wanted (MS-FSA 2.1.5.1.2.2).
func TestShareModes(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("file")
	c, other := e.files(wire.Dialect311), e.files(wire.Dialect210)
	rights := []wire.AccessMask{wire.FileReadAttributes, wire.FileReadData, wire.FileWriteData, wire.Delete, wire.FileAppendData | wire.FileExecute}
	needs := []wire.ShareAccess{0, wire.FileShareRead, wire.FileShareWrite, wire.FileShareDelete, wire.FileShareWrite | wire.FileShareRead}
	for i, a := range rights {
		for sa := range wire.ShareAccess(8) {
			q := want("file", wire.FileOpen)
			q.DesiredAccess, q.ShareAccess = a, sa
			first := c.must(q)
			for j, b := range rights {
				for sb := range wire.ShareAccess(8) {
					st := wire.StatusSuccess
					if i > 0 && j > 0 && (needs[j]&^sa != 0 || needs[i]&^sb != 0) {
						st = wire.StatusSharingViolation
					}
					q.DesiredAccess, q.ShareAccess = b, sb
					r, got := other.create(q)
					if got != st {
						t.Fatalf("%#x sharing %d, then %#x sharing %d: %v", a, sa, b, sb, got)
					}
					if got == wire.StatusSuccess {
						other.closeFile(r.FileID)
					}
				}
			}
			c.closeFile(first.FileID)
		}
	}
	// Whoever overwrites writes.
	q := want("file", wire.FileOpen)
	q.DesiredAccess, q.ShareAccess = wire.FileReadData, wire.FileShareRead
	c.must(q)
	q.Disposition, q.ShareAccess = wire.FileOverwrite, 7
	other.fails(q, wire.StatusSharingViolation)
	c.W.Close()
	other.W.Close()
}

// Paths are found in any case, with the characters Linux clients map, and through links inside the share.
func TestCreateNames(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("Dir", "File")
	e.touch("Dir", "a:b")
	ctx, root := t.Context(), &vfs.Cred{}
	dir, _ := e.fs.Root(ctx)
	for name, target := range map[string]string{"link": "Dir/File", "abs": "/etc/passwd", "dlink": "Dir"} {
		n, err := dir.Symlink(ctx, root, name, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		n.Release()
	}
	dir.Release()
	c := e.files(wire.Dialect311)
	for _, name := range []string{`dir\FILE`, "DIR\\A\uf022B", `link`, `LINK`, `dlink\file`} {
		r := c.must(want(name, wire.FileOpen))
		if r.EndOfFile != 10 || r.Flags != 0 {
			t.Errorf("%s: %+v", name, r)
		}
		c.closeFile(r.FileID)
	}
	c.fails(want(`DIR\file`, wire.FileCreate), wire.StatusObjectNameCollision)
	c.closeFile(c.must(want(`DIR\New`, wire.FileCreate)).FileID)
	c.fails(want(`dir\nEW`, wire.FileCreate), wire.StatusObjectNameCollision)
	c.closeFile(c.must(want("dir\\x\uf020\uf029", wire.FileCreate)).FileID)
	if !e.exists("Dir", "New") || !e.exists("Dir", `x".`) {
		t.Error("the names are others on disk")
	}

	// A link that leads out is the client's to follow.
	q := want(`abs`, wire.FileOpen)
	r := c.Do(smbtest.Request{Command: wire.CmdCreate, Body: q.Append})[0]
	if r.Status != wire.StatusStoppedOnSymlink {
		t.Fatal(r.Status)
	}
	er, err := wire.ParseErrorResponse(r.Msg)
	if err != nil || er.ContextCount != 1 {
		t.Fatal(er, err)
	}
	ec, _, err := wire.ParseErrorContext(er.Data)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := wire.ParseSymlinkError(ec.Data); err != nil || s.Flags != 0 || string(s.Substitute) != string(wire.AppendUTF16(nil, `\etc\passwd`)) {
		t.Errorf("%+v %v", s, err)
	}
	old := e.files(wire.Dialect210)
	q.Name = wire.AppendUTF16(nil, `abs\x`)
	r = old.Do(smbtest.Request{Command: wire.CmdCreate, Body: q.Append})[0]
	er, _ = wire.ParseErrorResponse(r.Msg)
	if s, err := wire.ParseSymlinkError(er.Data); r.Status != wire.StatusStoppedOnSymlink || err != nil || s.Unparsed != 4 {
		t.Errorf("%v %+v %v", r.Status, s, err)
	}
	// The link itself, and its deletion.
	q = want("link", wire.FileOpen)
	q.Options, q.DesiredAccess = wire.FileOpenReparsePoint, wire.FileReadAttributes
	if r := c.must(q); r.FileAttributes != wire.FileAttributeReparsePoint || r.Flags != wire.CreateFlagReparsePoint {
		t.Errorf("%+v", r)
	}
	q = want("link", wire.FileOpen)
	q.Options = wire.FileDeleteOnClose
	c.closeFile(c.must(q).FileID) // a link to a file, followed: the name is the link's
	q = want("dlink", wire.FileOpen)
	q.Options |= wire.FileDeleteOnClose | wire.FileOpenReparsePoint
	c.closeFile(c.must(q).FileID)
	if e.exists("dlink") || !e.exists("Dir", "File") {
		t.Error("not the links have been deleted")
	}
	c.W.Close()
	old.W.Close()
}
