package secdesc

import "fileserver/smb/wire"

// File is what POSIX says about who may use a file.
type File struct {
	UID, GID  uint32
	Mode      uint32 // permission bits
	Directory bool
}

// always is what everybody may do: with POSIX, who reaches a file may look at its attributes.
const always = wire.ReadControl | wire.FileReadAttributes | wire.Synchronize

// owning is what the owner may do, whatever the mode says.
const owning = always | wire.WriteDAC | wire.WriteOwner | wire.FileWriteAttributes | wire.FileWriteEA | wire.Delete

// rights is what three bits of a mode mean.
func rights(bits uint32, directory bool) wire.AccessMask {
	m := always
	if bits&4 != 0 {
		m |= wire.FileGenericRead
	}
	if bits&2 != 0 {
		m |= wire.FileGenericWrite
		if directory {
			m |= wire.FileDeleteChild
		}
	}
	if bits&1 != 0 {
		m |= wire.FileGenericExecute
	}
	return m
}

// ownerRights is what the owner may do with the bits.
func ownerRights(bits uint32, directory bool) wire.AccessMask {
	m := rights(bits, directory) | owning
	if bits == 7 {
		m = wire.FileAllAccess
	}
	return m
}

// FromFile is the descriptor that says what owner, group and mode of f say. Where the owner may do less than
// the group or the others, or the group less than the others, it takes entries that deny: these come right before the
// entry that allows, because POSIX looks at one class only.
func FromFile(f File) *Descriptor {
	u, g, o := f.Mode>>6&7, f.Mode>>3&7, f.Mode&7
	owner, group := UnixUser(f.UID), UnixGroup(f.GID)
	a := &ACL{Revision: 2, Entries: make([]ACE, 0, 5)}
	add := func(t ACEType, m wire.AccessMask, s SID) {
		a.Entries = append(a.Entries, ACE{Type: t, Mask: m, SID: s})
	}
	if less := rights(g|o, f.Directory) &^ ownerRights(u, f.Directory); less != 0 {
		add(AccessDenied, less, owner)
	}
	add(AccessAllowed, ownerRights(u, f.Directory), owner)
	if less := rights(o, f.Directory) &^ rights(g, f.Directory); less != 0 {
		add(AccessDenied, less, group)
	}
	add(AccessAllowed, rights(g, f.Directory), group)
	add(AccessAllowed, rights(o, f.Directory), Everyone)
	return &Descriptor{Control: SelfRelative | DACLPresent, Owner: owner, Group: group, DACL: a}
}

// ModeOf returns the mode of a file or directory of user uid and group gid that comes nearest to the list of d. exact reports whether
// the mode says all that the list says of reading, writing and executing, and the list says nothing about anybody else. What
// it allows owner, group and everybody besides, such as to delete or to change the list, POSIX decides by other means: that may
// be lost, but nothing that is denied. A mode that the list carries (NFSMode) counts alone. Without a list everybody may do
// everything.
func ModeOf(d *Descriptor, uid, gid uint32, dir bool) (mode uint32, exact bool) {
	if d.Control&DACLPresent == 0 || d.DACL == nil {
		return 0777, true
	}
	exact = true
	for i := range d.DACL.Entries {
		e := &d.DACL.Entries[i]
		if m, ok := e.SID.Mode(); ok {
			return m, true
		}
		exact = exact && e.inMode(uid, gid)
	}
	classes := []func(SID) bool{
		func(s SID) bool { return isUser(s, uid) || everybody(s) },
		func(s SID) bool { return isGroup(s, gid) || everybody(s) },
		everybody,
	}
	for _, in := range classes {
		m, denied := d.DACL.granted(in)
		mode = mode<<3 | bits(m, dir)
		// Who is denied to write a file may not be left to append to it.
		part := !writes(m, dir) && m&(wire.FileWriteData|wire.FileAppendData) != 0
		exact = exact && (!part || !dir && denied&wire.FileWriteData != 0)
	}
	return mode, exact
}

// dataRights are the rights that a mode is about.
const dataRights = wire.FileReadData | wire.FileWriteData | wire.FileAppendData | wire.FileExecute

// inMode reports whether the entry is one of those that a mode can stand for: about the file itself, its owner, its group or
// everybody, without a condition, and about reading, writing or executing if it denies.
func (e *ACE) inMode(uid, gid uint32) bool {
	switch {
	case e.Flags&InheritOnly != 0, !e.decides():
		return false
	case powerful(e):
		return true
	case !isUser(e.SID, uid) && !isGroup(e.SID, gid) && !everybody(e.SID):
		return false
	}
	return !e.denies() || e.Mask.MapGeneric()&dataRights != 0
}

// bits returns the permission bits, 0 to 7, that a mask allows.
func bits(m wire.AccessMask, dir bool) uint32 {
	var b uint32
	if m&wire.FileReadData != 0 {
		b |= 4
	}
	if writes(m, dir) {
		b |= 2
	}
	if m&wire.FileExecute != 0 {
		b |= 1
	}
	return b
}

// writes reports whether the mask allows what the write bit of a mode does. Who may write a file may write behind its end.
// In a directory the two rights are different ones: to add files, and to add directories.
func writes(m wire.AccessMask, dir bool) bool {
	return m&wire.FileWriteData != 0 && (!dir || m&wire.FileAppendData != 0)
}

func everybody(s SID) bool { return s == Everyone || s == AuthenticatedUsers || s == Users }

func isUser(s SID, uid uint32) bool {
	v, ok := s.UID()
	return ok && v == uid || s == OwnerRights || s == CreatorOwner
}

func isGroup(s SID, gid uint32) bool {
	v, ok := s.GID()
	return ok && v == gid || s == CreatorGroup
}

// powerful reports whether the entry allows something to those who may do everything anyway.
func powerful(e *ACE) bool {
	uid, ok := e.SID.UID()
	return e.Type == AccessAllowed && (e.SID == Administrators || e.SID == LocalSystem || ok && uid == 0)
}
