package smb

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

// streams lists the streams of an open's file: names, and sizes by name.
func (c *fileClient) streams(id wire.FileID) (names []string, sizes map[string]uint64) {
	c.T.Helper()
	out, st := c.query(id, wire.InfoFile, wire.FileStreamInformation, 4096)
	if st != 0 {
		c.T.Fatal(st)
	}
	list, err := wire.ParseStreams(out)
	if err != nil {
		c.T.Fatal(err)
	}
	sizes = map[string]uint64{}
	for _, s := range list {
		names, sizes[s.Name] = append(names, s.Name), s.Size
		if s.AllocationSize < s.Size && s.Name != "::$DATA" { // which may have holes
			c.T.Errorf("%+v", s)
		}
	}
	return names, sizes
}

// has wants a file or directory to have these streams.
func (c *fileClient) has(name string, want_ ...string) {
	c.T.Helper()
	q := want(name, wire.FileOpen)
	q.DesiredAccess = wire.FileReadAttributes
	id := c.must(q).FileID
	if got, _ := c.streams(id); !slices.Equal(got, want_) {
		c.T.Errorf("%s has %q, want %q", name, got, want_)
	}
	c.closeFile(id)
}

// put makes or replaces a stream.
func (c *fileClient) put(name, data string) {
	c.T.Helper()
	id := c.must(want(name, wire.FileOverwriteIf)).FileID
	if st := c.write(id, 0, []byte(data)); st != 0 {
		c.T.Fatal(st)
	}
	c.closeFile(id)
}

// Every disposition with a stream, of a file, a directory, the root, and what is not there (MS-FSA 2.1.5.1).
func TestStreamDispositions(t *testing.T) {
	const (
		ok      = wire.StatusSuccess
		missing = wire.StatusObjectNameNotFound
	)
	for d, test := range map[wire.CreateDisposition]struct {
		absent, there wire.Status
		action        wire.CreateAction // if it is there
	}{
		wire.FileSupersede:   {ok, ok, wire.FileSuperseded},
		wire.FileOpen:        {missing, ok, wire.FileOpened},
		wire.FileCreate:      {ok, wire.StatusObjectNameCollision, 0},
		wire.FileOpenIf:      {ok, ok, wire.FileOpened},
		wire.FileOverwrite:   {missing, ok, wire.FileOverwritten},
		wire.FileOverwriteIf: {ok, ok, wire.FileOverwritten},
	} {
		e := newFileEnv(t, nil)
		e.touch("file")
		e.touch("dir", "x")
		c := e.files(wire.Dialect311)
		for _, base := range []string{"file", "dir", "", "nothing"} {
			r, st := c.create(want(base+":s:$DATA", d))
			if st != test.absent || st == ok && (r.Action != wire.FileCreated || r.EndOfFile != 0 || r.FileAttributes&wire.FileAttributeDirectory != 0) {
				t.Errorf("disposition %d, %s: %v, %+v", d, base, st, r)
			}
			if st == ok {
				c.closeFile(r.FileID)
			}
			if base == "nothing" {
				if e.exists("nothing") != (st == ok) {
					t.Errorf("disposition %d: the file is there: %v", d, e.exists("nothing"))
				}
				continue
			}
			c.put(base+":S", "0123456")
			r, st = c.create(want(base+":S", d))
			size := uint64(0)
			if test.action == wire.FileOpened {
				size = 7
			}
			if st != test.there || st == ok && (r.Action != test.action || r.EndOfFile != size || r.AllocationSize < size) {
				t.Errorf("disposition %d, %s that is there: %v, %+v", d, base, st, r)
			}
			if st == ok {
				c.closeFile(r.FileID)
			}
		}
		if a := e.attr("file"); a.Size != 10 {
			t.Errorf("disposition %d: the file has %d bytes", d, a.Size)
		}
		c.W.Close()
	}
}

func TestStreamData(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	c := e.files(wire.Dialect311)
	s := c.must(want("F:Some Name", wire.FileCreate)).FileID
	if st := c.write(s, 5, []byte("world")); st != 0 {
		t.Fatal(st)
	}
	c.mustRead(s, 0, []byte("\x00\x00\x00\x00\x00world"))
	other := c.must(want("f:SOME name:$data", wire.FileOpen)).FileID
	if st := c.write(other, 0, []byte("hello")); st != 0 {
		t.Fatal(st)
	}
	c.mustRead(s, 0, []byte("helloworld"))
	if _, st := c.read(wire.ReadRequest{FileID: s, Offset: 10, Length: 1}); st != wire.StatusEndOfFile {
		t.Errorf("behind the end: %v", st)
	}
	all := c.all(s)
	if all.Name != `\f:Some Name` || all.Standard.EndOfFile != 10 || all.Standard.AllocationSize != 16 || all.Standard.Directory || all.IndexNumber != e.attr("f").FileID {
		t.Errorf("%+v", all)
	}
	if out, _ := c.query(s, wire.InfoFile, wire.FileNormalizedNameInformation, 100); len(out) == 0 {
		t.Error("no normalized name")
	} else if n, _ := wire.ParseNameInfo(out); n != "f:Some Name" {
		t.Errorf("normalized name %q", n)
	}
	if _, sizes := c.streams(other); sizes["::$DATA"] != 10 || sizes[":Some Name:$DATA"] != 10 {
		t.Errorf("%v", sizes)
	}
	c.Call(wire.CmdFlush, (&wire.FlushRequest{FileID: s}).Append, 0)
	through := wire.WriteRequest{FileID: s, Offset: 10, Data: []byte("!"), Flags: wire.WriteFlagWriteThrough}
	c.Call(wire.CmdWrite, through.Append, 0)
	c.mustRead(s, 9, []byte("d!"))
	// Sizes.
	for _, n := range []uint64{5, 100, 0, 50} {
		c.set(s, wire.FileEndOfFileInformation, wire.AppendInfo64(nil, n), 0)
		if got := c.all(s).Standard.EndOfFile; got != n {
			t.Errorf("%d bytes, want %d", got, n)
		}
	}
	c.mustRead(s, 0, make([]byte, 50))
	c.set(s, wire.FileAllocationInformation, wire.AppendInfo64(nil, 20), 0)
	c.set(s, wire.FileAllocationInformation, wire.AppendInfo64(nil, 4096), 0)
	c.set(s, wire.FileValidDataLengthInformation, wire.AppendInfo64(nil, 21), wire.StatusInvalidParameter)
	if n := c.all(s).Standard.EndOfFile; n != 20 {
		t.Errorf("%d bytes", n)
	}
	// As large as an extended attribute, and not larger.
	const full = wire.StatusDiskFull
	data := sample(64<<10 - 1)
	if st := c.write(s, 0, data); st != 0 {
		t.Fatal(st)
	}
	c.mustRead(s, 0, data)
	for _, off := range []uint64{64<<10 - 1, 1 << 40} {
		if st := c.write(s, off, []byte("x")); st != full {
			t.Errorf("at %d: %v", off, st)
		}
	}
	c.set(s, wire.FileEndOfFileInformation, wire.AppendInfo64(nil, 64<<10), full)
	c.set(s, wire.FileAllocationInformation, wire.AppendInfo64(nil, 64<<10), full)
	c.mustRead(other, 0, data)
	// The file itself has not changed but for its times.
	if a := e.attr("f"); a.Size != 10 {
		t.Errorf("the file has %d bytes", a.Size)
	}
	c.set(s, wire.FileBasicInformation, (&wire.BasicInfo{FileAttributes: wire.FileAttributeHidden}).Append(nil), 0)
	f := c.must(want("f", wire.FileOpen)).FileID
	if a := c.attributes(f); a != wire.FileAttributeHidden {
		t.Errorf("attributes %#x", a)
	}
	for _, id := range []wire.FileID{f, s, other} {
		c.closeFile(id)
	}
	if v := e.xattr("f", "DosStream.Some Name:$DATA"); len(v) != 64<<10 || v[:len(v)-1] != string(data) || v[len(v)-1] != 0 {
		t.Errorf("an extended attribute of %d bytes", len(v))
	}
}

// What may be done with files and not with streams, and the other way round.
func TestStreamControls(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	e.touch("d", "x")
	c := e.files(wire.Dialect311)
	c.put("f:s", "0123456789")
	f, s := c.must(want("f", wire.FileOpen)).FileID, c.must(want("f:s", wire.FileOpen)).FileID
	c.fsctl(s, wire.FsctlSetSparse, []byte{1}, 0, wire.StatusNotSupported)
	c.fsctl(s, wire.FsctlSetReparsePoint, (&wire.Reparse{Tag: wire.ReparseTagLXFIFO}).Append(nil), 0, wire.StatusInvalidParameter)
	c.fsctl(s, wire.FsctlSetZeroData, (&wire.ZeroData{Offset: 2, Beyond: 4}).Append(nil), 0, 0)
	c.mustRead(s, 0, []byte("01\x00\x00456789"))
	if out := c.fsctl(s, wire.FsctlQueryAllocatedRanges, (&wire.Range{Length: 100}).Append(nil), 100, 0); len(out) != 16 || le.Uint64(out[8:]) != 10 {
		t.Errorf("ranges % x", out)
	}
	c.fsctl(s, wire.FsctlDuplicateExtentsToFile, (&wire.DuplicateExtents{Source: f, Count: 10}).Append(nil), 0, wire.StatusNotSupported)
	c.fsctl(f, wire.FsctlDuplicateExtentsToFile, (&wire.DuplicateExtents{Source: s, Count: 10}).Append(nil), 0, wire.StatusNotSupported)
	// Copies from and to streams.
	key := func(id wire.FileID) (k wire.ResumeKey) {
		copy(k[:], c.fsctl(id, wire.FsctlSrvRequestResumeKey, nil, 32, 0))
		return k
	}
	for _, to := range []wire.FileID{f, c.must(want("f:t", wire.FileCreate)).FileID} {
		l := wire.Copychunks{Source: key(s)}
		l.Add(wire.Copychunk{SourceOffset: 5, TargetOffset: 1, Length: 5})
		c.fsctl(to, wire.FsctlSrvCopychunkWrite, l.Append(nil), 12, 0)
		c.mustRead(to, 1, []byte("56789"))
	}
	c.renameTo(s, wire.FileLinkInformation, "l", 0, wire.StatusInvalidParameter)
	// Neither listed nor to be had as extended attributes.
	if _, st := c.eas(wire.QueryInfoRequest{FileID: f, OutputLength: 4096}); st != wire.StatusNoEAsOnFile {
		t.Errorf("attributes: %v", st)
	}
	if out, st := c.query(f, wire.InfoFile, wire.FileEaInformation, 4); st != 0 || le.Uint32(out) != 0 {
		t.Errorf("size of attributes % x, %v", out, st)
	}
	q := want("f", wire.FileOverwriteIf)
	q.Contexts.Add(wire.CreateEABuffer, func(b []byte) []byte {
		l := wire.NewList(b, 1000)
		l.AddEA(&wire.EA{Name: []byte("DosStream.x:$DATA"), Value: []byte("x")})
		return l.Bytes()
	})
	c.fails(q, wire.StatusAccessDenied)
	// A stream of a directory is not a directory.
	d := c.must(want("d:s", wire.FileCreate)).FileID
	if a := c.attributes(d); a != wire.FileAttributeNormal {
		t.Errorf("attributes %#x", a)
	}
	if _, _, st := c.list(d, wire.FileNamesInformation, "*", 0, 1000); st != wire.StatusInvalidParameter {
		t.Errorf("listed: %v", st)
	}
	c.has("d", ":s:$DATA")
	c.W.Close()
}

// Where the file system keeps no extended attributes there are no streams.
func TestNoStreams(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	e.fs.SetHook(func(_ context.Context, op mem.Op, _ vfs.Handle) error {
		if op == mem.OpXattr {
			return vfs.ErrUnsupported
		}
		return nil
	})
	c := e.files(wire.Dialect311)
	for _, base := range []string{"f", "new", ""} {
		c.fails(want(base+":s", wire.FileOpen), wire.StatusObjectNameNotFound)
		c.fails(want(base+":s", wire.FileOpenIf), wire.StatusObjectNameInvalid)
	}
	if e.exists("new") {
		t.Error("a file has been made for a stream that cannot be")
	}
	c.has("f", "::$DATA")
	f := c.must(want("f", wire.FileOverwrite)).FileID
	out, _ := c.query(f, wire.InfoFilesystem, wire.FileFsAttributeInformation, 100)
	if a, err := wire.ParseFsAttributeInfo(out); err != nil || a.Attributes&(wire.FileNamedStreams|wire.FileSupportsExtendedAttributes) != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	c.closeFile(f)
}

// Rights to a stream are those to the file.
func TestStreamAccess(t *testing.T) {
	e := newFileEnv(t, nil)
	const denied = wire.StatusAccessDenied
	e.touch("ro")
	e.touch("read")
	e.touch("write")
	e.setMode("write", 0o666, 0)
	ann := e.files(wire.Dialect311)
	for _, f := range []string{"ro", "read", "write"} {
		ann.put(f+":s", "data")
	}
	ro := ann.must(want("ro", wire.FileOpen)).FileID
	ann.set(ro, wire.FileBasicInformation, (&wire.BasicInfo{FileAttributes: wire.FileAttributeReadonly}).Append(nil), 0)
	ann.closeFile(ro)
	del := want("ro:s", wire.FileOpen)
	del.DesiredAccess, del.Options = wire.Delete, wire.FileDeleteOnClose
	ann.fails(del, wire.StatusCannotDelete)
	bob := e.as("bob", "hidden", "data")
	reads := func(name string, d wire.CreateDisposition) wire.CreateRequest {
		q := want(name, d)
		q.DesiredAccess = wire.FileGenericRead
		return q
	}
	writes := func(name string, d wire.CreateDisposition) wire.CreateRequest {
		q := want(name, d)
		q.DesiredAccess = wire.FileGenericRead | wire.FileGenericWrite
		return q
	}
	bob.fails(reads("read:s", wire.FileOpen), 0)
	bob.fails(writes("read:s", wire.FileOpen), denied)
	bob.fails(reads("read:new", wire.FileOpenIf), denied)
	bob.fails(reads("read:s", wire.FileOverwrite), denied)
	bob.fails(writes("write:new", wire.FileOpenIf), 0)
	bob.fails(want("write:new", wire.FileOpenIf), denied) // to delete is the directory's right
	ann.fails(reads("ro:s", wire.FileOpen), 0)
	ann.fails(writes("ro:s", wire.FileOpen), denied)
	ann.fails(reads("ro:new", wire.FileOpenIf), denied)
	over := e.as("ann", "secret", "ro")
	over.fails(reads("write:s", wire.FileOpen), 0)
	over.fails(reads("write:new2", wire.FileOpenIf), denied)
	over.fails(writes("write:s", wire.FileOpen), denied)
	ann.has("write", "::$DATA", ":new:$DATA", ":s:$DATA")
	ann.has("ro", "::$DATA", ":s:$DATA")
	ann.has("read", "::$DATA", ":s:$DATA")
	// An open keeps its rights when the mode changes.
	r := bob.must(writes("write:s", wire.FileOpen)).FileID
	e.setMode("write", 0, 0)
	if st := bob.write(r, 0, bytes.ToUpper([]byte("data"))); st != 0 {
		t.Error(st)
	}
	bob.mustRead(r, 0, []byte("DATA"))
	bob.closeFile(r)
	for _, c := range []*smbtest.Client{ann.Client, bob.Client, over.Client} {
		c.W.Close()
	}
}
