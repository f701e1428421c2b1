package v4

import (
	"encoding/binary"

	"fileserver/nfs"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/vfs"
)

// maxOpenTries is how often an OPEN begins anew because others have opened the file and cache it again.
const maxOpenTries = 16

// Result flags of OPEN.
const openLockPOSIX = 4 // OPEN4_RESULT_LOCKTYPE_POSIX

// opened is the file an OPEN found or made.
type opened struct {
	t             target
	created       bool
	truncate      bool
	before, after uint64 // the directory's change attribute
	set           proto.Bitmap
}

// open is OPEN (RFC 8881 18.16), without delegations.
func (c *compound) open() proto.Status {
	var a openArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	want := a.access & wantDeleg
	a.access &^= wantMask
	if a.access == 0 || a.access > 3 || a.deny > 3 || want > wantCancel {
		return proto.ErrInval
	}
	if c.cur.readOnly() && (a.access&uint32(state.ShareWrite) != 0 || a.create && c.cur.pseudo != nil) {
		return proto.ErrROFS
	}
	if st := c.mayClaim(a.claim == claimPrevious); st != proto.OK {
		return st
	}
	o, st := c.openTarget(&a)
	if st != proto.OK {
		return st
	}
	if c.srv.remember(c.client) != nil {
		return proto.ErrServerFault
	}
	sid, st := c.openState(&a, &o)
	if st != proto.OK {
		return st
	}
	c.setCurrent(o.t)
	c.stateID(sid)
	c.changeInfo(o.before, o.after)
	c.uint32(openLockPOSIX)
	c.r.Head = o.set.Append(c.r.Head)
	c.noDelegation(want)
	return proto.OK
}

// openTarget finds or makes the file.
func (c *compound) openTarget(a *openArgs) (o opened, st proto.Status) {
	switch a.claim {
	case claimNull:
		if st := c.directory(); st != proto.OK {
			return o, notDir(st)
		}
		if a.create {
			o, st = c.openCreate(a)
		} else {
			if c.cur.node != nil {
				o.before = c.change(c.cur.node)
				o.after = o.before // which OPEN has not changed
			}
			o.t, st = c.find(a.name)
			if st == proto.OK && o.t.export != nil && o.t.export != c.cur.export {
				st = c.usable(o.t.export)
			}
		}
	case claimFH:
		if a.create {
			return o, proto.ErrInval
		}
		o.t = c.cur
	case claimPrevious:
		if a.create || a.delegation != 0 { // nobody was ever given a delegation
			return o, proto.ErrReclaimBad
		}
		o.t = c.cur
	default:
		return o, proto.ErrNotSupp
	}
	if st != proto.OK {
		return o, st
	}
	switch o.t.kind() {
	case vfs.KindRegular:
		return o, proto.OK
	case vfs.KindDirectory:
		return o, proto.ErrIsDir
	case vfs.KindSymlink:
		return o, proto.ErrSymlink
	}
	return o, proto.ErrWrongType
}

// openCreate makes the file, or finds it where that is no error.
func (c *compound) openCreate(a *openArgs) (o opened, st proto.Status) {
	name, st := c.name(a.name)
	if st != proto.OK {
		return o, st
	}
	if c.cur.pseudo != nil || c.cur.export.ReadOnly {
		return o, proto.ErrROFS
	}
	ok := settable
	if a.mode == exclusive41 {
		ok = exclusive
	}
	set, st := c.setAttrs(&a.attrs, ok)
	if st != proto.OK {
		return o, st
	}
	isExclusive := a.mode >= exclusive40
	if isExclusive {
		set.Mask |= vfs.AttrAtime | vfs.AttrMtime
		set.Atime, set.Mtime = verifierTimes(a.verifier)
	}
	dir, cred := c.cur.node, c.creds()
	defer c.lockDir(&c.cur).Unlock()
	o.before = c.change(dir)
	n, created, err := dir.Create(c.ctx, cred, name, a.mode != unchecked, &set)
	if isExclusive && vfs.StatusOf(err) == vfs.ErrExist {
		n, err = c.createdBefore(dir, cred, name, &set)
		created = err == nil
	}
	if err != nil {
		return o, statusOf(err)
	}
	o.t, o.created = c.hold(c.cur.export, n), created
	if created {
		c.changes().Added(c.ctx, dir, name, vfs.KindRegular)
		if st := c.stable(o.t.export, dir, n); st != proto.OK {
			return o, st
		}
		o.set = a.attrs.mask
		if isExclusive {
			o.set = o.set.Or(verifierIn)
		}
	} else if o.truncate = set.Mask&vfs.AttrSize != 0 && set.Size == 0; o.truncate {
		o.set.Set(proto.AttrSize) // the other attributes are for new files only (RFC 8881 18.16.3)
	}
	o.after = c.change(dir)
	return o, proto.OK
}

// createdBefore finds the file of an exclusive create that is repeated: it still has the verifier.
func (c *compound) createdBefore(dir vfs.Node, cred *vfs.Cred, name string, set *vfs.SetAttr) (vfs.Node, error) {
	n, err := dir.Lookup(c.ctx, cred, name)
	if err != nil {
		return nil, err
	}
	at, err := n.GetAttr(c.ctx, vfs.AttrAtime|vfs.AttrMtime)
	if err == nil && (n.Kind() != vfs.KindRegular || at.Atime != set.Atime || at.Mtime != set.Mtime) {
		err = vfs.ErrExist
	}
	if err != nil {
		n.Release()
		return nil, err
	}
	return n, nil
}

// verifierTimes hides a verifier in two times, of which every file system keeps 31 bits of seconds.
func verifierTimes(v proto.Verifier) (atime, mtime vfs.Time) {
	hi, lo := binary.BigEndian.Uint32(v[:]), binary.BigEndian.Uint32(v[4:])
	return vfs.Time{Sec: int64(hi & 0x7fffffff)}, vfs.Time{Sec: int64(lo & 0x7fffffff)}
}

// openState opens the file and enters it into the client's state; others' share reservations are checked there.
func (c *compound) openState(a *openArgs, o *opened) (proto.StateID, proto.Status) {
	how := vfs.OpenFlags(0)
	if a.access&uint32(state.ShareRead) != 0 {
		how |= vfs.OpenRead
	}
	if a.access&uint32(state.ShareWrite) != 0 {
		how |= vfs.OpenWrite
	}
	if a.access == uint32(state.ShareRead) { // a client must read what it executes
		how |= vfs.ReadIfExecutable
	}
	if o.created || a.claim == claimPrevious { // the user that created it may use it whatever its mode
		how |= vfs.AccessOwnerOverride
	}
	f, err := o.t.node.Open(c.ctx, c.credsIn(o.t.export), how)
	if err != nil {
		return proto.StateID{}, statusOf(err)
	}
	key := o.t.key()
	keep := nfs.KeepToRead
	if o.truncate {
		keep = nfs.KeepToChange
	}
	res := newOpenFile(f, c.credsIn(o.t.export))
	defer res.Release()
	for try := 0; ; try++ {
		res.Retain()
		sid, act, st := c.client.AddOpen(a.owner, key, state.Share(a.access), state.Share(a.deny), keep, res)
		c.srv.act(act)
		switch {
		case act.Wait != nil:
			if try == maxOpenTries || !nfs.Answered(c.ctx, act.Wait) {
				return sid, proto.ErrDelay
			}
			continue
		case st == proto.ErrShareDenied && c.expireHolders(&key):
			continue
		case st == proto.ErrShareDenied && a.claim == claimPrevious:
			return sid, proto.ErrReclaimConflict
		case st == proto.OK && o.truncate:
			if st = c.truncate(o); st != proto.OK && sid.Seq == 1 { // not opened after all
				act, _ := c.client.CloseOpen(&sid, key)
				c.srv.act(act)
			}
		}
		return sid, st
	}
}

func (c *compound) truncate(o *opened) proto.Status {
	err := o.t.node.SetAttr(c.ctx, c.credsIn(o.t.export), &vfs.SetAttr{Mask: vfs.AttrSize})
	if err != nil {
		return statusOf(err)
	}
	nfs.ChangesOf(c.srv.cfg.Locks, o.t.export.FS).Set(c.ctx, o.t.node, vfs.AttrSize)
	return c.stable(o.t.export, o.t.node)
}

// noDelegation appends an open_delegation4 without a delegation, and the reason if the client asked for one.
func (c *compound) noDelegation(want uint32) {
	switch want {
	case 0:
		c.uint32(0) // OPEN_DELEGATE_NONE
	case wantNoDeleg:
		c.uint32(3) // OPEN_DELEGATE_NONE_EXT
		c.uint32(0) // WND4_NOT_WANTED
	case wantCancel:
		c.uint32(3)
		c.uint32(7) // WND4_CANCELLED
	default:
		c.uint32(3)
		c.uint32(2) // WND4_RESOURCE
		c.bool(false)
	}
}
