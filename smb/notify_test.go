package smb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fileserver/smb/secdesc"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/notify"
)

const (
	allNames = wire.NotifyChangeFileName | wire.NotifyChangeDirName
	anyRoom  = 4096
)

func watch(id wire.FileID, filter uint32, tree bool, room uint32) smbtest.Request {
	q := wire.ChangeNotifyRequest{FileID: id, OutputLength: room, Filter: filter}
	if tree {
		q.Flags = wire.ChangeNotifyWatchTree
	}
	return smbtest.Request{Command: wire.CmdChangeNotify, Body: q.Append}
}

// parks sends a CHANGE_NOTIFY that has to wait, and returns its interim response.
func (c *fileClient) parks(r smbtest.Request) smbtest.Response {
	c.T.Helper()
	c.Send(c.Message(r))
	p := c.Recv()[0]
	if p.Status != wire.StatusPending || p.AsyncID == 0 {
		c.T.Fatalf("%v", p.Status)
	}
	return p
}

// told receives the answer to a CHANGE_NOTIFY and wants these events, as "+name", "-name", "*name", "<old", ">new".
func (c *fileClient) told(want ...string) {
	c.T.Helper()
	c.tells(c.Recv()[0], want...)
}

func (c *fileClient) tells(r smbtest.Response, want ...string) {
	c.T.Helper()
	if r.Status != wire.StatusSuccess {
		c.T.Fatalf("CHANGE_NOTIFY: %v", r.Status)
	}
	out, err := wire.ParseOutputResponse(r.Msg)
	if err != nil {
		c.T.Fatal(err)
	}
	list, err := wire.ParseNotifies(out.Output)
	if err != nil {
		c.T.Fatal(err)
	}
	var got []string
	for _, n := range list {
		got = append(got, string("?+-*<>srw"[n.Action])+n.Name)
	}
	if !slices.Equal(got, want) {
		c.T.Errorf("told %q, want %q", got, want)
	}
}

// ends receives the answer to a CHANGE_NOTIFY and wants it to have the status, and no events.
func (c *fileClient) ends(want wire.Status) {
	c.T.Helper()
	if r := c.Recv()[0]; r.Status != want {
		c.T.Errorf("CHANGE_NOTIFY ends with %v, want %v", r.Status, want)
	}
}

func (c *fileClient) mkdir(name string) {
	c.T.Helper()
	q := want(name, wire.FileCreate)
	q.Options = wire.FileDirectoryFile
	c.closeFile(c.must(q).FileID)
}

func (c *fileClient) remove(name string) {
	c.T.Helper()
	q := want(name, wire.FileOpen)
	q.DesiredAccess, q.Options = wire.Delete, wire.FileDeleteOnClose
	c.closeFile(c.must(q).FileID)
}

// Others' changes are told: at once if somebody waits, later if not.
func TestChangeNotify(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("d", "sub", "f")
	c, o := e.files(wire.Dialect311), e.files(wire.Dialect302)
	d := c.openDir("d")
	p := c.parks(watch(d, allNames, false, anyRoom))
	if p.Credits == 0 {
		t.Error("no credit comes with the interim response")
	}
	o.mkdir(`d\new`)
	if r := c.Recv()[0]; r.Credits != 0 || r.AsyncID != p.AsyncID {
		t.Errorf("%+v", r.Header)
	} else {
		c.tells(r, "+new")
	}
	o.mkdir(`d\sub\deep`) // not in the directory itself
	f := o.must(want(`d\a`, wire.FileCreate)).FileID
	o.renameTo(f, wire.FileRenameInformation, `d\b`, 0, 0)
	o.renameTo(f, wire.FileRenameInformation, `d\sub\b`, 0, 0)
	o.renameTo(f, wire.FileRenameInformation, "d\\x\uf022y", 0, 0)
	o.set(f, wire.FileBasicInformation, (&wire.BasicInfo{FileAttributes: wire.FileAttributeHidden}).Append(nil), 0) // not waited for
	o.closeFile(f)
	o.remove("d\\x\uf022y")
	o.remove(`d\new`)
	c.tells(c.Do(watch(d, 0, true, anyRoom))[0], "+a", "<a", ">b", "-b", "+x\uf022y", "-x\uf022y", "-new")
	// Two wait: each gets what comes, in their order. What is renamed is told with its new name.
	c.parks(watch(d, 0, false, anyRoom))
	c.parks(watch(d, 0, false, anyRoom))
	f = o.must(want(`d\one`, wire.FileCreate)).FileID
	c.told("+one")
	o.renameTo(f, wire.FileRenameInformation, `d\two`, 0, 0)
	c.told("<one", ">two")
	o.closeFile(f)
	c.closeFile(d)
}

// A tree is watched through renames of what is above it, and not below directories that the client may not list.
func TestChangeNotifyTree(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("top", "d", "sub", "f")
	e.touch("top", "d", "hidden", "f")
	e.chmod(0o700, 0, "top", "d", "hidden")
	c, o := &fileClient{e.client(), e}, e.files(wire.Dialect311)
	c.Connect(wire.Dialect311)
	c.MustLogin("bob", "hidden")
	c.Tree(`\\server\data`, wire.StatusSuccess)
	d := c.openDir(`top\d`)
	const filter = allNames | wire.NotifyChangeSize | wire.NotifyChangeAttributes
	c.parks(watch(d, filter, true, anyRoom))
	f := o.must(want(`top\d\sub\f`, wire.FileOpen)).FileID
	o.set(f, wire.FileEndOfFileInformation, wire.AppendInfo64(nil, 5), 0)
	c.told(`*sub\f`)
	e.report("top", "d", "hidden", "seen by nobody")
	e.report("top", "not below")
	e.report("top", "d", "sub", "by NFS")
	o.set(f, wire.FileBasicInformation, (&wire.BasicInfo{FileAttributes: wire.FileAttributeHidden}).Append(nil), 0)
	o.set(f, wire.FileBasicInformation, (&wire.BasicInfo{FileAttributes: wire.FileAttributeSystem}).Append(nil), 0) // the same again
	o.closeFile(f)
	c.tells(c.Do(watch(d, 0, true, anyRoom))[0], `+sub\by NFS`, `*sub\f`)
	c.closeFile(d)
}

// chmod changes mode and owner, through the file system.
func (e *env) chmod(mode, uid uint32, path ...string) {
	e.t.Helper()
	n := e.find(path...)
	defer n.Release()
	if err := n.SetAttr(context.Background(), &vfs.Cred{}, &vfs.SetAttr{Mask: vfs.AttrMode | vfs.AttrUID, Mode: mode, UID: uid}); err != nil {
		e.t.Fatal(err)
	}
}

// report reports a new name, as another protocol would that knows no paths.
func (e *env) report(path ...string) {
	e.t.Helper()
	dir := e.find(path[:len(path)-1]...)
	defer dir.Release()
	e.srv.cfg.Locks.Changes.Report(context.Background(), e.fs, notify.Change{Dir: dir, Name: path[len(path)-1], Action: notify.Added, What: notify.FileName})
}

// find finds an object through the file system.
func (e *env) find(path ...string) vfs.Node {
	e.t.Helper()
	ctx := context.Background()
	n, err := e.fs.Root(ctx)
	for _, name := range path {
		var next vfs.Node
		if next, err = n.Lookup(ctx, &vfs.Cred{}, name); err != nil {
			e.t.Fatal(err)
		}
		n.Release()
		n = next
	}
	if err != nil {
		e.t.Fatal(err)
	}
	return n
}

// What does not fit is to be looked for; how much is kept the first request says.
func TestChangeNotifyOverflow(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("d", "x")
	c, o := e.files(wire.Dialect311), e.files(wire.Dialect311)
	d := c.openDir("d")
	c.parks(watch(d, allNames, false, 100))
	o.mkdir(`d\first`)
	c.told("+first")
	for i := range 10 {
		o.mkdir(fmt.Sprintf(`d\%d`, i))
	}
	if r := c.Do(watch(d, 0, false, anyRoom))[0]; r.Status != wire.StatusNotifyEnumDir {
		t.Errorf("%v", r.Status)
	}
	o.mkdir(`d\again`)
	c.tells(c.Do(watch(d, 0, false, anyRoom))[0], "+again")
	o.mkdir(`d\long`)
	if r := c.Do(watch(d, 0, false, 19))[0]; r.Status != wire.StatusNotifyEnumDir { // needs 20
		t.Errorf("%v", r.Status)
	}
	c.parks(watch(d, 0, false, 20))
	o.mkdir(`d\four`)
	c.told("+four")
	c.closeFile(d)
}

// Nobody waits for ever.
func TestChangeNotifyEnds(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("d", "x")
	e.touch("file")
	e.touch("dead", "x")
	c, o := e.files(wire.Dialect311), e.files(wire.Dialect311)
	d := c.openDir("d")
	for _, cancel := range []bool{true, false} {
		p := c.parks(watch(d, allNames, false, anyRoom))
		if cancel {
			c.cancel(p)
			o.mkdir(`d\kept`) // what happens meanwhile is kept
			c.tells(c.Do(watch(d, 0, false, anyRoom))[0], "+kept")
			continue
		}
		c.Send(c.Message(smbtest.Request{Command: wire.CmdClose, Body: (&wire.CloseRequest{FileID: d}).Append}))
		got := map[wire.Command]wire.Status{}
		for range 2 {
			r := c.Recv()[0]
			got[r.Command] = r.Status
		}
		if got[wire.CmdClose] != wire.StatusSuccess || got[wire.CmdChangeNotify] != wire.StatusNotifyCleanup {
			t.Errorf("%v", got)
		}
	}
	if r := c.Do(watch(d, allNames, false, anyRoom))[0]; r.Status != wire.StatusFileClosed {
		t.Errorf("%v", r.Status)
	}
	// The directory is deleted.
	o.remove(`dead\x`)
	d = c.openDir("dead")
	c.parks(watch(d, allNames, false, anyRoom))
	o.remove("dead") // it stays as long as it is open
	c.ends(wire.StatusDeletePending)
	if r := c.Do(watch(d, allNames, false, anyRoom))[0]; r.Status != wire.StatusDeletePending {
		t.Errorf("%v", r.Status)
	}
	c.closeFile(d)
	// The session ends, and with the connection nobody is told.
	d = c.openDir("d")
	c.parks(watch(d, allNames, false, anyRoom))
	c.Send(c.Message(smbtest.Request{Command: wire.CmdLogoff, Body: smbtest.Empty}))
	for range 2 {
		if r := c.Recv()[0]; r.Status != wire.StatusSuccess && r.Status != wire.StatusNotifyCleanup {
			t.Errorf("%v: %v", r.Command, r.Status)
		}
	}
	c.W.Close()
	d = o.openDir("d")
	o.parks(watch(d, allNames, true, anyRoom))
	o.W.Close()
}

// What is asked for must make sense; in the middle of a message nobody waits.
func TestChangeNotifyRefusals(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	c, o := e.files(wire.Dialect311), e.files(wire.Dialect311)
	f := c.must(want("f", wire.FileOpen)).FileID
	q := want("", wire.FileOpen)
	q.DesiredAccess = wire.FileReadAttributes
	unlisted := c.must(q).FileID
	d := c.openDir("")
	for id, st := range map[wire.FileID]wire.Status{f: wire.StatusInvalidParameter, unlisted: wire.StatusAccessDenied} {
		if r := c.Do(watch(id, allNames, false, anyRoom))[0]; r.Status != st {
			t.Errorf("%v, want %v", r.Status, st)
		}
		c.closeFile(id)
	}
	if r := c.Do(watch(d, allNames, false, 8<<20+1))[0]; r.Status != wire.StatusInvalidParameter {
		t.Errorf("%v", r.Status)
	}
	open := smbtest.Request{Command: wire.CmdCreate, Body: (&q).Append}
	q.DesiredAccess = wire.FileListDirectory
	cl := smbtest.Request{Command: wire.CmdClose, Body: (&wire.CloseRequest{FileID: wire.AnyFile}).Append}
	r := c.Do(open, watch(wire.AnyFile, allNames, false, anyRoom), cl)
	if r[0].Status != wire.StatusSuccess || r[1].Status != wire.StatusInternalError || r[2].Status != wire.StatusSuccess {
		t.Errorf("%v, %v, %v", r[0].Status, r[1].Status, r[2].Status)
	}
	no := want("missing", wire.FileOpen)
	for i, r := range c.Do(smbtest.Request{Command: wire.CmdCreate, Body: no.Append}, watch(wire.AnyFile, allNames, false, anyRoom)) {
		if r.Status != wire.StatusObjectNameNotFound {
			t.Errorf("request %d: %v", i, r.Status)
		}
	}
	// What failed is not in the way of what waits.
	c.parks(watch(d, allNames, false, anyRoom))
	o.mkdir("new")
	c.told("+new")
	c.closeFile(d)
}

// Streams are told of for themselves.
func TestChangeNotifyStreams(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("d", "f")
	c, o := e.files(wire.Dialect311), e.files(wire.Dialect311)
	d := c.openDir("d")
	const filter = wire.NotifyChangeStreamName | wire.NotifyChangeStreamSize | wire.NotifyChangeStreamWrite
	c.cancel(c.parks(watch(d, filter, false, anyRoom)))
	f := o.must(want(`d\f:s`, wire.FileCreate)).FileID
	q := wire.WriteRequest{FileID: f, Data: []byte("x")}
	o.Call(wire.CmdWrite, q.Append, wire.StatusSuccess)
	o.closeFile(f)
	o.remove(`d\f:s`)
	c.tells(c.Do(watch(d, 0, false, anyRoom))[0], `sf:s:$DATA`, `wf:s:$DATA`, `rf:s:$DATA`)
	c.closeFile(d)
}

// cancel cancels what waits.
func (c *fileClient) cancel(p smbtest.Response) {
	c.T.Helper()
	c.Send(c.Message(smbtest.Request{Command: wire.CmdCancel, Body: smbtest.Empty, Edit: func(h *wire.Header) {
		h.Flags |= wire.FlagAsyncCommand
		h.AsyncID, h.MessageID = p.AsyncID, 0
	}}))
	c.ends(wire.StatusCancelled)
}

// Every change is told for what it is to those who wait for that, and to nobody else.
func TestChangeNotifyFilters(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("d", "f")
	e.touch("d", "target")
	c, o := e.files(wire.Dialect311), e.files(wire.Dialect311)
	q := want(`d\f`, wire.FileOpen)
	q.DesiredAccess |= wire.WriteDAC | wire.WriteOwner
	f := o.must(q).FileID
	basic := func(b wire.BasicInfo) func() {
		return func() { o.set(f, wire.FileBasicInformation, b.Append(nil), 0) }
	}
	const day = wire.Filetime(116444736000000000)
	write := func(off uint64) func() {
		q := wire.WriteRequest{FileID: f, Offset: off, Data: []byte("x")}
		return func() { o.Call(wire.CmdWrite, q.Append, wire.StatusSuccess) }
	}
	eas := wire.NewList(nil, 100)
	eas.AddEA(&wire.EA{Name: []byte("user"), Value: []byte("v")})
	mode := (&secdesc.Descriptor{Control: secdesc.DACLPresent}).Append(nil)
	const (
		fileName, attributes, size = wire.NotifyChangeFileName, wire.NotifyChangeAttributes, wire.NotifyChangeSize
		lastWrite, creation        = wire.NotifyChangeLastWrite, wire.NotifyChangeCreation
	)
	for _, x := range []struct {
		what   string
		filter uint32 // any of it
		do     func()
		want   string
	}{
		{"attributes", attributes, basic(wire.BasicInfo{FileAttributes: wire.FileAttributeHidden}), "*f"},
		{"creation", creation, basic(wire.BasicInfo{Times: wire.Times{Creation: day}}), "*f"},
		{"access", wire.NotifyChangeLastAccess, basic(wire.BasicInfo{Times: wire.Times{LastAccess: day}}), "*f"},
		{"write time", lastWrite, basic(wire.BasicInfo{Times: wire.Times{LastWrite: day}}), "*f"},
		{"write", lastWrite, write(3), "*f"},
		{"growth", lastWrite | size, write(100), "*f"},
		{"size", size, func() { o.set(f, wire.FileEndOfFileInformation, wire.AppendInfo64(nil, 5), 0) }, "*f"},
		{"EA", wire.NotifyChangeEA, func() { o.set(f, wire.FileFullEaInformation, eas.Bytes(), 0) }, "*f"},
		{"security", wire.NotifyChangeSecurity, func() {
			q := wire.SetInfoRequest{Type: wire.InfoSecurity, Additional: wire.DACLSecurityInformation, FileID: f, Input: mode}
			o.Call(wire.CmdSetInfo, q.Append, wire.StatusSuccess)
		}, "*f"},
		{"rename", attributes | creation, func() { o.renameTo(f, wire.FileRenameInformation, `d\g`, 0, 0) }, "*g"},
		{"rename over", fileName | attributes | creation, func() { o.renameTo(f, wire.FileRenameInformation, `d\target`, wire.RenameReplaceIfExists, 0) }, "-target <g >target"},
		{"link", fileName, func() { o.renameTo(f, wire.FileLinkInformation, `d\f`, 0, 0) }, "+f"},
	} {
		d, other := c.openDir("d"), c.openDir("d")
		not := ^x.filter
		if x.what == "rename" {
			not &^= fileName
		}
		c.cancel(c.parks(watch(other, not, false, anyRoom)))
		c.parks(watch(d, x.filter&-x.filter, false, anyRoom))
		x.do()
		t.Log(x.what)
		c.told(strings.Fields(x.want)...)
		c.cancel(c.parks(watch(other, 0, false, anyRoom))) // there is nothing
		c.closeFile(d)
		c.closeFile(other)
	}
	o.closeFile(f)
}
