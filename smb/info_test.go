package smb

import (
	"bytes"
	"context"
	"testing"

	"fileserver/smb/secdesc"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// Every class of files: with the room it takes, with less than the least, and cut where its name may be.
func TestQueryFileClasses(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("dir", "some.txt")
	c := e.files(wire.Dialect311)
	f := c.must(want(`dir\some.txt`, wire.FileOpen)).FileID
	for class := range wire.InfoClass(0xff) {
		least, ok := wire.MinQueryFile(class)
		if _, known := fileQueries[class]; !ok || !known {
			if _, st := c.query(f, wire.InfoFile, class, 4096); st != wire.StatusInvalidInfoClass {
				t.Errorf("class %d: %v", class, st)
			}
			continue
		}
		out, st := c.query(f, wire.InfoFile, class, 4096)
		switch class {
		case wire.FilePosixInformation:
			if st != wire.StatusInvalidInfoClass { // it was not negotiated
				t.Errorf("class %d: %v", class, st)
			}
			continue
		case wire.FileFullEaInformation:
			if st != wire.StatusNoEAsOnFile {
				t.Errorf("class %d: %v", class, st)
			}
			continue
		}
		if st != wire.StatusSuccess || len(out) == 0 {
			t.Errorf("class %d: %v, %d bytes", class, st, len(out))
			continue
		}
		if same, st := c.query(f, wire.InfoFile, class, uint32(len(out))); st != wire.StatusSuccess || !bytes.Equal(same, out) && class != wire.FileAccessInformation {
			t.Errorf("class %d with %d bytes of room: %v, %d bytes", class, len(out), st, len(same))
		}
		for n := range least {
			if _, st := c.query(f, wire.InfoFile, class, uint32(n)); st != wire.StatusInfoLengthMismatch {
				t.Errorf("class %d with %d bytes of room: %v", class, n, st)
			}
		}
		for n := least; n < len(out); n++ {
			if cut, st := c.query(f, wire.InfoFile, class, uint32(n)); st != wire.StatusBufferOverflow || !bytes.Equal(cut, out[:n]) {
				t.Errorf("class %d with %d bytes of room: %v, %d bytes", class, n, st, len(cut))
			}
		}
	}
	c.closeFile(f)
}

func TestQueryFileContents(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("dir", "file")
	c := e.files(wire.Dialect311)
	r := c.must(want(`DIR\File`, wire.FileOpen))
	f := r.FileID
	get := func(class wire.InfoClass) []byte {
		t.Helper()
		out, st := c.query(f, wire.InfoFile, class, 4096)
		if st != wire.StatusSuccess {
			t.Fatalf("class %d: %v", class, st)
		}
		return out
	}
	all, err := wire.ParseAllInfo(get(wire.FileAllInformation))
	if err != nil || all.Name != `\dir\file` || all.Standard.EndOfFile != 10 || all.Standard.Links != 1 || all.Basic.FileAttributes != wire.FileAttributeArchive ||
		all.Basic.Creation != r.CreationTime || all.Basic.LastWrite != r.LastWriteTime || all.Access&wire.FileReadData == 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if index, _ := wire.ParseInfo64(get(wire.FileInternalInformation)); index != all.IndexNumber || index == 0 {
		t.Errorf("index number %d, in FileAllInformation %d", index, all.IndexNumber)
	}
	id, err := wire.ParseFileIDInfo(get(wire.FileIDInformation))
	if err != nil || le.Uint64(id.FileID[:]) != all.IndexNumber {
		t.Errorf("%+v, %v", id, err)
	}
	if n, err := wire.ParseNameInfo(get(wire.FileNormalizedNameInformation)); n != `dir\file` {
		t.Errorf("normalized name %q, %v", n, err)
	}
	streams, err := wire.ParseStreams(get(wire.FileStreamInformation))
	if err != nil || len(streams) != 1 || streams[0].Name != "::$DATA" || streams[0].Size != 10 {
		t.Errorf("%+v, %v", streams, err)
	}
	no, err := wire.ParseNetworkOpenInfo(get(wire.FileNetworkOpenInformation))
	if err != nil || no.EndOfFile != 10 || no.Times != all.Basic.Times {
		t.Errorf("%+v, %v", no, err)
	}
	c.closeFile(f)
	d := c.openDir("dir")
	if out, st := c.query(d, wire.InfoFile, wire.FileStreamInformation, 100); st != wire.StatusSuccess || len(out) != 0 {
		t.Errorf("streams of a directory: %v, %d bytes", st, len(out))
	}
	c.closeFile(d)
	c2 := e.files(wire.Dialect302)
	f = c2.must(want(`dir\file`, wire.FileOpen)).FileID
	if _, st := c2.query(f, wire.InfoFile, wire.FileNormalizedNameInformation, 100); st != wire.StatusNotSupported {
		t.Errorf("normalized name in 3.0.2: %v", st)
	}
	c2.closeFile(f)
}

func TestQueryFilesystem(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	d := c.openDir("")
	for class := range wire.InfoClass(0xff) {
		least, ok := wire.MinQueryFilesystem(class)
		if _, known := filesystemQueries[class]; !ok || !known || class == wire.FileFsPosixInformation {
			if _, st := c.query(d, wire.InfoFilesystem, class, 4096); st != wire.StatusInvalidInfoClass {
				t.Errorf("class %d: %v", class, st)
			}
			continue
		}
		out, st := c.query(d, wire.InfoFilesystem, class, 4096)
		if st != wire.StatusSuccess || len(out) < least {
			t.Errorf("class %d: %v, %d bytes", class, st, len(out))
			continue
		}
		if least > 0 {
			if _, st := c.query(d, wire.InfoFilesystem, class, uint32(least-1)); st != wire.StatusInfoLengthMismatch {
				t.Errorf("class %d with too little room: %v", class, st)
			}
		}
		switch class {
		case wire.FileFsAttributeInformation:
			a, err := wire.ParseFsAttributeInfo(out)
			const is = wire.FileSupportsSparseFiles | wire.FileSupportsBlockRefcounting | wire.FileSupportsExtendedAttributes | wire.FileNamedStreams
			if err != nil || a.Attributes&is != is || a.Attributes&wire.FileReadOnlyVolume != 0 || a.MaxNameLength != 255 {
				t.Errorf("%+v, %v", a, err)
			}
		case wire.FileFsFullSizeInformation:
			i, err := wire.ParseFsFullSizeInfo(out)
			if err != nil || i.BytesPerSector != 512 || i.TotalUnits == 0 || i.CallerAvailableUnits > i.TotalUnits {
				t.Errorf("%+v, %v", i, err)
			}
		case wire.FileFsVolumeInformation:
			if v, err := wire.ParseFsVolumeInfo(out); err != nil || v.Label != "data" || v.Serial == 0 {
				t.Errorf("%+v, %v", v, err)
			}
		}
	}
	for _, typ := range []wire.InfoType{wire.InfoQuota, 0, 5} {
		if _, st := c.query(d, typ, 1, 100); !st.Failed() {
			t.Errorf("type %d: %v", typ, st)
		}
	}
	c.closeFile(d)
}

// security asks for a security descriptor.
func (c *fileClient) security(id wire.FileID, parts, room uint32) smbtest.Response {
	c.T.Helper()
	q := wire.QueryInfoRequest{Type: wire.InfoSecurity, OutputLength: room, Additional: parts, FileID: id}
	return c.Do(smbtest.Request{Command: wire.CmdQueryInfo, Body: q.Append})[0]
}

const ownerGroupDACL = wire.OwnerSecurityInformation | wire.GroupSecurityInformation | wire.DACLSecurityInformation

func TestSecurity(t *testing.T) {
	for _, dialect := range []wire.Dialect{wire.Dialect302, wire.Dialect311} {
		e := newFileEnv(t, nil)
		e.touch("f")
		c := e.files(dialect)
		q := want("f", wire.FileOpen)
		q.DesiredAccess |= wire.ReadControl | wire.WriteDAC | wire.WriteOwner
		f := c.must(q).FileID
		// Too little room: how much is needed comes with the error.
		r := c.security(f, ownerGroupDACL, 0)
		resp, err := wire.ParseErrorResponse(r.Msg)
		if r.Status != wire.StatusBufferTooSmall || err != nil {
			t.Fatalf("%v, %v", r.Status, err)
		}
		data := resp.Data
		if dialect == wire.Dialect311 {
			ctx, _, err := wire.ParseErrorContext(data)
			if err != nil || resp.ContextCount != 1 {
				t.Fatal(err)
			}
			data = ctx.Data
		}
		need := le.Uint32(data)
		if r := c.security(f, ownerGroupDACL, need-1); r.Status != wire.StatusBufferTooSmall {
			t.Errorf("%d bytes: %v", need-1, r.Status)
		}
		get := func() *secdesc.Descriptor {
			t.Helper()
			r := c.security(f, ownerGroupDACL, 4096)
			out, err := wire.ParseOutputResponse(r.Msg)
			if r.Status != 0 || err != nil {
				t.Fatalf("%v, %v", r.Status, err)
			}
			d, err := secdesc.Parse(out.Output)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		d := get()
		if mode, exact := secdesc.ModeOf(d, 0, 0, false); d.Len() != int(need) || mode != 0o644 || !exact {
			t.Errorf("%d bytes, %d were to be needed; mode %o", d.Len(), need, mode)
		}
		set := func(parts uint32, d *secdesc.Descriptor, want wire.Status) {
			t.Helper()
			q := wire.SetInfoRequest{Type: wire.InfoSecurity, Additional: parts, FileID: f, Input: d.Append(nil)}
			c.Call(wire.CmdSetInfo, q.Append, want)
		}
		set(wire.DACLSecurityInformation, secdesc.FromFile(secdesc.File{Mode: 0o750}), 0)
		set(wire.OwnerSecurityInformation|wire.GroupSecurityInformation, secdesc.FromFile(secdesc.File{UID: 7, GID: 8}), 0)
		d = get()
		uid, _ := d.Owner.UID()
		gid, _ := d.Group.GID()
		if mode, _ := secdesc.ModeOf(d, 7, 8, false); uid != 7 || gid != 8 || mode != 0o750 {
			t.Errorf("uid %d, gid %d, mode %o", uid, gid, mode)
		}
		set(wire.OwnerSecurityInformation, &secdesc.Descriptor{Control: secdesc.SelfRelative, Owner: secdesc.Everyone}, wire.StatusInvalidOwner)
		set(wire.SACLSecurityInformation, secdesc.FromFile(secdesc.File{}), wire.StatusAccessDenied)
		bad := wire.SetInfoRequest{Type: wire.InfoSecurity, Additional: ownerGroupDACL, FileID: f, Input: make([]byte, 19)}
		c.Call(wire.CmdSetInfo, bad.Append, wire.StatusInvalidParameter)
		c.closeFile(f)
		c.W.Close()
	}
}

// eas asks for extended attributes.
func (c *fileClient) eas(q wire.QueryInfoRequest) ([]wire.EA, wire.Status) {
	c.T.Helper()
	q.Type, q.Class = wire.InfoFile, wire.FileFullEaInformation
	r := c.Do(smbtest.Request{Command: wire.CmdQueryInfo, Body: q.Append})[0]
	if r.Status.Failed() && r.Status != wire.StatusBufferOverflow {
		return nil, r.Status
	}
	out, err := wire.ParseOutputResponse(r.Msg)
	if err != nil {
		c.T.Fatal(err)
	}
	list, err := wire.ParseEAs(out.Output)
	if err != nil {
		c.T.Fatal(err)
	}
	var all []wire.EA
	for ea := range list.All() {
		all = append(all, ea)
	}
	return all, r.Status
}

func (c *fileClient) setEAs(id wire.FileID, want wire.Status, list ...wire.EA) {
	c.T.Helper()
	l := wire.NewList(nil, 1<<20)
	for i := range list {
		l.AddEA(&list[i])
	}
	q := wire.SetInfoRequest{Type: wire.InfoFile, Class: wire.FileFullEaInformation, FileID: id, Input: l.Bytes()}
	c.Call(wire.CmdSetInfo, q.Append, want)
}

func TestEAs(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	c := e.files(wire.Dialect311)
	f := c.must(want("f", wire.FileOpen)).FileID
	ea := func(n, v string) wire.EA { return wire.EA{Name: []byte(n), Value: []byte(v)} }
	c.setEAs(f, 0, ea("one", "1"), ea("Two", "22"), ea("three", string(sample(1000))))
	c.setEAs(f, 0, ea("TWO", "2222"), ea("nothing", ""))
	list, st := c.eas(wire.QueryInfoRequest{FileID: f, OutputLength: 65536})
	if st != 0 || len(list) != 3 || string(list[0].Name) != "Two" || string(list[0].Value) != "2222" || len(list[2].Value) != 1000 {
		t.Fatalf("%v, %d attributes: %q", st, len(list), list)
	}
	// One by one, from the beginning, and then no more.
	for i, flags := range []uint32{wire.QueryInfoRestartScan, 0, 0} {
		one, st := c.eas(wire.QueryInfoRequest{FileID: f, OutputLength: 65536, Flags: flags | wire.QueryInfoReturnSingleEntry})
		if st != 0 || len(one) != 1 || !bytes.Equal(one[0].Name, list[i].Name) {
			t.Fatalf("%v, %q", st, one)
		}
	}
	if _, st := c.eas(wire.QueryInfoRequest{FileID: f, OutputLength: 65536}); st != wire.StatusNoMoreFiles {
		t.Errorf("behind the last: %v", st)
	}
	if one, st := c.eas(wire.QueryInfoRequest{FileID: f, OutputLength: 65536, Flags: wire.QueryInfoIndexSpecified | wire.QueryInfoReturnSingleEntry, Additional: 2}); st != 0 || len(one) != 1 || !bytes.Equal(one[0].Name, list[1].Name) {
		t.Errorf("by index: %v, %q", st, one)
	}
	for _, i := range []uint32{0, 4, 1 << 31} {
		if _, st := c.eas(wire.QueryInfoRequest{FileID: f, OutputLength: 65536, Flags: wire.QueryInfoIndexSpecified, Additional: i}); st != wire.StatusNonexistentEAEntry {
			t.Errorf("index %d: %v", i, st)
		}
	}
	// Cut at entries.
	restart := wire.QueryInfoRestartScan
	if _, st := c.eas(wire.QueryInfoRequest{FileID: f, OutputLength: 10, Flags: restart}); st != wire.StatusBufferTooSmall {
		t.Errorf("10 bytes: %v", st)
	}
	if some, st := c.eas(wire.QueryInfoRequest{FileID: f, OutputLength: 100, Flags: restart}); st != wire.StatusBufferOverflow || len(some) != 2 {
		t.Errorf("100 bytes: %v, %q", st, some)
	}
	// By name, in any case; what there is not has no value.
	l := wire.NewList(nil, 1000)
	l.AddEAName([]byte("ONE"))
	l.AddEAName([]byte("none"))
	named, st := c.eas(wire.QueryInfoRequest{FileID: f, OutputLength: 65536, Input: l.Bytes()})
	if st != 0 || len(named) != 2 || string(named[0].Value) != "1" || string(named[0].Name) != "ONE" || len(named[1].Value) > 0 {
		t.Errorf("%v, %q", st, named)
	}
	if _, st := c.eas(wire.QueryInfoRequest{FileID: f, OutputLength: 65536, Input: []byte{1, 2, 3}}); st != wire.StatusInvalidParameter {
		t.Errorf("malformed names: %v", st)
	}
	if out, st := c.query(f, wire.InfoFile, wire.FileEaInformation, 4); st != 0 || le.Uint32(out) < 1000 {
		t.Errorf("size %d, %v", out, st)
	}
	c.setEAs(f, wire.StatusInvalidEAName, ea("a*b", "1"))
	c.setEAs(f, wire.StatusAccessDenied, ea("fileserver.dos", "1"))
	c.setEAs(f, 0, ea("one", ""), ea("two", ""), ea("three", ""))
	if _, st := c.eas(wire.QueryInfoRequest{FileID: f, OutputLength: 65536, Flags: restart}); st != wire.StatusNoEAsOnFile {
		t.Errorf("all removed: %v", st)
	}
	c.closeFile(f)
}

// Symbolic links, and what clients that know POSIX are told of files.
func TestPosixInfo(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("file")
	ctx, root := context.Background(), &vfs.Cred{}
	dir, err := e.fs.Root(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n, err := dir.Symlink(ctx, root, "link", "dir/x:y", &vfs.SetAttr{})
	dir.Release()
	if err != nil {
		t.Fatal(err)
	}
	n.Release()
	c := e.files(wire.Dialect311)
	// Without the extensions it is a reparse point.
	q := want("link", wire.FileOpen)
	q.Options, q.DesiredAccess = wire.FileOpenReparsePoint, wire.FileReadAttributes
	f := c.must(q).FileID
	if out, st := c.query(f, wire.InfoFile, wire.FileAttributeTagInformation, 8); st != 0 || le.Uint32(out[4:]) != wire.ReparseTagSymlink {
		t.Errorf("%v, % x", st, out)
	}
	out := c.fsctl(f, wire.FsctlGetReparsePoint, nil, 1000, 0)
	p, err := wire.ParseReparse(out)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := wire.ParseSymlinkReparse(p.Data); err != nil || l.Substitute != "dir\\x\uf022y" || l.Flags != wire.SymlinkRelative {
		t.Errorf("%+v, %v", l, err)
	}
	c.fsctl(f, wire.FsctlGetReparsePoint, nil, 7, wire.StatusBufferTooSmall)
	if cut := c.fsctl(f, wire.FsctlGetReparsePoint, nil, 20, wire.StatusBufferOverflow); !bytes.Equal(cut, out[:20]) {
		t.Errorf("% x", cut)
	}
	c.closeFile(f)
}
