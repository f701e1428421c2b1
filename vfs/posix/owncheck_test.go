package posix_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
	"fileserver/vfs/posix"
)

var (
	owner  = &vfs.Cred{UID: 61001, GID: 62001}
	member = &vfs.Cred{UID: 61002, GID: 62009, Groups: []uint32{5, 62001}}
	other  = &vfs.Cred{UID: 61003, GID: 62003}
)

// TestChecksAgree has the kernel and the own checks decide about the same calls by the same identities: they must agree.
func TestChecksAgree(t *testing.T) {
	if os.Geteuid() != 0 {
		return // the kernel can only be asked by the superuser
	}
	var answers [2]map[string]string
	for i := range answers {
		dir, err := os.MkdirTemp("/dev/shm", "posix")
		must(t, err)
		defer os.RemoveAll(dir)
		cfg := posix.Config{Root: dir, StateDir: t.TempDir(), OwnChecks: i == 1}
		answers[i] = decisions(t, cfg)
	}
	if len(answers[0]) < 1000 {
		t.Errorf("only %d decisions", len(answers[0]))
	}
	for what, kernel := range answers[0] {
		if own := answers[1][what]; own != kernel {
			t.Errorf("%s: the kernel says %s, the own check %s", what, kernel, own)
		}
	}
}

// decisions tries every kind of call for every mode and identity.
func decisions(t *testing.T, cfg posix.Config) map[string]string {
	_, root := start(t, cfg)
	d := cfg.Root + "/d"
	reset := func(dir, sticky, file uint32, fileOwner int) {
		must(t, os.RemoveAll(d))
		must(t, os.Mkdir(d, 0o777))
		must(t, os.Mkdir(d+"/sub", 0o755))
		must(t, os.WriteFile(d+"/f", []byte("x"), 0o600))
		for _, p := range []string{d, d + "/f", d + "/sub"} {
			uid := 61001
			if p != d {
				uid = fileOwner
			}
			must(t, os.Chown(p, uid, 62001))
		}
		must(t, os.Chmod(d+"/f", os.FileMode(file)))
		mode := os.FileMode(dir)
		if sticky != 0 {
			mode |= os.ModeSticky
		}
		must(t, os.Chmod(d, mode))
	}
	answers := map[string]string{}
	superuser := &vfs.Cred{}
	for what, list := range lists {
		for call, run := range calls {
			for who, c := range map[string]*vfs.Cred{"owner": owner, "member": member, "other": other} {
				reset(0o777, 0, 0o666, 61001)
				must(t, unix.Setxattr(d, "system.posix_acl_access", list, 0))
				must(t, unix.Setxattr(d+"/f", "system.posix_acl_access", list, 0))
				dir := lookup(t, root, "d")
				f := lookup(t, dir, "f")
				answers[fmt.Sprintf("%s by %s with the list %s", call, who, what)] = fmt.Sprint(vfs.StatusOf(run(c, dir, f)))
				f.Release()
				dir.Release()
			}
		}
	}
	for bits := range uint32(8) {
		for who, c := range map[string]*vfs.Cred{"owner": owner, "member": member, "other": other, "root": superuser} {
			shift := map[string]uint32{"owner": 6, "member": 3}[who]
			for call, run := range calls {
				for sticky := range uint32(2) {
					if sticky == 1 && !strings.HasPrefix(call, "Re") {
						continue // it is about names that go
					}
					for _, fileOwner := range []int{61001, 61003, 4} {
						reset(0o777&^(7<<shift)|bits<<shift, sticky, bits<<shift, fileOwner)
						dir := lookup(t, root, "d")
						f := lookup(t, dir, "f")
						answers[fmt.Sprintf("%s by %s with %o, sticky %d, of %d", call, who, bits, sticky, fileOwner)] = fmt.Sprint(vfs.StatusOf(run(c, dir, f)))
						f.Release()
						dir.Release()
					}
				}
			}
		}
	}
	return answers
}

// lists are access control lists, by what they say: owner, named user, owning group, named group, mask, others.
var lists = map[string][]byte{
	"other rwx":                        list(0o7, other.UID, 0o7, 0, 0, 0o7, 0),
	"other rwx, masked r-x":            list(0o7, other.UID, 0o7, 0, 0, 0o5, 0),
	"other ---, others rwx":            list(0o7, other.UID, 0, 0, 0, 0o7, 0o7),
	"other rwx, masked ---":            list(0o7, other.UID, 0o7, 0, 0, 0, 0o5),
	"group r-x, 5 -wx":                 list(0o7, 1, 0o7, 0o5, 5, 0o7, 0o7),
	"group ---, 5 ---, others rwx":     list(0o7, 1, 0o7, 0, 5, 0o7, 0o7),
	"member r-x although group is rwx": list(0, member.UID, 0o5, 0o7, 5, 0o7, 0o7),
}

func list(user uint16, named uint32, perm, group uint16, namedGroup uint32, mask, others uint16) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, user, ^uint32(0)}, {2, perm, named}, {4, group, ^uint32(0)}, {8, 3 & group >> 1, namedGroup}, {16, mask, ^uint32(0)}, {32, others, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

func drop(n vfs.Node, err error) error {
	if err == nil {
		n.Release()
	}
	return err
}

func set(s vfs.SetAttr) func(*vfs.Cred, vfs.Node, vfs.Node) error {
	return func(c *vfs.Cred, _, f vfs.Node) error { return f.SetAttr(ctx, c, &s) }
}

func open(flags vfs.OpenFlags) func(*vfs.Cred, vfs.Node, vfs.Node) error {
	return func(c *vfs.Cred, _, f vfs.Node) error {
		file, err := f.Open(ctx, c, flags)
		if err == nil {
			err = file.Close()
		}
		return err
	}
}

// calls are made in the directory d with the file f.
var calls = map[string]func(c *vfs.Cred, d, f vfs.Node) error{
	"Lookup":      func(c *vfs.Cred, d, f vfs.Node) error { return drop(d.Lookup(ctx, c, "f")) },
	"Lookup none": func(c *vfs.Cred, d, f vfs.Node) error { return drop(d.Lookup(ctx, c, "none")) },
	"Parent":      func(c *vfs.Cred, d, f vfs.Node) error { return drop(d.Parent(ctx, c)) },
	"ReadDir": func(c *vfs.Cred, d, f vfs.Node) error {
		_, err := d.ReadDir(ctx, c, 0, 0, false, func(*vfs.DirEntry) bool { return true })
		return err
	},
	"Create": func(c *vfs.Cred, d, f vfs.Node) error {
		n, _, err := d.Create(ctx, c, "new", true, nil)
		return drop(n, err)
	},
	"Create what exists": func(c *vfs.Cred, d, f vfs.Node) error {
		n, _, err := d.Create(ctx, c, "f", false, nil)
		return drop(n, err)
	},
	"Create exclusively what exists": func(c *vfs.Cred, d, f vfs.Node) error {
		n, _, err := d.Create(ctx, c, "f", true, nil)
		return drop(n, err)
	},
	"Mkdir":        func(c *vfs.Cred, d, f vfs.Node) error { return drop(d.Mkdir(ctx, c, "new", nil)) },
	"Mkdir exists": func(c *vfs.Cred, d, f vfs.Node) error { return drop(d.Mkdir(ctx, c, "f", nil)) },
	"Symlink":      func(c *vfs.Cred, d, f vfs.Node) error { return drop(d.Symlink(ctx, c, "new", "to", nil)) },
	"Mknod fifo": func(c *vfs.Cred, d, f vfs.Node) error {
		return drop(d.Mknod(ctx, c, "new", vfs.KindFIFO, vfs.Dev{}, nil))
	},
	"Mknod char": func(c *vfs.Cred, d, f vfs.Node) error {
		return drop(d.Mknod(ctx, c, "new", vfs.KindChar, vfs.Dev{Major: 1, Minor: 3}, nil))
	},
	"Remove":      func(c *vfs.Cred, d, f vfs.Node) error { return d.Remove(ctx, c, "f", false) },
	"Remove sub":  func(c *vfs.Cred, d, f vfs.Node) error { return d.Remove(ctx, c, "sub", true) },
	"Remove none": func(c *vfs.Cred, d, f vfs.Node) error { return d.Remove(ctx, c, "none", false) },
	"Rename":      func(c *vfs.Cred, d, f vfs.Node) error { return d.Rename(ctx, c, "f", d, "new") },
	"Rename none": func(c *vfs.Cred, d, f vfs.Node) error { return d.Rename(ctx, c, "none", d, "new") },
	"Rename sub away": func(c *vfs.Cred, d, f vfs.Node) error {
		up, err := d.Parent(ctx, admin)
		if err != nil {
			return err
		}
		defer up.Release()
		if err := up.SetAttr(ctx, admin, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o777}); err != nil {
			return err
		}
		_ = up.Remove(ctx, admin, "sub", true)
		return d.Rename(ctx, c, "sub", up, "sub")
	},
	"chmod":            set(vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o711}),
	"chown":            set(vfs.SetAttr{Mask: vfs.AttrUID, UID: 99}),
	"chown to owner":   set(vfs.SetAttr{Mask: vfs.AttrUID, UID: 61001}),
	"chgrp":            set(vfs.SetAttr{Mask: vfs.AttrGID, GID: 99}),
	"chgrp to own":     set(vfs.SetAttr{Mask: vfs.AttrGID, GID: 62001}),
	"truncate":         set(vfs.SetAttr{Mask: vfs.AttrSize, Size: 5}),
	"times":            set(vfs.SetAttr{Mask: vfs.AttrMtime, Mtime: vfs.Time{Sec: 1}}),
	"times now":        set(vfs.SetAttr{Mask: vfs.AttrMtime | vfs.AttrAtime, MtimeNow: true, AtimeNow: true}),
	"time now":         set(vfs.SetAttr{Mask: vfs.AttrMtime, MtimeNow: true}),
	"Open r":           open(vfs.OpenRead),
	"Open w":           open(vfs.OpenWrite),
	"Open rw":          open(vfs.OpenRead | vfs.OpenWrite),
	"Open r override":  open(vfs.OpenRead | vfs.AccessOwnerOverride),
	"Open rw override": open(vfs.OpenRead | vfs.OpenWrite | vfs.AccessOwnerOverride),
	"Open r if exec":   open(vfs.OpenRead | vfs.ReadIfExecutable),
	"GetXattr": func(c *vfs.Cred, _, f vfs.Node) error {
		_, err := f.(vfs.Xattrer).GetXattr(ctx, c, "a")
		return err
	},
	"SetXattr": func(c *vfs.Cred, _, f vfs.Node) error { return f.(vfs.Xattrer).SetXattr(ctx, c, "a", []byte("v"), 0) },
	"Access": func(c *vfs.Cred, d, f vfs.Node) error {
		a, err := f.Access(ctx, c, 0x3f)
		b, err2 := d.Access(ctx, c, 0x3f)
		if err != nil || err2 != nil {
			return fmt.Errorf("%v %v", err, err2)
		}
		return vfs.Status(a)<<1 | vfs.Status(b)&1 // any function of the answers
	},
	"Link": func(c *vfs.Cred, d, f vfs.Node) error { return d.Link(ctx, c, "new", f) },
}
