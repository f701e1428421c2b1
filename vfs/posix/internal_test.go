package posix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

func testCrew(t *testing.T) *crew {
	t.Helper()
	b, err := ownIdentity()
	if err != nil {
		t.Fatal(err)
	}
	w := &crew{base: b}
	t.Cleanup(w.close)
	return w
}

// TestPanicInACall: a panic under another identity is the caller's, who still is who it was.
func TestPanicInACall(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	w := testCrew(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	inside := -1
	func() {
		defer func() {
			if v := recover(); !strings.Contains(fmt.Sprint(v), "in the call") {
				t.Errorf("panic: %v", v)
			}
		}()
		_ = w.as(&vfs.Cred{UID: 4711, GID: 4712, Groups: []uint32{1}}, func() error {
			inside, _ = unix.SetfsuidRetUid(-1)
			panic("in the call")
		})
	}()
	if inside != 4711 {
		t.Errorf("the call was made by %d", inside)
	}
	uid, _ := unix.SetfsuidRetUid(-1)
	gid, _ := unix.SetfsgidRetGid(-1)
	if groups, _ := unix.Getgroups(); uid != 0 || gid != int(w.base.gid) || len(groups) != len(w.base.groups) {
		t.Errorf("the thread is %d:%d %v", uid, gid, groups)
	}
}

// TestCrew: each call is made as who it is for, whoever the hand was before, and never on a thread of others.
func TestCrew(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	w := testCrew(t)
	hands := map[int]bool{}
	for i := range 50 {
		if tid := unix.Gettid(); hands[tid] {
			t.Errorf("thread %d has had an identity, and runs other things", tid)
		}
		c := &vfs.Cred{UID: uint32(i % 3), GID: uint32(i % 4), Groups: []uint32{uint32(i % 2)}}
		err := w.as(c, func() error {
			uid, _ := unix.SetfsuidRetUid(-1)
			gid, _ := unix.SetfsgidRetGid(-1)
			groups, err := unix.Getgroups()
			if uint32(uid) != c.UID || uint32(gid) != c.GID || c.UID != 0 && !slices.Equal(groups, []int{i % 2}) {
				t.Errorf("the thread is %d:%d %v, not %+v", uid, gid, groups, c)
			}
			if c.UID != w.base.uid || c.GID != w.base.gid {
				hands[unix.Gettid()] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	if len(hands) != 1 {
		t.Errorf("%d threads for one call at a time", len(hands))
	}
}

// TestIdentityThatCannotBeHad: the call is not made, the hand ends, and the next one is served by another.
func TestIdentityThatCannotBeHad(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	w := testCrew(t)
	if err := w.as(&vfs.Cred{UID: ^uint32(0), GID: 1}, func() error { t.Error("called"); return nil }); !errors.Is(err, errIdentity) {
		t.Errorf("error %v", err)
	}
	if len(w.idle) != 0 {
		t.Error("the hand is kept")
	}
	uid := 0
	if err := w.as(&vfs.Cred{UID: 5, GID: 5}, func() error { uid, _ = unix.SetfsuidRetUid(-1); return nil }); err != nil || uid != 5 {
		t.Errorf("as %d, %v", uid, err)
	}
}

// TestSteps: changes made through us differ even if the clock of the file system stands still.
func TestSteps(t *testing.T) {
	fs, err := New(Config{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	n := fs.root
	seen := map[uint64]bool{}
	for range 100 {
		n.changed() // without anything for the clock to show
		a, err := n.GetAttr(context.Background(), vfs.AttrChange)
		if err != nil {
			t.Fatal(err)
		}
		b, err := n.GetAttr(context.Background(), vfs.AttrChange)
		if err != nil || a.Change != b.Change {
			t.Fatalf("%d, then %d without a change, %v", a.Change, b.Change, err)
		}
		if seen[a.Change] {
			t.Fatalf("%d came twice", a.Change)
		}
		seen[a.Change] = true
	}
}

// FuzzACL: whatever a list holds, it gives no more than was asked for.
func FuzzACL(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 2, 0, 7, 0, 1, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0}, uint32(1), uint8(7))
	f.Add([]byte{2, 0, 0, 0}, uint32(1), uint8(4))
	f.Fuzz(func(t *testing.T, list []byte, uid uint32, want uint8) {
		c := &vfs.Cred{UID: uid, GID: 7}
		rights, ok := aclRights(list, c, 7, want)
		if rights&^want != 0 || rights > 7 || !ok && rights != 0 {
			t.Errorf("%o of %o", rights, want)
		}
	})
}

// FuzzPlace: what a damaged table holds is a place or is not, and survives being written again.
func FuzzPlace(f *testing.F) {
	p := place{name: "name"}
	p.parent.n = 9
	f.Add(encodePlace(p))
	f.Add([]byte{200, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := decodePlace(b)
		if !ok {
			return
		}
		if q, ok := decodePlace(encodePlace(p)); !ok || q != p {
			t.Errorf("%v becomes %v", p, q)
		}
	})
}

// FuzzDirent: entries of any content end.
func FuzzDirent(f *testing.F) {
	f.Add("\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x18\x00\x08name\x00")
	f.Fuzz(func(t *testing.T, b string) {
		for len(b) > 0 {
			_, _, _, name, size := parseDirent(b)
			if size == 0 {
				return
			}
			if size > len(b) || len(name) > size {
				t.Fatalf("%d bytes of %d", size, len(b))
			}
			b = b[size:]
		}
	})
}
