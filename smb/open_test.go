package smb

import (
	"testing"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

// TestReplacedObject: after FSCTL_SET_REPARSE_POINT the open is about the new object, whatever is asked of it. The first one has no
// name any more.
func TestReplacedObject(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	f := c.must(want("f", wire.FileCreate)).FileID
	c.fsctl(f, wire.FsctlSetReparsePoint, (&wire.Reparse{Tag: wire.ReparseTagLXFIFO}).Append(nil), 0, wire.StatusSuccess)
	c.fsctl(f, wire.FsctlSetSparse, nil, 0, wire.StatusInvalidParameter)
	c.renameTo(f, wire.FileLinkInformation, "l", 0, wire.StatusSuccess)
	c.closeFile(f)
	if !e.exists("l") {
		t.Fatal("there is no link to the new object")
	}
	e.node("l", func(n vfs.Node) {
		if k := n.Kind(); k != vfs.KindFIFO {
			t.Errorf("the link leads to an object of kind %v", k)
		}
	})
}

// TestOpenEndsOnce: an open that is ended twice gives its session's reference back once, and lives as long as a request uses it.
func TestOpenEndsOnce(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	o := c.open(c.must(want("f", wire.FileCreate)).FileID)
	if !o.home.session.take(o) || o.home.session.take(o) {
		t.Fatal("an open can be taken from its session once")
	}
	for range 2 {
		o.end(t.Context())
	}
	if n := o.refs.Load(); n != 1 {
		t.Errorf("%d references", n)
	}
	if _, err := o.object().GetAttr(t.Context(), vfs.AttrSize); err != nil {
		t.Errorf("its object is gone: %v", err)
	}
	if n := e.srv.cfg.Locks.Counts().Files + e.links(); n != 0 {
		t.Errorf("%d claims and links are left", n)
	}
	o.release()
}

// TestDue: the last open deletes what is to be deleted, once.
func TestDue(t *testing.T) {
	who := &vfs.Cred{UID: 7}
	for name, x := range map[string]struct {
		d    disposition
		want bool
	}{
		"the last open":          {disposition{opens: 1, pending: true}, true},
		"one of two":             {disposition{opens: 2, pending: true}, false},
		"nobody has asked":       {disposition{opens: 1}, false},
		"it is gone":             {disposition{opens: 1, pending: true, gone: true}, false},
		"another name, replaced": {disposition{opens: 1, gone: true}, false},
	} {
		if got := x.d.due(); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	d := disposition{opens: 1}
	if d.set(who); !d.due() || d.cred != who {
		t.Errorf("asked: %+v", d)
	}
	if d.set(nil); d.due() || d.cred != nil {
		t.Errorf("asked not to: %+v", d)
	}
}
