package mem

import (
	"context"

	"fileserver/vfs"
)

const settable = vfs.AttrMode | vfs.AttrUID | vfs.AttrGID | vfs.AttrSize | vfs.AttrAtime | vfs.AttrMtime | vfs.AttrBtime

// SetAttr implements [vfs.Node].
func (in *inode) SetAttr(ctx context.Context, c *vfs.Cred, s *vfs.SetAttr) error {
	if err := in.fs.begin(ctx, OpSetAttr, in); err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.fs.closed.Load() {
		return vfs.ErrIO
	}
	if s.GuardCtime != nil && *s.GuardCtime != in.attr.Ctime {
		return vfs.ErrNotSync
	}
	if s.Mask == 0 {
		return nil
	}
	if err := in.mayChange(c, s, false); err != nil {
		return err
	}
	in.fs.journal.attr(in)
	if s.Mask&vfs.AttrSize != 0 {
		in.truncate(s.Size)
	}
	in.change(c, s, now())
	return nil
}

// mayChange checks all of s; fresh leaves out what does not apply to an object c is creating. in.mu is held.
func (in *inode) mayChange(c *vfs.Cred, s *vfs.SetAttr, fresh bool) error {
	a := &in.attr
	if s.Mask&^settable != 0 {
		return vfs.ErrInvalid
	}
	if s.Mask&vfs.AttrSize != 0 {
		switch {
		case in.kind == vfs.KindDirectory:
			return vfs.ErrIsDir
		case in.kind != vfs.KindRegular:
			return vfs.ErrInvalid
		case s.Size > uint64(in.fs.opt.MaxFileSize):
			return vfs.ErrTooBig
		case !fresh && c.UID != a.UID && !permits(a, c, mayWrite):
			// The owner passes: an NFSv3 client truncates what it opened before it was read-only.
			return vfs.ErrAccess
		}
	}
	if c.UID == 0 {
		return nil
	}
	owner := c.UID == a.UID
	if s.Mask&vfs.AttrUID != 0 && (!owner || s.UID != a.UID) {
		return vfs.ErrPerm
	}
	if s.Mask&vfs.AttrGID != 0 && (!owner || s.GID != a.GID && !c.InGroup(s.GID)) {
		return vfs.ErrPerm
	}
	if owner {
		return nil
	}
	if s.Mask&(vfs.AttrMode|vfs.AttrBtime) != 0 || s.Mask&vfs.AttrAtime != 0 && !s.AtimeNow || s.Mask&vfs.AttrMtime != 0 && !s.MtimeNow {
		return vfs.ErrPerm
	}
	if s.Mask&(vfs.AttrAtime|vfs.AttrMtime) != 0 && !permits(a, c, mayWrite) {
		return vfs.ErrAccess
	}
	return nil
}

// change applies s, which was checked, but for the size. in.mu is held.
func (in *inode) change(c *vfs.Cred, s *vfs.SetAttr, t vfs.Time) {
	a := &in.attr
	if s.Mask&vfs.AttrSize != 0 {
		a.Mtime = t
		if c.UID != 0 {
			a.Mode = dropSetID(a.Mode, c.InGroup(a.GID))
		}
	}
	if s.Mask&(vfs.AttrUID|vfs.AttrGID) != 0 {
		if in.kind != vfs.KindDirectory {
			a.Mode = dropSetID(a.Mode, c.UID == 0 || c.InGroup(a.GID))
		}
		if s.Mask&vfs.AttrUID != 0 {
			a.UID = s.UID
		}
		if s.Mask&vfs.AttrGID != 0 {
			a.GID = s.GID
		}
	}
	if s.Mask&vfs.AttrMode != 0 && in.kind != vfs.KindSymlink { // a symbolic link has none to change
		a.Mode = s.Mode & 0o7777
		if c.UID != 0 && !c.InGroup(a.GID) {
			a.Mode &^= modeSetGID
		}
	}
	set := func(mask vfs.AttrMask, dst *vfs.Time, isNow bool, v vfs.Time) {
		if s.Mask&mask != 0 {
			if isNow {
				v = t
			}
			*dst = v
		}
	}
	set(vfs.AttrAtime, &a.Atime, s.AtimeNow, s.Atime)
	set(vfs.AttrMtime, &a.Mtime, s.MtimeNow, s.Mtime)
	set(vfs.AttrBtime, &a.Btime, false, s.Btime)
	in.touch(t)
}
