package posix

import (
	"context"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// TestPanicInACall: a panic under another identity gives the thread its own back.
func TestPanicInACall(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	b, err := ownIdentity()
	if err != nil {
		t.Fatal(err)
	}
	fs := &FS{base: b, kernel: true}
	n := &node{fs: fs}
	inside := -1
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = n.as(&vfs.Cred{UID: 4711, GID: 4712, Groups: []uint32{1}}, func() error {
			inside, _ = unix.SetfsuidRetUid(-1)
			panic("in the call")
		})
	}()
	if inside != 4711 {
		t.Errorf("the call was made by %d", inside)
	}
	uid, _ := unix.SetfsuidRetUid(-1)
	gid, _ := unix.SetfsgidRetGid(-1)
	if groups, _ := unix.Getgroups(); uid != 0 || gid != int(b.gid) || len(groups) != len(b.groups) {
		t.Errorf("the thread is %d:%d %v", uid, gid, groups)
	}
}

// TestThreadThatStaysSomebodyElse: a goroutine whose thread cannot be given its identity back ends, with the thread.
func TestThreadThatStaysSomebodyElse(t *testing.T) {
	ended := make(chan bool)
	go func() {
		returned := false
		defer func() { ended <- !returned }()
		b := base{uid: 1 << 31, gid: 5} // an identity that cannot be had
		th := thread{base: &b, uid: true}
		if os.Geteuid() == 0 {
			b.uid = ^uint32(0) // nobody's
		}
		th.restore()
		returned = true
	}()
	if !<-ended {
		t.Error("the goroutine goes on")
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
