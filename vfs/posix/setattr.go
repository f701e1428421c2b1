package posix

import (
	"context"
	"math"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// SetAttr implements [vfs.Node]. It makes several system calls. It checks everything that can be checked before the
// first, and undoes what was done if a later one fails. The owner may set the size whatever the mode is, as NFS
// without opens requires (RFC 1813 4.4).
func (n *node) SetAttr(ctx context.Context, c *vfs.Cred, s *vfs.SetAttr) error {
	if err := n.fs.begin(ctx); err != nil {
		return err
	}
	defer n.fs.budget.Leave()
	return n.setAttr(c, s)
}

func (n *node) setAttr(c *vfs.Cred, s *vfs.SetAttr) error {
	n.attrs.Lock()
	defer n.attrs.Unlock()
	var st unix.Statx_t
	if err := n.statx(statAll, &st); err != nil {
		return err
	}
	if s.GuardCtime != nil && *s.GuardCtime != timeOf(st.Ctime) {
		return vfs.ErrNotSync
	}
	set := *s
	if set.AtimeNow {
		set.Mask |= vfs.AttrAtime
	}
	if set.MtimeNow {
		set.Mask |= vfs.AttrMtime
	}
	if n.kind == vfs.KindSymlink {
		set.Mask &^= vfs.AttrMode // it has none to change
	}
	if err := n.settable(&set); err != nil {
		return err
	}
	if err := n.maySet(c, &set, &st); err != nil {
		return err
	}
	return n.apply(c, &set, &st)
}

// settable checks the attributes themselves.
func (n *node) settable(s *vfs.SetAttr) error {
	const can = vfs.AttrMode | vfs.AttrUID | vfs.AttrGID | vfs.AttrSize | vfs.AttrAtime | vfs.AttrMtime
	if s.Mask&^can != 0 {
		return vfs.ErrUnsupported
	}
	const unset = math.MaxUint32 // to chown(2) it means "leave unchanged"
	if s.Mask&vfs.AttrUID != 0 && s.UID == unset || s.Mask&vfs.AttrGID != 0 && s.GID == unset {
		return vfs.ErrInvalid
	}
	if s.Mask&vfs.AttrSize != 0 {
		switch {
		case n.kind == vfs.KindDirectory:
			return vfs.ErrIsDir
		case n.kind != vfs.KindRegular:
			return vfs.ErrInvalid
		case s.Size > uint64(n.fs.caps.MaxFileSize):
			return vfs.ErrTooBig
		}
	}
	if s.Mask&vfs.AttrAtime != 0 && !s.AtimeNow && s.Atime.Nsec >= 1e9 || s.Mask&vfs.AttrMtime != 0 && !s.MtimeNow && s.Mtime.Nsec >= 1e9 {
		return vfs.ErrInvalid
	}
	return nil
}

// apply makes the changes: owner, mode, size, times (which the others would change).
func (n *node) apply(c *vfs.Cred, s *vfs.SetAttr, st *unix.Statx_t) (err error) {
	if s.Mask == 0 {
		return nil
	}
	defer n.changed()
	if s.Mask&(vfs.AttrUID|vfs.AttrGID) != 0 {
		uid, gid := -1, -1
		if s.Mask&vfs.AttrUID != 0 {
			uid = int(s.UID)
		}
		if s.Mask&vfs.AttrGID != 0 {
			gid = int(s.GID)
		}
		if err := n.as(c, func() error { return unix.Fchownat(n.fd, "", uid, gid, unix.AT_EMPTY_PATH) }); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				_ = unix.Fchownat(n.fd, "", int(st.Uid), int(st.Gid), unix.AT_EMPTY_PATH)
				_ = n.chmod(uint32(st.Mode & 0o7777)) // set-id bits went with the owner
			}
		}()
	}
	if s.Mask&vfs.AttrMode != 0 {
		chmod := func() error { return n.chmod(s.Mode & 0o7777) }
		if s.Mask&vfs.AttrUID != 0 && s.UID != st.Uid {
			err = statusOf(again(chmod)) // c, who gave it away, is not the owner any more
		} else {
			err = n.as(c, chmod)
		}
		if err != nil {
			return err
		}
		defer func() {
			if err != nil {
				_ = n.chmod(uint32(st.Mode & 0o7777))
			}
		}()
	}
	if s.Mask&vfs.AttrSize != 0 {
		if err := n.truncate(c, int64(s.Size)); err != nil {
			return err
		}
	}
	return n.setTimes(s)
}

// chmod sets the mode of anything but a symbolic link.
func (n *node) chmod(mode uint32) error {
	err := unix.Fchmodat(n.fd, "", mode, unix.AT_EMPTY_PATH)
	if err == unix.ENOSYS || err == unix.EINVAL || err == unix.EOPNOTSUPP { // before Linux 6.6
		var path cname
		path.setFD(n.fd)
		err = unix.Chmod(path.String(), mode)
	}
	return err
}

// setTimes acts as the server: the permission of c was checked before, and the kernel's rule for setting only one
// time to "now" is stricter than NFS needs.
func (n *node) setTimes(s *vfs.SetAttr) error {
	if s.Mask&(vfs.AttrAtime|vfs.AttrMtime) == 0 {
		return nil
	}
	one := func(set, now bool, t vfs.Time) unix.Timespec {
		switch {
		case !set:
			return unix.Timespec{Nsec: unix.UTIME_OMIT}
		case now:
			return unix.Timespec{Nsec: unix.UTIME_NOW}
		}
		return unix.Timespec{Sec: t.Sec, Nsec: int64(t.Nsec)}
	}
	ts := []unix.Timespec{
		one(s.Mask&vfs.AttrAtime != 0, s.AtimeNow, s.Atime),
		one(s.Mask&vfs.AttrMtime != 0, s.MtimeNow, s.Mtime),
	}
	return statusOf(again(func() error { return unix.UtimesNanoAt(n.fd, "", ts, unix.AT_EMPTY_PATH) }))
}

// truncate sets the size through an open file, as c, so that the set-id bits are cleared as they would be for c.
func (n *node) truncate(c *vfs.Cred, size int64) error {
	d, err := n.acquire(true)
	if err != nil {
		return err
	}
	defer n.yield(d)
	if err := n.as(c, func() error { return unix.Ftruncate(d.fd, size) }); err != nil {
		return err
	}
	n.size.Store(0)
	n.dirty.Store(true)
	return nil
}
