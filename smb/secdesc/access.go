package secdesc

import "fileserver/smb/wire"

// decides reports whether the entry allows or denies something to somebody, here and unconditionally. An entry with a
// condition does not: it is not evaluated, so it cannot allow; one that denies is taken to do so.
func (e *ACE) decides() bool {
	switch e.Type {
	case AccessAllowed, AccessDenied, AccessAllowedObject, AccessDeniedObject, AccessDeniedCallback, AccessDeniedCallbackObject:
		return true
	}
	return false
}

// denies reports whether an entry that decides denies.
func (e *ACE) denies() bool { return e.Type != AccessAllowed && e.Type != AccessAllowedObject }

// granted returns what the list allows and denies somebody whose SIDs are those that in accepts: for every right the first entry
// counts (MS-DTYP 2.5.3.2).
func (a *ACL) granted(in func(SID) bool) (allowed, denied wire.AccessMask) {
	for i := range a.Entries {
		e := &a.Entries[i]
		if e.Flags&InheritOnly != 0 || !e.decides() || !in(e.SID) {
			continue
		}
		if m := e.Mask.MapGeneric(); e.denies() {
			denied |= m &^ allowed
		} else {
			allowed |= m &^ denied
		}
	}
	return allowed, denied
}

// Access is everything that the descriptor allows to somebody who has the SIDs of who (MS-DTYP
// 2.5.3.2). The owner may read and change the list unless it has an entry for OwnerRights.
func (d *Descriptor) Access(who ...SID) wire.AccessMask {
	in := func(s SID) bool {
		for _, w := range who {
			if w == s {
				return true
			}
		}
		return false
	}
	owner := !d.Owner.IsZero() && in(d.Owner)
	if d.Control&DACLPresent == 0 || d.DACL == nil {
		return wire.FileAllAccess
	}
	restricted := false
	m, _ := d.DACL.granted(func(s SID) bool {
		if owner && s == OwnerRights {
			restricted = true
			return true
		}
		return in(s)
	})
	if owner && !restricted {
		m |= wire.ReadControl | wire.WriteDAC
	}
	return m
}

// Caller is who wants to use a file.
type Caller struct {
	Root    bool // may do everything
	Owner   bool // owns the file
	InGroup bool // belongs to its group
}

// Access is everything that the caller may do with f: what MxAc and FileAccessInformation answer and
// MAXIMUM_ALLOWED means (MS-SMB2 2.2.14.2.5). Whether others may delete or rename the file is its directory's to say: deletable.
func (f File) Access(c Caller, deletable bool) (m wire.AccessMask) {
	switch {
	case c.Root:
		m = wire.FileAllAccess
		// Without any x not even root executes.
		if !f.Directory && f.Mode&0111 == 0 {
			m &^= wire.FileExecute
		}
	case c.Owner:
		m = ownerRights(f.Mode>>6&7, f.Directory) &^ wire.Delete
	case c.InGroup:
		m = rights(f.Mode>>3&7, f.Directory)
	default:
		m = rights(f.Mode&7, f.Directory)
	}
	if deletable {
		m |= wire.Delete
	}
	return m
}
