package smb

import (
	"fmt"
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// set sends a SET_INFO of a file.
func (c *fileClient) set(id wire.FileID, class wire.InfoClass, in []byte, want wire.Status) {
	c.T.Helper()
	q := wire.SetInfoRequest{Type: wire.InfoFile, Class: class, FileID: id, Input: in}
	r := c.Do(smbtest.Request{Command: wire.CmdSetInfo, Body: q.Append})[0]
	if r.Status != want {
		c.T.Errorf("SET_INFO class %d: %v, want %v", class, r.Status, want)
	}
}

func (c *fileClient) all(id wire.FileID) wire.AllInfo {
	c.T.Helper()
	out, st := c.query(id, wire.InfoFile, wire.FileAllInformation, 4096)
	if st != 0 {
		c.T.Fatal(st)
	}
	all, err := wire.ParseAllInfo(out)
	if err != nil {
		c.T.Fatal(err)
	}
	return all
}

func TestSetBasic(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	e.touch("d", "x")
	c := e.files(wire.Dialect311)
	f := c.must(want("f", wire.FileOpen)).FileID
	before := c.all(f).Basic
	when := func(s uint64) wire.Filetime { return wire.Filetime(116444736000000000 + s*10_000_000) }
	set := func(b wire.BasicInfo, st wire.Status) {
		t.Helper()
		c.set(f, wire.FileBasicInformation, b.Append(nil), st)
	}
	set(wire.BasicInfo{Times: wire.Times{Creation: when(1), LastAccess: when(2), LastWrite: when(3)}}, 0)
	got := c.all(f).Basic
	if got.Creation != when(1) || got.LastAccess != when(2) || got.LastWrite != when(3) || got.FileAttributes != before.FileAttributes {
		t.Errorf("%+v", got)
	}
	set(wire.BasicInfo{Times: wire.Times{Creation: wire.FiletimeFreeze, LastAccess: wire.FiletimeThaw}, FileAttributes: wire.FileAttributeHidden | wire.FileAttributeSystem}, 0)
	got = c.all(f).Basic
	if got.Creation != when(1) || got.LastAccess != when(2) || got.FileAttributes != wire.FileAttributeHidden|wire.FileAttributeSystem {
		t.Errorf("%+v", got)
	}
	set(wire.BasicInfo{FileAttributes: wire.FileAttributeNormal}, 0)
	if a := c.attributes(f); a != wire.FileAttributeNormal {
		t.Errorf("attributes %#x", a)
	}
	set(wire.BasicInfo{FileAttributes: wire.FileAttributeDirectory}, wire.StatusInvalidParameter)
	set(wire.BasicInfo{Times: wire.Times{LastWrite: 1<<63 + 5}}, wire.StatusInvalidParameter)
	c.set(f, wire.FileBasicInformation, make([]byte, 35), wire.StatusInfoLengthMismatch)
	set(wire.BasicInfo{FileAttributes: wire.FileAttributeReadonly}, 0)
	c.closeFile(f)
	c.fails(want("f", wire.FileOpen), wire.StatusAccessDenied) // it is not to be written
	d := c.must(want("d", wire.FileOpen)).FileID
	c.set(d, wire.FileBasicInformation, (&wire.BasicInfo{FileAttributes: wire.FileAttributeTemporary}).Append(nil), wire.StatusInvalidParameter)
	c.closeFile(d)
}

func TestSetSizes(t *testing.T) {
	c := newFileEnv(t, nil).files(wire.Dialect311)
	f := c.must(want("f", wire.FileCreate)).FileID
	size := func(class wire.InfoClass, v uint64, st wire.Status, size uint64) {
		t.Helper()
		c.set(f, class, wire.AppendInfo64(nil, v), st)
		if got := c.all(f).Standard.EndOfFile; got != size {
			t.Errorf("class %d to %d: %d bytes, want %d", class, v, got, size)
		}
	}
	const eof, alloc, valid = wire.FileEndOfFileInformation, wire.FileAllocationInformation, wire.FileValidDataLengthInformation
	size(eof, 1000, 0, 1000)
	size(eof, 100, 0, 100)
	size(alloc, 5000, 0, 100)
	size(alloc, 50, 0, 50)
	size(alloc, 1<<62, wire.StatusDiskFull, 50)
	size(eof, 1<<63, wire.StatusInvalidParameter, 50)
	size(valid, 50, 0, 50)
	size(valid, 51, wire.StatusInvalidParameter, 50)
	for _, class := range []wire.InfoClass{eof, alloc, valid, wire.FilePositionInformation} {
		c.set(f, class, make([]byte, 7), wire.StatusInfoLengthMismatch)
	}
	c.set(f, wire.FileModeInformation, wire.AppendInfo32(nil, uint32(wire.FileWriteThrough)), 0)
	c.set(f, wire.FileModeInformation, wire.AppendInfo32(nil, 1<<31), wire.StatusInvalidParameter)
	c.set(f, wire.FileInternalInformation, make([]byte, 8), wire.StatusInvalidInfoClass)
	c.closeFile(f)
	q := want("f", wire.FileOpen)
	q.DesiredAccess = wire.FileReadData | wire.FileReadAttributes
	f = c.must(q).FileID
	for _, class := range []wire.InfoClass{eof, alloc, valid, wire.FileBasicInformation, wire.FileDispositionInformation, wire.FileRenameInformation, wire.FileFullEaInformation} {
		c.set(f, class, make([]byte, 40), wire.StatusAccessDenied)
	}
	c.closeFile(f)
}

// renameTo sends a rename or link.
func (c *fileClient) renameTo(id wire.FileID, class wire.InfoClass, name string, flags uint32, st wire.Status) {
	c.T.Helper()
	i := wire.RenameInfo{Flags: flags, Name: name}
	q := wire.SetInfoRequest{Type: wire.InfoFile, Class: class, FileID: id, Input: i.Append(class, nil)}
	if r := c.Do(smbtest.Request{Command: wire.CmdSetInfo, Body: q.Append})[0]; r.Status != st {
		c.T.Errorf("class %d to %s with flags %d: %v, want %v", class, name, flags, r.Status, st)
	}
}

func TestRename(t *testing.T) {
	const (
		rename  = wire.FileRenameInformation
		ex      = wire.FileRenameInformationEx
		replace = wire.RenameReplaceIfExists
		posix   = wire.RenamePosixSemantics
	)
	e := newFileEnv(t, nil)
	for _, p := range [][]string{{"f"}, {"other"}, {"ro"}, {"d", "x"}, {"empty", "y"}} {
		e.touch(p...)
	}
	c := e.files(wire.Dialect311)
	del := want(`empty\y`, wire.FileOpen)
	del.Options = wire.FileDeleteOnClose
	c.closeFile(c.must(del).FileID)
	f := c.must(want("f", wire.FileOpen)).FileID
	name := func(want string) {
		t.Helper()
		if got := c.all(f).Name; got != `\`+want {
			t.Errorf("the name is %s, want %s", got, want)
		}
	}
	c.renameTo(f, rename, "f", 0, 0)
	c.renameTo(f, rename, "F", 0, 0)
	name("F")
	c.renameTo(f, rename, `d\g`, 0, 0)
	name(`d\g`)
	if e.exists("f") || !e.exists("d", "g") {
		t.Error("it has not moved")
	}
	c.renameTo(f, rename, `\D\h`, 0, 0)
	name(`d\h`)
	c.renameTo(f, rename, `D\X`, 0, wire.StatusObjectNameCollision)
	c.renameTo(f, rename, `D\X`, replace, 0)
	name(`d\x`)
	c.renameTo(f, rename, "empty", replace, wire.StatusAccessDenied)
	c.renameTo(f, rename, "", 0, wire.StatusObjectNameInvalid)
	c.renameTo(f, rename, `no\x`, 0, wire.StatusObjectPathNotFound)
	c.renameTo(f, rename, `other\x`, 0, wire.StatusObjectPathNotFound)
	c.renameTo(f, rename, "a*b", 0, wire.StatusObjectNameInvalid)
	c.renameTo(f, rename, ":s", 0, wire.StatusNotSupported)
	// What is open is replaced only with POSIX semantics.
	o := c.must(want("other", wire.FileOpen)).FileID
	c.renameTo(f, ex, "other", replace, wire.StatusAccessDenied)
	c.renameTo(f, ex, "other", replace|posix, 0)
	name("other")
	c.mustRead(o, 0, make([]byte, 10))
	c.closeFile(o)
	r := c.must(want("ro", wire.FileOpen)).FileID
	c.set(r, wire.FileBasicInformation, (&wire.BasicInfo{FileAttributes: wire.FileAttributeReadonly}).Append(nil), 0)
	c.closeFile(r)
	c.renameTo(f, ex, "ro", replace, wire.StatusAccessDenied)
	c.renameTo(f, ex, "ro", replace|wire.RenameIgnoreReadonlyAttribute, 0)
	name("ro")
	c.closeFile(f)
	// Directories: not with something open in them, and not below themselves.
	q := want("d", wire.FileOpen)
	q.Options = wire.FileDirectoryFile
	d := c.must(q).FileID
	in := c.must(want(`d\new`, wire.FileCreate)).FileID
	c.renameTo(d, rename, "d2", 0, wire.StatusAccessDenied)
	c.closeFile(in)
	c.renameTo(d, rename, `d\sub`, 0, wire.StatusSharingViolation) // it is open itself
	c.renameTo(d, ex, "empty", replace|posix, 0)
	if !e.exists("empty", "new") || e.exists("d") {
		t.Error("the directory has not moved")
	}
	c.closeFile(d)
	root := c.openDir("")
	c.renameTo(root, rename, "x", 0, wire.StatusAccessDenied)
	c.closeFile(root)
}

func TestLink(t *testing.T) {
	e := newFileEnv(t, nil)
	for _, n := range []string{"f", "there"} {
		e.touch(n)
	}
	e.touch("d", "x")
	c := e.files(wire.Dialect311)
	f := c.must(want("f", wire.FileOpen)).FileID
	const link = wire.FileLinkInformation
	c.renameTo(f, link, `d\l`, 0, 0)
	c.renameTo(f, link, "there", 0, wire.StatusObjectNameCollision)
	c.renameTo(f, link, "there", wire.RenameReplaceIfExists, 0)
	c.renameTo(f, link, "f", wire.RenameReplaceIfExists, 0)
	if n := c.all(f).Standard.Links; n != 3 {
		t.Errorf("%d links", n)
	}
	id := c.all(f).IndexNumber
	c.closeFile(f)
	for _, n := range []string{"f", "there", `d\l`} {
		f := c.must(want(n, wire.FileOpen)).FileID
		if got := c.all(f).IndexNumber; got != id {
			t.Errorf("%s has index number %d, not %d", n, got, id)
		}
		c.closeFile(f)
	}
	d := c.openDir("d")
	c.renameTo(d, link, "d3", 0, wire.StatusFileIsADirectory)
	c.closeFile(d)
}

func TestDisposition(t *testing.T) {
	e := newFileEnv(t, nil)
	for i := range 3 {
		e.touch(fmt.Sprint("f", i))
	}
	e.touch("d", "x")
	c := e.files(wire.Dialect311)
	f := c.must(want("f0", wire.FileOpen)).FileID
	c.set(f, wire.FileDispositionInformation, []byte{1}, 0)
	if s := c.all(f).Standard; !s.DeletePending || s.Links != 0 {
		t.Errorf("%+v", s)
	}
	c.set(f, wire.FileDispositionInformation, []byte{0}, 0)
	c.closeFile(f)
	f = c.must(want("f0", wire.FileOpen)).FileID
	c.set(f, wire.FileDispositionInformation, []byte{1}, 0)
	c.fails(want("f0", wire.FileOpen), wire.StatusDeletePending)
	c.closeFile(f)
	c.fails(want("f0", wire.FileOpen), wire.StatusObjectNameNotFound)
	f = c.must(want("f1", wire.FileOpen)).FileID
	c.set(f, wire.FileDispositionInformationEx, wire.AppendInfo32(nil, wire.DispositionDelete|wire.DispositionPosixSemantics), 0)
	if e.exists("f1") {
		t.Error("the name is still there")
	}
	c.mustRead(f, 0, make([]byte, 10))
	c.closeFile(f)
	f = c.must(want("f2", wire.FileOpen)).FileID
	c.set(f, wire.FileDispositionInformationEx, wire.AppendInfo32(nil, 1<<20), wire.StatusInvalidParameter)
	c.set(f, wire.FileDispositionInformation, nil, wire.StatusInfoLengthMismatch)
	c.closeFile(f)
	d := c.must(want("d", wire.FileOpen)).FileID
	c.set(d, wire.FileDispositionInformation, []byte{1}, wire.StatusDirectoryNotEmpty)
	c.closeFile(d)
}
