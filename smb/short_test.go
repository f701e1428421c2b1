package smb

import (
	"strings"
	"testing"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

// Old programs know files by names of 8.3 characters, and find, open, rename and delete them by these.
func TestShortNames(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("A long directory", "A long file.text")
	e.touch("A long directory", "short.txt")
	c := e.files(wire.Dialect311)
	dir, _ := namespace.ShortName("A long directory")
	file, _ := namespace.ShortName("A long file.text")
	d := c.openDir(strings.ToLower(dir))
	for _, class := range []wire.InfoClass{wire.FileBothDirectoryInformation, wire.FileIDBothDirectoryInformation} {
		got := map[string]string{}
		for _, x := range c.listAll(d, class, "*", wire.QueryDirectoryRestartScans, 4096) {
			got[x.Name] = x.ShortName
		}
		if got["A long file.text"] != file || got["short.txt"] != "" || got["."] != "" || got[".."] != "" || len(got) != 4 {
			t.Errorf("class %d: %q", class, got)
		}
	}
	for _, pattern := range []string{file, strings.ToLower(file)} {
		if got := names(c.listAll(d, wire.FileNamesInformation, pattern, wire.QueryDirectoryRestartScans, 4096)); len(got) != 1 || got[0] != "A long file.text" {
			t.Errorf("%s: %q", pattern, got)
		}
	}
	c.closeFile(d)
	f := c.must(want(dir+`\`+file, wire.FileOpen)).FileID
	if name := c.all(f).Name; name != `\A long directory\A long file.text` {
		t.Errorf("the name is %q", name)
	}
	c.renameTo(f, wire.FileRenameInformation, dir+`\another long name`, 0, 0)
	c.closeFile(f)
	other, _ := namespace.ShortName("another long name")
	c.fails(want(dir+`\`+file, wire.FileOpen), wire.StatusObjectNameNotFound)
	c.fails(want(dir+`\`+other, wire.FileCreate), wire.StatusObjectNameCollision)
	c.remove(dir + `\` + other)
	if e.exists("A long directory", "another long name") {
		t.Error("it is still there")
	}
}

// A time of change that was set is shown until the object changes, also by listings, and when it is opened again.
func TestChangeTimeKept(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("d", "f")
	c := e.files(wire.Dialect311)
	const day = wire.Filetime(116444736000000000)
	f := c.must(want(`d\f`, wire.FileOpen)).FileID
	c.set(f, wire.FileBasicInformation, (&wire.BasicInfo{Times: wire.Times{Change: day}}).Append(nil), 0)
	c.closeFile(f)
	f = c.must(want(`d\f`, wire.FileOpen)).FileID
	if got := c.all(f).Basic.Change; got != day {
		t.Errorf("opened again: %d", got)
	}
	d := c.openDir("d")
	listed := func() wire.Filetime {
		return c.listAll(d, wire.FileDirectoryInformation, "f", wire.QueryDirectoryRestartScans, 4096)[0].Times.Change
	}
	if got := listed(); got != day {
		t.Errorf("listed: %d", got)
	}
	c.set(f, wire.FileBasicInformation, (&wire.BasicInfo{FileAttributes: wire.FileAttributeHidden}).Append(nil), 0)
	if got := c.all(f).Basic.Change; got == day || got != listed() {
		t.Errorf("after a change: %d, listed %d", got, listed())
	}
	c.closeFile(d)
	c.closeFile(f)
	s := &e.srv.changeTimes
	for i := range maxChangeTimes + 10 {
		s.set(lock.FileKey{Object: uint64(i)}, changeTime{time: day})
	}
	if len(s.of) > maxChangeTimes {
		t.Errorf("%d times are remembered", len(s.of))
	}
}
