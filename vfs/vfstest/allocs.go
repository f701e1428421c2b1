package vfstest

import (
	"testing"

	"fileserver/vfs"
)

// testAllocs checks that what a READ or WRITE needs takes no memory once it runs.
func testAllocs(e *env) {
	n := e.file(e.root, "f", "content")
	h := n.Handle()
	f := e.open(n, vfs.OpenRead|vfs.OpenWrite)
	buf := make([]byte, 64<<10)
	e.write(f, string(buf), 0)
	cred := &vfs.Cred{UID: e.c.UID, GID: e.c.GID, Groups: e.c.Groups}
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"ReadAt", func() error { _, _, err := f.ReadAt(e.ctx, buf, 0); return err }},
		{"ReadAtUnaligned", func() error { _, _, err := f.ReadAt(e.ctx, buf[:5000], 333); return err }},
		{"WriteAt", func() error { _, err := f.WriteAt(e.ctx, buf, 0, vfs.Unstable); return err }},
		{"GetAttr", func() error { _, err := n.GetAttr(e.ctx, vfs.AttrStat); return err }},
		{"FileGetAttr", func() error { _, err := f.GetAttr(e.ctx, vfs.AttrStat); return err }},
		{"Access", func() error { _, err := n.Access(e.ctx, cred, vfs.AccessRead|vfs.AccessModify); return err }},
		{"Resolve", func() error {
			n, err := e.fs.Resolve(e.ctx, h)
			if err == nil {
				n.Release()
			}
			return err
		}},
		{"Open", func() error {
			f, err := n.Open(e.ctx, cred, vfs.OpenRead|vfs.OpenWrite)
			if err == nil {
				err = f.Close()
			}
			return err
		}},
		{"Lookup", func() error {
			n, err := e.root.Lookup(e.ctx, cred, "f")
			if err == nil {
				n.Release()
			}
			return err
		}},
	} {
		for range 200 {
			if err := c.run(); err != nil {
				e.Fatalf("%s: %v", c.name, err)
			}
		}
		if raceEnabled {
			continue
		}
		if got, most := testing.AllocsPerRun(200, func() { c.run() }), e.opt.MaxAllocs[c.name]; got > most {
			e.Errorf("%s allocates %v times, granted are %v", c.name, got, most)
		}
	}
}
