package posix_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fileserver/vfs"
	"fileserver/vfs/posix"
)

// identities returns the Uid, Gid and Groups lines of all threads of the process.
func identities(t *testing.T) map[string]int {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	must(t, err)
	ids := map[string]int{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		var id []string
		for line := range strings.Lines(string(b)) {
			for _, p := range []string{"Uid:", "Gid:", "Groups:", "CapEff:"} {
				if strings.HasPrefix(line, p) {
					id = append(id, strings.Join(strings.Fields(line), " "))
				}
			}
		}
		ids[strings.Join(id, " ")]++
	}
	return ids
}

// onlyOwn waits until all threads have the identity of the process: those that had others end a moment after their file system.
func onlyOwn(t *testing.T, when string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		ids := identities(t)
		if len(ids) == 1 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("threads differ %s: %v", when, ids)
		}
	}
}

// TestIdentitiesDoNotLeak has many users work at once: what each makes is theirs, and no thread stays somebody else.
func TestIdentitiesDoNotLeak(t *testing.T) {
	onlyOwn(t, "at the start")
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		must(t, os.Chmod(cfg.Root, 0o777))
		fs, root := start(t, cfg)
		var wg sync.WaitGroup
		for u := range 8 {
			wg.Go(func() {
				c := &vfs.Cred{UID: uint32(70000 + u), GID: uint32(80000 + u), Groups: []uint32{uint32(90000 + u), 95000}}
				for i := range 40 {
					name := fmt.Sprintf("u%d-%d", u, i)
					n, _, err := root.Create(ctx, c, name, true, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o600})
					if err != nil {
						t.Error(err)
						return
					}
					a, err := n.GetAttr(ctx, vfs.AttrStat)
					if err != nil || fs.KernelPermissions() && (a.UID != c.UID || a.GID != c.GID) {
						t.Errorf("%s belongs to %d:%d, %v", name, a.UID, a.GID, err)
					}
					other := &vfs.Cred{UID: c.UID + 1, GID: c.GID + 1}
					if _, err := n.Open(ctx, other, vfs.OpenRead); vfs.StatusOf(err) != vfs.ErrAccess {
						t.Errorf("another may read %s: %v", name, err)
					}
					want(t, "Remove by nobody's", root.Remove(ctx, c, "absent", false), vfs.ErrNotFound)
					n.Release()
					if err := root.Remove(ctx, c, name, false); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
	onlyOwn(t, "at the end")
}

// TestGroups tells who may by a supplementary group, and that the groups of the server itself count for nobody.
func TestGroups(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only the superuser can make what this needs
	}
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		must(t, os.WriteFile(cfg.Root+"/f", []byte("x"), 0o640))
		must(t, os.Chown(cfg.Root+"/f", 1234, 5678))
		must(t, os.WriteFile(cfg.Root+"/zero", []byte("x"), 0o640)) // of root's group
		_, root := start(t, cfg)
		f, zero := lookup(t, root, "f"), lookup(t, root, "zero")
		defer f.Release()
		defer zero.Release()
		for _, c := range []struct {
			c    vfs.Cred
			f, z vfs.Status
		}{
			{vfs.Cred{UID: 1, GID: 1}, vfs.ErrAccess, vfs.ErrAccess},
			{vfs.Cred{UID: 1, GID: 5678}, vfs.OK, vfs.ErrAccess},
			{vfs.Cred{UID: 1, GID: 1, Groups: []uint32{4, 5678}}, vfs.OK, vfs.ErrAccess},
			{vfs.Cred{UID: 1, GID: 1, Groups: []uint32{4, 0}}, vfs.ErrAccess, vfs.OK},
			{vfs.Cred{UID: 1234, GID: 1}, vfs.OK, vfs.ErrAccess},
			{vfs.Cred{UID: 1, GID: 1}, vfs.ErrAccess, vfs.ErrAccess},
			{vfs.Cred{}, vfs.OK, vfs.OK},
		} {
			for n, status := range map[vfs.Node]vfs.Status{f: c.f, zero: c.z} {
				file, err := n.Open(ctx, &c.c, vfs.OpenRead)
				want(t, fmt.Sprintf("Open by %+v", c.c), err, status)
				if err == nil {
					must(t, file.Close())
				}
			}
		}
	})
}

// TestRememberedRights changes what was decided before: the same Cred in memory becomes another
// identity, and the object changes mode, owner and group behind the server's back.
func TestRememberedRights(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	inModes(t, func(t *testing.T, top string, cfg posix.Config) {
		path := cfg.Root + "/f"
		must(t, os.WriteFile(path, []byte("x"), 0o600))
		must(t, os.Chown(path, 1000, 1000))
		_, root := start(t, cfg)
		n := lookup(t, root, "f")
		defer n.Release()
		c := &vfs.Cred{UID: 1000, GID: 1000, Groups: []uint32{1, 2}}
		try := func(what string, status vfs.Status) {
			t.Helper()
			for range 3 {
				f, err := n.Open(ctx, c, vfs.OpenRead|vfs.OpenWrite)
				want(t, what, err, status)
				if err == nil {
					_, err = f.WriteAt(ctx, []byte("y"), 0, vfs.Unstable)
					must(t, err)
					must(t, f.Close())
				}
			}
		}
		try("the owner", vfs.OK)
		c.UID = 1001
		try("another in the same memory", vfs.ErrAccess)
		c.GID = 1000
		must(t, os.Chmod(path, 0o660))
		try("the group", vfs.OK)
		c.GID, c.Groups[1] = 5, 6
		try("not of the group any more", vfs.ErrAccess)
		c.Groups[1] = 1000
		try("of the group again", vfs.OK)
		must(t, os.Chown(path, 1000, 7))
		try("another group", vfs.ErrAccess)
		must(t, os.Chown(path, 1001, 7))
		try("the new owner", vfs.OK)
		must(t, os.Chmod(path, 0o060))
		try("an owner without rights", vfs.ErrAccess)
	})
}
