package smb

import (
	"testing"

	"fileserver/smb/wire"
)

// The arbiter knows which extended attribute a stream is, as long as it is open and by the name it has, so that other protocols respect
// its opens.
func TestStreamsAreKnown(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	f := c.must(want("f:s", wire.FileCreate)).FileID
	o := c.open(f)
	file, key := o.link.key, o.key
	o.release()
	known := func(attr string) bool {
		got, open := e.srv.cfg.Locks.Stream(file, attr)
		return open && got == key
	}
	if !known("DosStream.s:$DATA") {
		t.Error("an open stream is not known")
	}
	c.renameTo(f, wire.FileRenameInformation, ":t", 0, 0)
	if known("DosStream.s:$DATA") || !known("DosStream.t:$DATA") {
		t.Error("a renamed stream is not known by its new name")
	}
	c.closeFile(f)
	if known("DosStream.t:$DATA") {
		t.Error("a closed stream is known")
	}
}
