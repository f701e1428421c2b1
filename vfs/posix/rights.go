package posix

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// Permission bits, as access(2) numbers them.
const (
	mayExec  = 1
	mayWrite = 2
	mayRead  = 4
)

// maxVerdicts is the number of identities whose permissions a node caches.
const maxVerdicts = 4

// rightsState caches the kernel's answers about permissions. It drops all of them when the mode, owner or group
// changes, and, on an object with an access control list, when the ctime changes.
type rightsState struct {
	mu       sync.Mutex
	mode     uint16
	uid, gid uint32
	ctime    uint64
	verdicts []verdict
	turn     int
}

// verdict is the permissions of one identity; checked says which bits of allowed are known.
type verdict struct {
	c                *vfs.Cred
	checked, allowed uint8
}

// sameCred compares the contents, because the caller may reuse its Cred for another identity.
func sameCred(a, b *vfs.Cred) bool {
	return a.UID == b.UID && a.GID == b.GID && slices.Equal(a.Groups, b.Groups)
}

// allowed returns which of the wanted permissions c has, and sets st to the attributes that they depend on.
func (n *node) allowed(c *vfs.Cred, want uint8, st *unix.Statx_t) (uint8, error) {
	if err := n.statx(statPerm, st); err != nil {
		return 0, err
	}
	if !n.fs.kernel {
		return n.ownCheck(c, want, st)
	}
	r := &n.rights
	ctime := ctimeOf(st)
	r.mu.Lock()
	if v := r.find(c); v != nil && v.checked&want == want && n.unchangedLocked(st, ctime) {
		ok := v.allowed & want
		r.mu.Unlock()
		return ok, nil
	}
	r.mu.Unlock()

	ok, err := n.askKernel(c, want)
	if err != nil {
		return 0, err
	}
	before := *st
	if err := n.statx(statPerm, st); err != nil {
		return 0, err
	}
	if sameRights(&before, st) { // otherwise it is unknown which attributes the verdict is about
		r.remember(c, want, ok, st)
	}
	return ok, nil
}

// sameRights reports whether the attributes that permissions depend on are the same in a and b.
func sameRights(a, b *unix.Statx_t) bool {
	return a.Mode == b.Mode && a.Uid == b.Uid && a.Gid == b.Gid && a.Ctime == b.Ctime
}

// remember keeps a verdict about an object with these attributes.
func (r *rightsState) remember(c *vfs.Cred, want, ok uint8, st *unix.Statx_t) {
	ctime := ctimeOf(st)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mode != st.Mode || r.uid != st.Uid || r.gid != st.Gid || r.ctime != ctime {
		r.mode, r.uid, r.gid, r.ctime = st.Mode, st.Uid, st.Gid, ctime
		clear(r.verdicts)
		r.verdicts = r.verdicts[:0]
	}
	v := r.find(c)
	switch {
	case v != nil:
	case len(r.verdicts) < maxVerdicts:
		r.verdicts = append(r.verdicts, verdict{c: c.Clone()})
		v = &r.verdicts[len(r.verdicts)-1]
	default:
		r.turn = (r.turn + 1) % maxVerdicts
		v = &r.verdicts[r.turn]
		*v = verdict{c: c.Clone()}
	}
	v.checked |= want
	v.allowed = v.allowed&^want | ok
}

func (r *rightsState) find(c *vfs.Cred) *verdict {
	for i := range r.verdicts {
		if sameCred(r.verdicts[i].c, c) {
			return &r.verdicts[i]
		}
	}
	return nil
}

// unchangedLocked reports whether the verdicts are still valid. Every write changes the ctime, so a new ctime alone
// only leads to a check for an access control list.
func (n *node) unchangedLocked(st *unix.Statx_t, ctime uint64) bool {
	r := &n.rights
	if r.mode != st.Mode || r.uid != st.Uid || r.gid != st.Gid {
		return false
	}
	if r.ctime == ctime {
		return true
	}
	if n.hasACL() {
		return false
	}
	r.ctime = ctime
	return true
}

// hasACL reports whether the object has a POSIX access control list, or may have.
func (n *node) hasACL() bool {
	var path, name cname
	path.setFD(n.fd)
	name.set(aclName)
	switch getxattrSize(&path, &name) {
	case unix.ENODATA, unix.EOPNOTSUPP:
		return false
	}
	return true
}

// askKernel lets the kernel decide for each bit.
func (n *node) askKernel(c *vfs.Cred, want uint8) (ok uint8, err error) {
	err = n.fs.as(c, func() error {
		for _, bit := range [...]uint8{mayRead, mayWrite, mayExec} {
			if want&bit == 0 {
				continue
			}
			switch e := faccessFD(n.fd, uint32(bit)); e {
			case 0:
				ok |= bit
			case unix.EACCES, unix.EPERM, unix.EROFS, unix.ETXTBSY:
			default:
				return status(e)
			}
		}
		return nil
	})
	return ok, err
}

// require fails with ErrAccess unless c has all the permissions.
func (n *node) require(c *vfs.Cred, want uint8) error {
	if n.fs.kernel && c.UID == 0 && n.kind == vfs.KindDirectory {
		return nil // the superuser passes in directories
	}
	var st unix.Statx_t
	ok, err := n.allowed(c, want, &st)
	if err == nil && ok != want {
		err = n.fs.denied(want &^ ok)
	}
	return err
}

// denied is the error for permissions that are missing.
func (fs *FS) denied(missing uint8) error {
	if missing&mayWrite != 0 && fs.readOnly() {
		return vfs.ErrReadOnly
	}
	return vfs.ErrAccess
}

// Access implements [vfs.Node].
func (n *node) Access(ctx context.Context, c *vfs.Cred, want vfs.Access) (vfs.Access, error) {
	if err := n.fs.begin(ctx); err != nil {
		return 0, err
	}
	defer n.fs.budget.Leave()
	if n.kind == vfs.KindDirectory {
		want &^= vfs.AccessExecute
	} else {
		want &^= vfs.AccessLookup | vfs.AccessDelete
	}
	const change = vfs.AccessModify | vfs.AccessExtend | vfs.AccessDelete
	var bits uint8
	if want&vfs.AccessRead != 0 {
		bits |= mayRead
	}
	if want&(vfs.AccessLookup|vfs.AccessExecute) != 0 {
		bits |= mayExec
	}
	if want&change != 0 {
		bits |= mayWrite
		if n.kind == vfs.KindDirectory {
			bits |= mayExec // changing names needs permission to search, too
		}
	}
	var st unix.Statx_t
	ok, err := n.allowed(c, bits, &st)
	if err != nil {
		return 0, err
	}
	var got vfs.Access
	if ok&mayRead != 0 {
		got |= vfs.AccessRead
	}
	if ok&mayExec != 0 {
		got |= vfs.AccessLookup | vfs.AccessExecute
	}
	if ok&mayWrite != 0 && (n.kind != vfs.KindDirectory || ok&mayExec != 0) {
		got |= change
	}
	return got & want, nil
}
