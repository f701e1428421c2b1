package smb

import (
	"fmt"
	"testing"
	"time"

	"fileserver/internal/budget"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// newOpenFilesEnv is a server that may have limit files open.
func newOpenFilesEnv(t *testing.T, limit int) (*env, *budget.Files) {
	t.Helper()
	files := budget.NewFiles(limit)
	return newEnv(t, func(c *Config) { c.Files = files }), files
}

// TestOpenFiles: an open beyond the client's part of the open files is refused, on each of its connections, and every way in which
// opens end gives them back.
func TestOpenFiles(t *testing.T) {
	const limit, part = 8, 4 // of one client alone
	ends := map[string]func(e *env, c *fileClient, f wire.FileID){
		"close": func(_ *env, c *fileClient, f wire.FileID) { c.closeFile(f) },
		"tree": func(_ *env, c *fileClient, _ wire.FileID) {
			c.Call(wire.CmdTreeDisconnect, smbtest.Empty, wire.StatusSuccess)
		},
		"session":    func(_ *env, c *fileClient, _ wire.FileID) { c.Call(wire.CmdLogoff, smbtest.Empty, wire.StatusSuccess) },
		"connection": func(_ *env, c *fileClient, _ wire.FileID) { c.W.Close() },
		"share":      func(e *env, _ *fileClient, _ wire.FileID) { e.srv.SetShares([]*Share{{Name: "data", FS: e.fs}}) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			e, files := newOpenFilesEnv(t, limit)
			first, second := e.files(wire.Dialect311), e.files(wire.Dialect210)
			f := first.must(want("f", wire.FileOpenIf)).FileID
			for i := range part - 1 {
				second.must(want(fmt.Sprint("g", i), wire.FileCreate))
			}
			for _, c := range []*fileClient{first, second} {
				c.fails(want("f", wire.FileOpen), wire.StatusTooManyOpenedFiles)
			}
			end(e, first, f)
			left := part - 1
			if name == "share" {
				left = 0 // of the second client, too
			}
			await(t, func() bool { used, _ := files.Used(); return used == left })
			again := e.files(wire.Dialect311)
			again.closeFile(again.must(want("f", wire.FileOpen)).FileID)
		})
	}
}

// await waits until f returns true.
func await(t *testing.T, f func() bool) {
	t.Helper()
	for end := time.Now().Add(smbtest.Timeout); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come true")
		}
	}
}

// TestOpenFilesRefusedWithoutTrace: an open that is refused because of their number neither makes a file, nor overwrites or deletes
// the one that there is.
func TestOpenFilesRefusedWithoutTrace(t *testing.T) {
	e, files := newOpenFilesEnv(t, 4)
	c := e.files(wire.Dialect311)
	f := c.must(want("f", wire.FileCreate)).FileID
	if st := c.write(f, 0, []byte("data")); st != wire.StatusSuccess {
		t.Fatal(st)
	}
	second := c.must(want("g", wire.FileCreate)).FileID
	for _, q := range []wire.CreateRequest{want("new", wire.FileCreate), want("f", wire.FileOverwrite), want("f", wire.FileOpen)} {
		q.Options |= wire.FileDeleteOnClose
		c.fails(q, wire.StatusTooManyOpenedFiles)
	}
	c.closeFile(second)
	c.closeFile(f)
	if e.exists("new") {
		t.Error("a refused CREATE has made its file")
	}
	r := c.must(want("f", wire.FileOpen))
	if r.EndOfFile != 4 {
		t.Errorf("a refused CREATE has left %d of the file's 4 bytes", r.EndOfFile)
	}
	c.closeFile(r.FileID)
	if used, _ := files.Used(); used != 0 {
		t.Errorf("%d files are open", used)
	}
}
