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
