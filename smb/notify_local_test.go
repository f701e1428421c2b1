package smb

import (
	"os"
	"path/filepath"
	"testing"

	"fileserver/smb/wire"
	"fileserver/vfs/posix"
)

// What programs on the server's machine do is told, and what clients do is told once.
func TestChangeNotifyLocal(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o777); err != nil {
		t.Fatal(err)
	}
	fs, err := posix.New(posix.Config{Root: dir, StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fs.Close(); err != nil {
			t.Error(err)
		}
	})
	e := newFileEnv(t, func(sh *Share) { sh.FS = fs })
	c, o := e.files(wire.Dialect311), e.files(wire.Dialect311)
	d := c.openDir("d")
	c.parks(watch(d, allNames|wire.NotifyChangeSize, true, anyRoom))
	local := func(name string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, "d", name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	local("one")
	c.told("+one")
	for _, own := range []string{"two", "three"} {
		c.parks(watch(d, 0, false, anyRoom))
		o.mkdir(`d\` + own)
		c.told("+" + own)
	}
	c.parks(watch(d, 0, false, anyRoom))
	local("four") // behind the echoes of what the client has done
	c.told("+four")
	c.parks(watch(d, 0, false, anyRoom))
	if err := os.Rename(filepath.Join(dir, "d", "four"), filepath.Join(dir, "d", "five")); err != nil {
		t.Fatal(err)
	}
	c.told("<four", ">five")
	c.closeFile(d)
	c.W.Close()
	o.W.Close()
}
