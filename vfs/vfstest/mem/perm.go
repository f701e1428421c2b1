package mem

import (
	"context"

	"fileserver/vfs"
)

// Permission bits, set-id bits and sticky bit (stat(2)).
const (
	mayExec  = 1
	mayWrite = 2
	mayRead  = 4

	modeSticky = 0o1000
	modeSetGID = 0o2000
	modeSetUID = 0o4000
	modeGroupX = 0o010
)

// permits reports whether attributes a grant c all of want, as Linux decides for a process with fsuid and
// groups of c: only the first matching class counts; uid 0 may read and write anything, search any
// directory, and execute what anyone may execute.
func permits(a *vfs.Attr, c *vfs.Cred, want uint32) bool {
	if c.UID == 0 {
		return want&mayExec == 0 || a.Kind == vfs.KindDirectory || a.Mode&0o111 != 0
	}
	bits := a.Mode
	switch {
	case c.UID == a.UID:
		bits >>= 6
	case c.InGroup(a.GID):
		bits >>= 3
	}
	return bits&want == want
}

// permits checks the object's mode for c.
func (in *inode) permits(c *vfs.Cred, want uint32) bool {
	in.mu.RLock()
	defer in.mu.RUnlock()
	return permits(&in.attr, c, want)
}

// search checks that the object is a directory in which c may look names up.
func (in *inode) search(c *vfs.Cred) error {
	if in.kind != vfs.KindDirectory {
		return vfs.ErrNotDir
	}
	if !in.permits(c, mayExec) {
		return vfs.ErrAccess
	}
	return nil
}

// mayRemove checks that c may take the entry that names victim out of directory in.
// In a sticky directory that is for the owners of either, and uid 0.
func (in *inode) mayRemove(c *vfs.Cred, victim *inode) error {
	in.mu.RLock()
	a := in.attr
	in.mu.RUnlock()
	if !permits(&a, c, mayWrite|mayExec) {
		return vfs.ErrAccess
	}
	if a.Mode&modeSticky != 0 && c.UID != 0 && c.UID != a.UID && c.UID != victim.getattr().UID {
		return vfs.ErrPerm
	}
	return nil
}

// Access implements [vfs.Node].
func (in *inode) Access(ctx context.Context, c *vfs.Cred, want vfs.Access) (vfs.Access, error) {
	if err := in.fs.begin(ctx, OpAccess, in); err != nil {
		return 0, err
	}
	a := in.getattr()
	var got vfs.Access
	if permits(&a, c, mayRead) {
		got |= vfs.AccessRead
	}
	if a.Kind == vfs.KindDirectory {
		if permits(&a, c, mayExec) {
			got |= vfs.AccessLookup
		}
		if permits(&a, c, mayWrite|mayExec) {
			got |= vfs.AccessModify | vfs.AccessExtend | vfs.AccessDelete
		}
		return got & want, nil
	}
	if permits(&a, c, mayWrite) {
		got |= vfs.AccessModify | vfs.AccessExtend
	}
	if permits(&a, c, mayExec) {
		got |= vfs.AccessExecute
	}
	return got & want, nil
}

// dropSetID is what a mode becomes when somebody without privilege changes the data, or anyone the
// ownership, of something that is not a directory. A set-gid bit without group execution means mandatory locking
// and stays with those who belong to the group.
func dropSetID(mode uint32, inGroup bool) uint32 {
	mode &^= modeSetUID
	if mode&modeGroupX != 0 || !inGroup {
		mode &^= modeSetGID
	}
	return mode
}
