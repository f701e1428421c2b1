package smb

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

var dirClasses = []wire.InfoClass{
	wire.FileDirectoryInformation, wire.FileFullDirectoryInformation, wire.FileBothDirectoryInformation, wire.FileNamesInformation,
	wire.FileIDBothDirectoryInformation, wire.FileIDFullDirectoryInformation, wire.FileIDExtdDirectoryInformation,
}

// openDir opens a directory.
func (c *fileClient) openDir(name string) wire.FileID {
	c.T.Helper()
	q := want(name, wire.FileOpen)
	q.DesiredAccess, q.Options = wire.FileListDirectory|wire.FileReadAttributes, wire.FileDirectoryFile
	return c.must(q).FileID
}

// list is one QUERY_DIRECTORY.
func (c *fileClient) list(d wire.FileID, class wire.InfoClass, pattern string, flags uint8, length uint32) ([]wire.DirEntry, int, wire.Status) {
	c.T.Helper()
	q := wire.QueryDirectoryRequest{Class: class, Flags: flags, FileID: d, Pattern: wire.AppendUTF16(nil, pattern), OutputLength: length}
	r := c.Do(smbtest.Request{Command: wire.CmdQueryDirectory, Body: q.Append, Charge: chargeOf(int(length)), Ask: 16})[0]
	if r.Status != wire.StatusSuccess {
		return nil, 0, r.Status
	}
	resp, err := wire.ParseOutputResponse(r.Msg)
	if err != nil {
		c.T.Fatal(err)
	}
	all, err := wire.ParseDirEntries(class, resp.Output)
	if err != nil {
		c.T.Fatal(err)
	}
	return all, len(resp.Output), r.Status
}

// listAll enumerates to the end, with responses of at most length bytes.
func (c *fileClient) listAll(d wire.FileID, class wire.InfoClass, pattern string, flags uint8, length uint32) (all []wire.DirEntry) {
	c.T.Helper()
	for first := true; ; first = false {
		l, n, st := c.list(d, class, pattern, flags, length)
		if st == wire.StatusNoMoreFiles && !first {
			return all
		}
		if st != wire.StatusSuccess || n > int(length) || len(l) == 0 {
			c.T.Fatalf("class %d, %d bytes: %v, %d entries of %d bytes", class, length, st, len(l), n)
		}
		all = append(all, l...)
		flags &^= wire.QueryDirectoryRestartScans | wire.QueryDirectoryReopen
	}
}

func names(list []wire.DirEntry) (n []string) {
	for i := range list {
		n = append(n, list[i].Name)
	}
	slices.Sort(n)
	return n
}

// Every class, with room for everything, and for hardly one entry.
func TestQueryDirectory(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("d", "sub", "x")
	var want []string
	for i := range 100 {
		name := fmt.Sprintf("file %03d%s", i, strings.Repeat("x", i%7*10))
		e.touch("d", name)
		want = append(want, name)
	}
	e.touch("d", "a:b") // as it cannot be named by clients
	want = append(want, ".", "..", "sub", "a\uf022b")
	slices.Sort(want)
	c := e.files(wire.Dialect311)
	d := c.openDir("d")
	for _, class := range dirClasses {
		for _, length := range []uint32{200 + 104, 1000, 65536, 1 << 20} {
			list := c.listAll(d, class, "*", wire.QueryDirectoryRestartScans, length)
			if got := names(list); !slices.Equal(got, want) {
				t.Fatalf("class %d, %d bytes: %q", class, length, got)
			}
			c.checkEntries(list, class)
		}
		single := c.listAll(d, class, "*", wire.QueryDirectoryReopen|wire.QueryDirectoryReturnSingleEntry, 1000)
		if got := names(single); !slices.Equal(got, want) {
			t.Fatalf("class %d, one by one: %q", class, got)
		}
	}
	c.closeFile(d)
}

// checkEntries compares what a listing tells with what the files themselves tell.
func (c *fileClient) checkEntries(list []wire.DirEntry, class wire.InfoClass) {
	c.T.Helper()
	if class == wire.FileNamesInformation {
		return
	}
	for i := range list {
		e := &list[i]
		dir := e.Name == "." || e.Name == ".." || e.Name == "sub"
		size, attributes := uint64(10), wire.FileAttributeArchive
		if dir {
			size, attributes = 0, wire.FileAttributeDirectory
		}
		if e.EndOfFile != size || e.FileAttributes != attributes || e.Times.LastWrite == 0 || e.Times.Creation == 0 {
			c.T.Fatalf("class %d: %+v", class, *e)
		}
		switch class {
		case wire.FileIDBothDirectoryInformation, wire.FileIDFullDirectoryInformation, wire.FileIDExtdDirectoryInformation:
			if e.FileID == 0 {
				c.T.Fatalf("class %d: %+v", class, *e)
			}
		}
	}
}

func TestQueryDirectoryPatterns(t *testing.T) {
	e := newFileEnv(t, nil)
	for _, n := range []string{"a.txt", "B.TXT", "c.doc", "noext"} {
		e.touch("d", n)
	}
	c := e.files(wire.Dialect311)
	d := c.openDir("d")
	for pattern, want := range map[string]string{
		"*": ". .. B.TXT a.txt c.doc noext", "*.txt": "B.TXT a.txt", "<.txt": "B.TXT a.txt", "A.TXT": "a.txt", "noext": "noext", "?.*": ".. B.TXT a.txt c.doc",
		"<\"*": ". .. B.TXT a.txt c.doc noext", ".": ".",
	} {
		got := c.listAll(d, wire.FileIDBothDirectoryInformation, pattern, wire.QueryDirectoryRestartScans, 65536)
		if s := strings.Join(names(got), " "); s != want {
			t.Errorf("%q: %s, want %s", pattern, s, want)
		}
	}
	// What there is not is missing once, and then all there is has been told.
	const restart = wire.QueryDirectoryRestartScans
	for _, st := range []wire.Status{wire.StatusNoSuchFile, wire.StatusNoMoreFiles} {
		flags := uint8(0)
		if st == wire.StatusNoSuchFile {
			flags = restart
		}
		if _, _, got := c.list(d, wire.FileNamesInformation, "nothing", flags, 1000); got != st {
			t.Errorf("nothing: %v, want %v", got, st)
		}
	}
	for _, x := range []struct {
		class   wire.InfoClass
		pattern string
		length  uint32
		st      wire.Status
	}{
		{wire.FileNamesInformation, "*", 13, wire.StatusInfoLengthMismatch},
		{wire.FileNamesInformation, "*", 0, wire.StatusInfoLengthMismatch},
		{wire.FileNamesInformation, `a\b`, 1000, wire.StatusObjectNameInvalid},
		{wire.FileBasicInformation, "*", 1000, wire.StatusInvalidInfoClass},
		{wire.FilePosixInformation, "*", 1000, wire.StatusInvalidInfoClass},
		{wire.FileNamesInformation, "*", 8<<20 + 1, wire.StatusInvalidParameter},
	} {
		for c.Credits < 140 {
			c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Ask: 140})
		}
		if _, _, st := c.list(d, x.class, x.pattern, restart, x.length); st != x.st {
			t.Errorf("%+v: %v", x, st)
		}
	}
	c.closeFile(d)
	f := c.must(want("d\\a.txt", wire.FileOpen)).FileID
	if _, _, st := c.list(f, wire.FileNamesInformation, "*", 0, 1000); st != wire.StatusInvalidParameter {
		t.Errorf("a file is listed: %v", st)
	}
	c.closeFile(f)
	q := want("d", wire.FileOpen)
	q.DesiredAccess = wire.FileReadAttributes
	d = c.must(q).FileID
	if _, _, st := c.list(d, wire.FileNamesInformation, "*", 0, 1000); st != wire.StatusAccessDenied {
		t.Errorf("a directory is listed without the right to: %v", st)
	}
	c.closeFile(d)
}

// Names come and go while a directory is listed: what stays comes exactly once.
func TestQueryDirectoryChanges(t *testing.T) {
	e := newFileEnv(t, nil)
	for i := range 50 {
		e.touch("d", fmt.Sprintf("stays %d", i))
		e.touch("d", fmt.Sprintf("goes %d", i))
	}
	c := e.files(wire.Dialect311)
	d := c.openDir("d")
	seen := map[string]int{}
	for i := 0; ; i++ {
		list, _, st := c.list(d, wire.FileNamesInformation, "*", wire.QueryDirectoryReturnSingleEntry, 1000)
		if st == wire.StatusNoMoreFiles {
			break
		}
		seen[list[0].Name]++
		if i < 50 {
			q := want(fmt.Sprintf("d\\goes %d", i), wire.FileOpen)
			q.Options = wire.FileDeleteOnClose
			c.closeFile(c.must(q).FileID)
			e.touch("d", fmt.Sprintf("comes %d", i))
		}
	}
	for i := range 50 {
		if n := seen[fmt.Sprintf("stays %d", i)]; n != 1 {
			t.Errorf("name %d came %d times", i, n)
		}
	}
	for n, times := range seen {
		if times > 1 {
			t.Errorf("%s came %d times", n, times)
		}
	}
	c.closeFile(d)
}
