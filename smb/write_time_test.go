package smb

import (
	"testing"

	"fileserver/smb/wire"
)

// A time of the last write that a client has set, or wants to stay, its own writes do not change; others' do.
func TestFrozenWriteTime(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	c := e.files(wire.Dialect311)
	f, other := c.must(want("f", wire.FileOpen)).FileID, c.must(want("f", wire.FileOpen)).FileID
	const day = wire.Filetime(116444736000000000)
	set := func(v wire.Filetime) {
		t.Helper()
		c.set(f, wire.FileBasicInformation, (&wire.BasicInfo{Times: wire.Times{LastWrite: v}}).Append(nil), 0)
	}
	changes := map[string]func(id wire.FileID){
		"WRITE":       func(id wire.FileID) { c.write(id, 0, []byte("x")) },
		"end of file": func(id wire.FileID) { c.set(id, wire.FileEndOfFileInformation, wire.AppendInfo64(nil, 100), 0) },
		"zeros": func(id wire.FileID) {
			c.fsctl(id, wire.FsctlSetZeroData, (&wire.ZeroData{Beyond: 10}).Append(nil), 0, 0)
		},
	}
	written := func() wire.Filetime { return c.all(f).Basic.LastWrite }
	for what, change := range changes {
		set(day)
		if change(f); written() != day {
			t.Errorf("%s: the time that was set is gone", what)
		}
		if change(other); written() == day {
			t.Errorf("%s by another: the time has stayed", what)
		}
		now := written()
		set(wire.FiletimeFreeze)
		if change(f); written() != now {
			t.Errorf("%s: the time has not stayed", what)
		}
		set(day)
		set(wire.FiletimeThaw)
		if change(f); written() == day {
			t.Errorf("%s: the time has not thawed", what)
		}
	}
	c.closeFile(f)
	c.closeFile(other)
}

// What keeps a time that was set is the open, not the time: where another open has written meanwhile, its time stays.
func TestKeptWriteTimeOfOthers(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	c := e.files(wire.Dialect311)
	f, other := c.must(want("f", wire.FileOpen)).FileID, c.must(want("f", wire.FileOpen)).FileID
	const day = wire.Filetime(116444736000000000)
	c.set(f, wire.FileBasicInformation, (&wire.BasicInfo{Times: wire.Times{LastWrite: day}}).Append(nil), 0)
	c.write(other, 0, []byte("x"))
	now := c.all(f).Basic.LastWrite
	if now == day {
		t.Fatal("another's WRITE has not moved the time")
	}
	c.write(f, 0, []byte("y"))
	if got := c.all(f).Basic.LastWrite; got != now {
		t.Errorf("after a WRITE of the open that keeps the time: %v, want the other's, %v", got.Time(), now.Time())
	}
	c.closeFile(f)
	c.closeFile(other)
}

// A time of change that an open has set its own changes leave, and others' move.
func TestKeptChangeTime(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	c := e.files(wire.Dialect311)
	f, other := c.must(want("f", wire.FileOpen)).FileID, c.must(want("f", wire.FileOpen)).FileID
	const day = wire.Filetime(116444736000000000)
	basic := func(id wire.FileID, b wire.BasicInfo) { c.set(id, wire.FileBasicInformation, b.Append(nil), 0) }
	basic(f, wire.BasicInfo{Times: wire.Times{Change: day}})
	for what, change := range map[string]func(){
		"attributes":  func() { basic(f, wire.BasicInfo{FileAttributes: wire.FileAttributeHidden}) },
		"WRITE":       func() { c.write(f, 0, []byte("x")) },
		"end of file": func() { c.set(f, wire.FileEndOfFileInformation, wire.AppendInfo64(nil, 100), 0) },
		"allocation":  func() { c.set(f, wire.FileAllocationInformation, wire.AppendInfo64(nil, 8192), 0) },
	} {
		if change(); c.all(f).Basic.Change != day {
			t.Errorf("%s: the time of change that was set is gone", what)
		}
	}
	if basic(other, wire.BasicInfo{FileAttributes: wire.FileAttributeNormal}); c.all(f).Basic.Change == day {
		t.Error("attributes that another sets do not move the time of change")
	}
	c.closeFile(f)
	c.closeFile(other)
}

// More storage than before moves the time of change, and not that of the last write; it is shown while the file is open.
func TestAllocationTimes(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	c := e.files(wire.Dialect311)
	f := c.must(want("f", wire.FileOpen)).FileID
	before := c.all(f)
	for _, n := range []uint64{10, 8192, 8192} {
		was := c.all(f).Basic
		c.set(f, wire.FileAllocationInformation, wire.AppendInfo64(nil, n), 0)
		a := c.all(f)
		if a.Basic.LastWrite != was.LastWrite || a.Basic.Change <= was.Change {
			t.Errorf("%d bytes: last write %v, was %v; change %v, was %v", n, a.Basic.LastWrite.Time(), was.LastWrite.Time(),
				a.Basic.Change.Time(), was.Change.Time())
		}
		if n == 8192 && a.Standard.AllocationSize != n {
			t.Errorf("%d bytes of storage are shown as %d", n, a.Standard.AllocationSize)
		}
	}
	if after := c.all(f); after.Standard.EndOfFile != before.Standard.EndOfFile {
		t.Errorf("the file has %d bytes, had %d", after.Standard.EndOfFile, before.Standard.EndOfFile)
	}
	c.closeFile(f)
}
