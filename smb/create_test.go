package smb

import (
	"context"
	"testing"
	"time"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// fileClient is a client with a tree, and what tests do with files.
type fileClient struct {
	*smbtest.Client
	e *env
}

// files mounts the share "data" as ann, who is root. At the end of the test nothing of the file system may be held.
func (e *env) files(d wire.Dialect) *fileClient {
	e.t.Helper()
	return &fileClient{e.mounted(d), e}
}

// newFileEnv makes an env that finds leaks of nodes, files and claims.
func newFileEnv(t testing.TB, change func(*Share)) *env {
	t.Helper()
	var locks func() int
	e := newEnv(t, func(c *Config) { locks = func() int { n := c.Locks.Counts(); return n.Files } })
	if change != nil {
		sh := &Share{Name: "data", FS: e.fs}
		change(sh)
		e.srv.SetShares([]*Share{sh})
	}
	t.Cleanup(func() { // before the server shuts down: its clients go first
		deadline := time.Now().Add(smbtest.Timeout)
		for {
			nodes, files := e.fs.Outstanding()
			if nodes == 0 && files == 0 && locks() == 0 && e.links() == 0 {
				return
			}
			if time.Now().After(deadline) {
				t.Errorf("%d nodes, %d files, claims on %d files, %d links are left", nodes, files, locks(), e.links())
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	return e
}

// links is how many names and files with streams are open.
func (e *env) links() int {
	e.srv.streams.mu.Lock()
	n := len(e.srv.streams.of)
	e.srv.streams.mu.Unlock()
	e.srv.links.mu.Lock()
	defer e.srv.links.mu.Unlock()
	return n + len(e.srv.links.of)
}

// want is a CREATE of a name with what most want.
func want(name string, d wire.CreateDisposition) wire.CreateRequest {
	return wire.CreateRequest{
		ImpersonationLevel: wire.ImpersonationImpersonation, DesiredAccess: wire.FileGenericRead | wire.FileGenericWrite | wire.Delete,
		ShareAccess: wire.FileShareRead | wire.FileShareWrite | wire.FileShareDelete, Disposition: d, Name: wire.AppendUTF16(nil, name),
	}
}

// create sends a CREATE.
func (c *fileClient) create(q wire.CreateRequest) (wire.CreateResponse, wire.Status) {
	c.T.Helper()
	return c.created(c.Do(smbtest.Request{Command: wire.CmdCreate, Body: q.Append})[0])
}

// created reads the response.
func (c *fileClient) created(r smbtest.Response) (wire.CreateResponse, wire.Status) {
	c.T.Helper()
	if r.Status != wire.StatusSuccess {
		return wire.CreateResponse{}, r.Status
	}
	resp, err := wire.ParseCreateResponse(r.Msg)
	if err != nil {
		c.T.Fatal(err)
	}
	return resp, r.Status
}

// must is a CREATE that succeeds.
func (c *fileClient) must(q wire.CreateRequest) wire.CreateResponse {
	c.T.Helper()
	resp, st := c.create(q)
	if st != wire.StatusSuccess {
		c.T.Fatalf("CREATE: %v", st)
	}
	return resp
}

// fails is a CREATE that has the status.
func (c *fileClient) fails(q wire.CreateRequest, st wire.Status) {
	c.T.Helper()
	r, got := c.create(q)
	if got == wire.StatusSuccess {
		c.closeFile(r.FileID)
	}
	if got != st {
		c.T.Errorf("CREATE: %v, want %v", got, st)
	}
}

func (c *fileClient) closeFile(id wire.FileID) {
	c.T.Helper()
	c.Call(wire.CmdClose, (&wire.CloseRequest{FileID: id}).Append, wire.StatusSuccess)
}

// touch creates a file with contents, through the file system.
func (e *env) touch(path ...string) {
	e.t.Helper()
	ctx, root := context.Background(), &vfs.Cred{}
	dir, err := e.fs.Root(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	for i, name := range path {
		var n vfs.Node
		if i == len(path)-1 {
			if n, _, err = dir.Create(ctx, root, name, false, &vfs.SetAttr{Mask: vfs.AttrMode | vfs.AttrSize, Mode: 0o644, Size: 10}); err != nil {
				e.t.Fatal(err)
			}
		} else if n, err = dir.Lookup(ctx, root, name); err != nil {
			if n, err = dir.Mkdir(ctx, root, name, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o755}); err != nil {
				e.t.Fatal(err)
			}
		}
		dir.Release()
		dir = n
	}
	dir.Release()
}

// exists reports whether there is a name.
func (e *env) exists(path ...string) bool {
	e.t.Helper()
	ctx, root := context.Background(), &vfs.Cred{}
	dir, err := e.fs.Root(ctx)
	for _, name := range path {
		if err != nil {
			break
		}
		var n vfs.Node
		n, err = dir.Lookup(ctx, root, name)
		dir.Release()
		dir = n
	}
	if err == nil {
		dir.Release()
	}
	return err == nil
}

// Every disposition with every state of what is there (MS-SMB2 2.2.13, MS-FSA 2.1.5.1).
func TestDispositions(t *testing.T) {
	const (
		ok       = wire.StatusSuccess
		missing  = wire.StatusObjectNameNotFound
		there    = wire.StatusObjectNameCollision
		noParent = wire.StatusObjectPathNotFound
	)
	type outcome struct {
		st     wire.Status
		action wire.CreateAction
		size   uint64
	}
	none := outcome{st: missing}
	tests := map[wire.CreateDisposition]struct{ absent, file, dir, parentless outcome }{
		wire.FileSupersede:   {outcome{ok, wire.FileCreated, 0}, outcome{ok, wire.FileSuperseded, 0}, outcome{st: wire.StatusFileIsADirectory}, outcome{st: noParent}},
		wire.FileOpen:        {none, outcome{ok, wire.FileOpened, 10}, outcome{ok, wire.FileOpened, 0}, outcome{st: noParent}},
		wire.FileCreate:      {outcome{ok, wire.FileCreated, 0}, outcome{st: there}, outcome{st: there}, outcome{st: noParent}},
		wire.FileOpenIf:      {outcome{ok, wire.FileCreated, 0}, outcome{ok, wire.FileOpened, 10}, outcome{ok, wire.FileOpened, 0}, outcome{st: noParent}},
		wire.FileOverwrite:   {none, outcome{ok, wire.FileOverwritten, 0}, outcome{st: wire.StatusFileIsADirectory}, outcome{st: noParent}},
		wire.FileOverwriteIf: {outcome{ok, wire.FileCreated, 0}, outcome{ok, wire.FileOverwritten, 0}, outcome{st: wire.StatusFileIsADirectory}, outcome{st: noParent}},
	}
	for d, test := range tests {
		e := newFileEnv(t, nil)
		e.touch("file")
		e.touch("dir", "x")
		c := e.files(wire.Dialect311)
		for name, w := range map[string]outcome{"new": test.absent, "file": test.file, "dir": test.dir, `none\x`: test.parentless, `file\x`: test.parentless} {
			r, st := c.create(want(name, d))
			if st != w.st || st == ok && (r.Action != w.action || r.EndOfFile != w.size) {
				t.Errorf("disposition %d of %s: %v, action %d, size %d", d, name, st, r.Action, r.EndOfFile)
			}
			if st == ok {
				c.closeFile(r.FileID)
			}
		}
		c.W.Close()
	}
	c := newFileEnv(t, nil).files(wire.Dialect311)
	c.fails(want("x", 6), wire.StatusInvalidParameter)
}
