package posix

import (
	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// This file has the permission rules of POSIX, for a server that cannot let the kernel check: without the right to
// take another identity, it makes every call as its own user.

// ownCheck returns which of the wanted permissions mode and access control list give c.
func (n *node) ownCheck(c *vfs.Cred, want uint8, st *unix.Statx_t) (uint8, error) {
	switch {
	case c.UID == 0:
		if want&mayExec != 0 && st.Mode&unix.S_IFMT != unix.S_IFDIR && st.Mode&0o111 == 0 {
			want &^= mayExec // the superuser may execute a file only if somebody may
		}
		return want, nil
	case c.UID == st.Uid:
		return uint8(st.Mode>>6) & want, nil
	case st.Mode&0o070 != 0: // otherwise the mask of a list grants nothing, and the kernel ignores the list
		list, err := n.readACL()
		if err != nil {
			return 0, err
		}
		if rights, ok := aclRights(list, c, st.Gid, want); ok {
			return rights, nil
		}
	}
	if c.InGroup(st.Gid) {
		return uint8(st.Mode>>3) & want, nil
	}
	return uint8(st.Mode) & want, nil
}

// mayChangeNames checks that c may add or remove names in a directory. Where the kernel checks it returns nil.
func (n *node) mayChangeNames(c *vfs.Cred) error {
	if n.fs.kernel {
		return nil
	}
	return n.require(c, mayWrite|mayExec)
}

// maySticky checks that c may remove the object from the directory, which may be sticky.
func (n *node) maySticky(c *vfs.Cred, victim *node) error {
	if n.fs.kernel || c.UID == 0 {
		return nil
	}
	var st unix.Statx_t
	if err := n.statx(statPerm, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_ISVTX == 0 || st.Uid == c.UID {
		return nil
	}
	if err := victim.statx(statPerm, &st); err != nil {
		return err
	}
	if st.Uid != c.UID {
		return vfs.ErrPerm
	}
	return nil
}

// mayMove checks the rules of rename(2).
func (n *node) mayMove(c *vfs.Cred, to, moved, old *node) error {
	if n.fs.kernel {
		return nil
	}
	if err := n.mayChangeNames(c); err != nil {
		return err
	}
	if err := n.maySticky(c, moved); err != nil {
		return err
	}
	if err := to.mayChangeNames(c); err != nil {
		return err
	}
	if moved.kind == vfs.KindDirectory && n != to { // its ".." is written
		if err := moved.require(c, mayWrite); err != nil {
			return err
		}
	}
	if old == nil {
		return nil
	}
	return to.maySticky(c, old)
}

// mayLink checks the rules of link(2). With fs.protected_hardlinks, a caller may link the file of another user only
// if it may read and write the file, and the file is a regular one without set-id bits.
func (n *node) mayLink(c *vfs.Cred, target *node) error {
	if n.fs.kernel {
		return nil
	}
	var st unix.Statx_t
	if err := target.statx(statPerm, &st); err != nil {
		return err
	}
	if n.fs.protectLinks && c.UID != 0 && c.UID != st.Uid {
		plain := target.kind == vfs.KindRegular && !target.setID.Load()
		const both = mayRead | mayWrite
		rights, err := target.ownCheck(c, both, &st)
		if err != nil {
			return err
		}
		if !plain || rights != both {
			if err := n.require(c, mayExec); err != nil {
				return err
			}
			return vfs.ErrPerm
		}
	}
	return n.mayChangeNames(c)
}

// maySet checks that c may change the attributes; st are the present ones. The kernel checks the same again where
// it can. The check here also prevents a change that would fail half way.
func (n *node) maySet(c *vfs.Cred, s *vfs.SetAttr, st *unix.Statx_t) error {
	if c.UID == 0 {
		return nil
	}
	owner := c.UID == st.Uid
	if s.Mask&vfs.AttrUID != 0 && (!owner || s.UID != st.Uid) {
		return vfs.ErrPerm
	}
	if s.Mask&vfs.AttrGID != 0 && (!owner || s.GID != st.Gid && !c.InGroup(s.GID)) {
		return vfs.ErrPerm
	}
	if s.Mask&vfs.AttrMode != 0 && !owner {
		return vfs.ErrPerm
	}
	explicit := s.Mask&vfs.AttrAtime != 0 && !s.AtimeNow || s.Mask&vfs.AttrMtime != 0 && !s.MtimeNow
	if explicit && !owner {
		return vfs.ErrPerm
	}
	write := s.Mask&vfs.AttrSize != 0 || s.Mask&(vfs.AttrAtime|vfs.AttrMtime) != 0
	if write && !owner {
		return n.require(c, mayWrite)
	}
	return nil
}
