package smb

import (
	"testing"

	"fileserver/smb/secdesc"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// What is wrong whatever there is, and what is wrong with what there is.
func TestCreateRefusals(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("file")
	e.touch("dir", "x")
	c := e.files(wire.Dialect311)
	edit := func(name string, f func(*wire.CreateRequest)) wire.CreateRequest {
		q := want(name, wire.FileOpen)
		f(&q)
		return q
	}
	opts := func(name string, o wire.CreateOptions) wire.CreateRequest {
		return edit(name, func(q *wire.CreateRequest) { q.Options = o })
	}
	for _, test := range []struct {
		what string
		q    wire.CreateRequest
		st   wire.Status
	}{
		{"impersonation", edit("file", func(q *wire.CreateRequest) { q.ImpersonationLevel = 4 }), wire.StatusBadImpersonationLevel},
		{"unknown options", opts("file", 0x01000000), wire.StatusInvalidParameter},
		{"by file ID", opts("file", wire.FileOpenByFileID), wire.StatusNotSupported},
		{"tree connection", opts("file", createTreeConnection), wire.StatusNotSupported},
		{"reserve opfilter", opts("file", wire.FileReserveOpfilter), wire.StatusNotSupported},
		{"directory and not", opts("file", wire.FileDirectoryFile|wire.FileNonDirectoryFile), wire.StatusInvalidParameter},
		{"overwrite a directory", edit("dir", func(q *wire.CreateRequest) {
			q.Options, q.Disposition = wire.FileDirectoryFile, wire.FileOverwriteIf
		}), wire.StatusInvalidParameter},
		{"temporary directory", edit("new", func(q *wire.CreateRequest) {
			q.Options, q.Disposition, q.FileAttributes = wire.FileDirectoryFile, wire.FileCreate, wire.FileAttributeTemporary
		}), wire.StatusInvalidParameter},
		{"attributes", edit("file", func(q *wire.CreateRequest) { q.FileAttributes = 0x40 }), wire.StatusInvalidParameter},
		{"no access", edit("file", func(q *wire.CreateRequest) { q.DesiredAccess = 0 }), wire.StatusAccessDenied},
		{"unknown access", edit("file", func(q *wire.CreateRequest) { q.DesiredAccess = 0x200 }), wire.StatusAccessDenied},
		{"system security", edit("file", func(q *wire.CreateRequest) { q.DesiredAccess |= wire.AccessSystemSecurity }), wire.StatusPrivilegeNotHeld},
		{"delete on close without DELETE", edit("file", func(q *wire.CreateRequest) {
			q.DesiredAccess, q.Options = wire.FileGenericRead, wire.FileDeleteOnClose
		}), wire.StatusInvalidParameter},
		{"delete the root", opts("", wire.FileDeleteOnClose), wire.StatusCannotDelete},
		{"not a directory", opts("file", wire.FileDirectoryFile), wire.StatusNotADirectory},
		{"slash of a file", want(`file\`, wire.FileOpen), wire.StatusNotADirectory},
		{"slash and not a directory", opts(`dir\`, wire.FileNonDirectoryFile), wire.StatusObjectNameInvalid},
		{"a directory", opts("dir", wire.FileNonDirectoryFile), wire.StatusFileIsADirectory},
		{"data of a directory", want("dir::$DATA", wire.FileOpen), wire.StatusFileIsADirectory},
		{"index of a file", want("file::$INDEX_ALLOCATION", wire.FileOpen), wire.StatusNotADirectory},
		{"a stream", want("file:s", wire.FileOpen), wire.StatusObjectNameNotFound},
		{"a directory's stream as a directory", opts("dir:s", wire.FileDirectoryFile), wire.StatusNotADirectory},
		{"data as a directory", opts("dir::$DATA", wire.FileDirectoryFile), wire.StatusNotADirectory},
		{"a type of stream", want("file:s:$BAD", wire.FileOpen), wire.StatusObjectNameInvalid},
		{"a character", want("fi*", wire.FileOpen), wire.StatusObjectNameInvalid},
		{"up", want(`dir\..`, wire.FileOpen), wire.StatusObjectPathSyntaxBad},
		{"leading separator", want(`\file`, wire.FileOpen), wire.StatusInvalidParameter},
	} {
		if r, st := c.create(test.q); st != test.st {
			t.Errorf("%s: %v, want %v", test.what, st, test.st)
			if st == wire.StatusSuccess {
				c.closeFile(r.FileID)
			}
		}
	}
	for _, name := range []string{"", "dir", `dir\`, "dir::$INDEX_ALLOCATION", "::$INDEX_ALLOCATION"} {
		if r := c.must(opts(name, wire.FileDirectoryFile)); r.FileAttributes != wire.FileAttributeDirectory || r.EndOfFile != 0 || r.AllocationSize != 0 {
			t.Errorf("%q: %+v", name, r)
		}
	}
	if r := c.must(want("FILE::$DATA", wire.FileOpen)); r.FileAttributes != wire.FileAttributeArchive || r.EndOfFile != 10 {
		t.Errorf("%+v", r)
	}
	if c.closeFile(c.must(opts("dir", wire.FileDeleteOnClose)).FileID); !e.exists("dir") {
		t.Error("a directory was deleted that is not empty")
	}
	c.W.Close() // which ends what is open
}

// The attributes of new and overwritten files, and what read-only means.
func TestCreateAttributes(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	const ro, hid, arc = wire.FileAttributeReadonly, wire.FileAttributeHidden, wire.FileAttributeArchive
	make := func(name string, d wire.CreateDisposition, a wire.FileAttributes, st wire.Status, want_ wire.FileAttributes) {
		t.Helper()
		q := want(name, d)
		q.FileAttributes = a
		r, got := c.create(q)
		if got != st || st == wire.StatusSuccess && r.FileAttributes != want_ {
			t.Errorf("%s: %v, attributes %#x", name, got, r.FileAttributes)
		}
		if got == wire.StatusSuccess {
			c.closeFile(r.FileID)
		}
	}
	const ok, denied = wire.StatusSuccess, wire.StatusAccessDenied
	make("a", wire.FileCreate, wire.FileAttributeNormal, ok, arc)
	make("a", wire.FileOverwriteIf, hid, ok, arc|hid)
	make("a", wire.FileOverwriteIf, 0, denied, 0)
	make("a", wire.FileSupersede, hid|wire.FileAttributeSystem, ok, arc|hid|wire.FileAttributeSystem)
	make("a", wire.FileOverwrite, hid, denied, 0)
	make("b", wire.FileCreate, ro|wire.FileAttributeDirectory, ok, arc|ro) // its creator may write it once
	make("b", wire.FileOpen, 0, denied, 0)
	make("b", wire.FileOverwriteIf, 0, denied, 0)
	q := want("b", wire.FileOpen)
	q.DesiredAccess = wire.MaximumAllowed
	q.Contexts.Add(wire.CreateQueryMaximalAccess, nil)
	r := c.must(q)
	d, _ := r.Contexts.Find(wire.CreateQueryMaximalAccess)
	if m, err := wire.ParseMaximalAccessResponse(d); err != nil || m.Status != wire.StatusSuccess || m.Access != wire.FileAllAccess {
		t.Errorf("MxAc %+v %v", m, err)
	}
	o := c.open(r.FileID)
	if o.granted != wire.FileAllAccess&^beyondReadOnly {
		t.Errorf("granted %#x", o.granted)
	}
	o.release()
	q = want("b", wire.FileOpen)
	q.DesiredAccess, q.Options = wire.Delete|wire.FileReadAttributes, wire.FileDeleteOnClose
	c.fails(q, wire.StatusCannotDelete)
	q = want("c", wire.FileCreate)
	q.FileAttributes, q.Options = ro, wire.FileDeleteOnClose
	c.fails(q, wire.StatusCannotDelete)
	q = want("d", wire.FileCreate)
	q.Options, q.FileAttributes = wire.FileDirectoryFile, hid
	if r := c.must(q); r.FileAttributes != wire.FileAttributeDirectory|hid {
		t.Errorf("%#x", r.FileAttributes)
	}
	c.W.Close()
}

// What the contexts of a CREATE do, and answer.
func TestCreateContexts(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	e.posix()
	with := func(q wire.CreateRequest, name string, body func([]byte) []byte) wire.CreateRequest {
		q.Contexts.Add(name, body)
		return q
	}
	bytes := func(b ...byte) func([]byte) []byte { return func(to []byte) []byte { return append(to, b...) } }

	q := want("x", wire.FileCreate)
	q = with(q, wire.CreateQueryOnDiskID, nil)
	q = with(q, wire.CreateQueryMaximalAccess, nil)
	q = with(q, wire.CreateAllocationSize, func(b []byte) []byte { return wire.AppendAllocationSize(b, 1<<20) })
	q = with(q, wire.CreateDurableHandleRequest, wire.AppendDurableRequest)
	q = with(q, wire.CreateDurableHandleRequestV2, (&wire.DurableRequestV2{}).Append)
	q = with(q, wire.CreateRequestLease, (&wire.Lease{Version: 2, State: wire.LeaseReadCaching}).Append)
	q = with(q, "what", bytes(1, 2, 3))
	q.OplockLevel = wire.OplockLevelLease
	r := c.must(q)
	if r.AllocationSize != 1<<20 || r.EndOfFile != 0 {
		t.Errorf("%d bytes of %d", r.AllocationSize, r.EndOfFile)
	}
	var names []string
	for name := range r.Contexts.All() {
		names = append(names, string(name))
	}
	if len(names) != 2 || r.OplockLevel != wire.OplockLevelNone {
		t.Errorf("contexts %q, oplock %d", names, r.OplockLevel)
	}
	d, _ := r.Contexts.Find(wire.CreateQueryOnDiskID)
	id, err := wire.ParseOnDiskID(d)
	root, _ := e.fs.Root(t.Context())
	n, _ := root.Lookup(t.Context(), &vfs.Cred{}, "x")
	a, _ := n.GetAttr(t.Context(), vfs.AttrFileID)
	root.Release()
	n.Release()
	if err != nil || id.DiskFileID != a.FileID || id.VolumeID == 0 {
		t.Errorf("%+v %v, the file is %d", id, err, a.FileID)
	}
	same := with(want("x", wire.FileOpen), wire.CreateQueryMaximalAccess, func(b []byte) []byte { return wire.AppendAllocationSize(b, uint64(r.ChangeTime)) })
	again := c.must(same)
	d, _ = again.Contexts.Find(wire.CreateQueryMaximalAccess)
	if m, err := wire.ParseMaximalAccessResponse(d); err != nil || m.Status != wire.StatusNoneMapped {
		t.Errorf("%+v %v", m, err)
	}

	var eas wire.List = wire.NewList(nil, 1000)
	eas.AddEA(&wire.EA{Name: []byte("color"), Value: []byte("red")})
	c.must(with(want("ea", wire.FileCreate), wire.CreateEABuffer, bytes(eas.Bytes()...)))
	if v := e.xattr("ea", "color"); v != "red" {
		t.Errorf("extended attribute %q", v)
	}
	own := wire.NewList(nil, 1000)
	own.AddEA(&wire.EA{Name: []byte("fileserver.dos"), Value: []byte("red")})
	c.fails(with(want("own", wire.FileCreate), wire.CreateEABuffer, bytes(own.Bytes()...)), wire.StatusAccessDenied)
	if e.exists("own") {
		t.Error("a CREATE that failed has made a file")
	}

	sd := secdesc.FromFile(secdesc.File{Mode: 0o640})
	c.must(with(want("secret", wire.FileCreate), wire.CreateSDBuffer, sd.Append))
	if a := e.attr("secret"); a.Mode != 0o640 {
		t.Errorf("mode %o", a.Mode)
	}
	posix := want("posix:*", wire.FileCreate)
	posix.Name = wire.AppendUTF16(nil, "pOsix:*")
	r = c.must(with(posix, wire.CreatePosix, func(b []byte) []byte { return wire.AppendPosixCreate(b, 0o604) }))
	d, _ = r.Contexts.Find(wire.CreatePosix)
	if p, err := wire.ParsePosixCreated(d); err != nil || p.Mode&0o7777 != 0o604 || p.Links != 1 || e.attr("pOsix:*").Mode != 0o604 {
		t.Errorf("%+v %v", p, err)
	}
	posix.Name, posix.Disposition = wire.AppendUTF16(nil, "POSIX:*"), wire.FileOpen
	posix.Contexts = nil
	c.fails(with(posix, wire.CreatePosix, func(b []byte) []byte { return wire.AppendPosixCreate(b, 0) }), wire.StatusObjectNameNotFound)

	const gone, bad = wire.StatusObjectNameNotFound, wire.StatusInvalidParameter
	for _, test := range []struct {
		name string
		body func([]byte) []byte
		st   wire.Status
	}{
		{wire.CreateTimewarpToken, bytes(1, 2, 3, 4, 5, 6, 7, 8), gone},
		{wire.CreateTimewarpToken, bytes(1), bad},
		{wire.CreateDurableHandleReconnect, bytes(make([]byte, 16)...), gone},
		{wire.CreateDurableHandleReconnect, nil, bad},
		{wire.CreateDurableHandleReconnect2, (&wire.DurableReconnectV2{}).Append, gone},
		{wire.CreateDurableHandleReconnect2, bytes(1), bad},
		{wire.CreateDurableHandleRequest, bytes(1), bad},
		{wire.CreateDurableHandleRequestV2, bytes(1), bad},
		{wire.CreateRequestLease, bytes(1), bad},
		{wire.CreateAllocationSize, bytes(1), bad},
		{wire.CreateAllocationSize, bytes(0, 0, 0, 0, 0, 0, 0, 0xff), wire.StatusDiskFull},
		{wire.CreateQueryMaximalAccess, bytes(1), bad},
		{wire.CreateEABuffer, bytes(1), bad},
		{wire.CreateSDBuffer, bytes(1), bad},
		{wire.CreatePosix, bytes(1), bad},
	} {
		c.fails(with(want("new", wire.FileOpenIf), test.name, test.body), test.st)
	}
	if e.exists("new") {
		t.Error("a CREATE that failed has made a file")
	}
	c.W.Close()
}

// posix gives those who are connected the POSIX extensions.
func (e *env) posix() {
	e.srv.mu.Lock()
	defer e.srv.mu.Unlock()
	for c := range e.srv.conns {
		n := *c.neg.Load()
		n.posix = true
		c.neg.Store(&n)
	}
}

// xattr is an extended attribute of a file in the root.
func (e *env) xattr(name, attr string) string {
	e.t.Helper()
	v := ""
	e.node(name, func(n vfs.Node) {
		b, err := n.(vfs.Xattrer).GetXattr(e.t.Context(), &vfs.Cred{}, attr)
		if err != nil {
			e.t.Error(err)
		}
		v = string(b)
	})
	return v
}

// attr are the attributes of a file in the root.
func (e *env) attr(name string) (a vfs.Attr) {
	e.t.Helper()
	e.node(name, func(n vfs.Node) { a, _ = n.GetAttr(e.t.Context(), vfs.AttrStat) })
	return a
}

func (e *env) node(name string, f func(vfs.Node)) {
	e.t.Helper()
	root, err := e.fs.Root(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	defer root.Release()
	n, err := root.Lookup(e.t.Context(), &vfs.Cred{}, name)
	if err != nil {
		e.t.Fatal(err)
	}
	defer n.Release()
	f(n)
}

// setMode changes mode and owner of a file in the root, or of the root.
func (e *env) setMode(name string, mode, uid uint32) {
	e.t.Helper()
	set := func(n vfs.Node) {
		if err := n.SetAttr(e.t.Context(), &vfs.Cred{}, &vfs.SetAttr{Mask: vfs.AttrMode | vfs.AttrUID, Mode: mode, UID: uid}); err != nil {
			e.t.Fatal(err)
		}
	}
	if name != "" {
		e.node(name, set)
		return
	}
	root, err := e.fs.Root(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	set(root)
	root.Release()
}
