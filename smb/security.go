package smb

import (
	"context"
	"slices"

	"fileserver/smb/secdesc"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/notify"
)

// securityAttrs are the attributes from which a security descriptor is built: owner, group and mode. Nothing else of
// a descriptor is stored.
const securityAttrs = vfs.AttrMode | vfs.AttrUID | vfs.AttrGID

// securityParts are the parts of a descriptor that the server supports.
const securityParts = wire.OwnerSecurityInformation | wire.GroupSecurityInformation | wire.DACLSecurityInformation

// security answers a query of the security descriptor (MS-SMB2 3.3.5.20.3).
func (iq *infoQuery) security() wire.Status {
	parts := iq.q.Additional
	switch {
	case parts&securityParts != 0 && iq.o.granted&wire.ReadControl == 0:
		return wire.StatusAccessDenied
	case parts&wire.SACLSecurityInformation != 0 && iq.o.granted&wire.AccessSystemSecurity == 0:
		return wire.StatusAccessDenied
	}
	a, err := iq.o.object().GetAttr(iq.ctx, securityAttrs)
	if err != nil {
		return statusOf(err)
	}
	d := secdesc.FromFile(secdesc.File{UID: a.UID, GID: a.GID, Mode: a.Mode, Directory: a.Kind == vfs.KindDirectory}).Only(parts & securityParts)
	if need := d.Len(); need > int(iq.q.OutputLength) {
		iq.r.tooSmall(uint32(need))
		return wire.StatusBufferTooSmall
	}
	iq.out = d.Append(iq.out)
	return wire.StatusSuccess
}

// tooSmall builds the error data of STATUS_BUFFER_TOO_SMALL: the number of bytes needed (MS-SMB2 2.2.2.2).
func (r *request) tooSmall(need uint32) {
	b := wire.AppendBufferTooSmall(nil, need)
	if r.conn.dialect() == wire.Dialect311 {
		b = (&wire.ErrorContext{ID: wire.ErrorIDDefault, Data: b}).Append(nil)
	}
	r.errorData = b
}

// setSecurity sets owner, group and mode from a security descriptor (MS-SMB2 3.3.5.21.3).
func (r *request) setSecurity(ctx context.Context, o *Open, q *wire.SetInfoRequest) wire.Status {
	d, err := secdesc.Parse(q.Input)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	var need wire.AccessMask
	if q.Additional&(wire.OwnerSecurityInformation|wire.GroupSecurityInformation|wire.LabelSecurityInformation) != 0 {
		need |= wire.WriteOwner
	}
	if q.Additional&wire.DACLSecurityInformation != 0 {
		need |= wire.WriteDAC
	}
	if q.Additional&wire.SACLSecurityInformation != 0 {
		need |= wire.AccessSystemSecurity
	}
	switch {
	case o.granted&need != need:
		return wire.StatusAccessDenied
	case q.Additional&^securityParts != 0:
		return wire.StatusNotSupported
	}
	return o.secure(ctx, d, q.Additional)
}

// secure sets the parts of a security descriptor, all or none. A descriptor that owner, group and mode cannot express
// fails with STATUS_NOT_SUPPORTED, because parts of it would be lost.
func (o *Open) secure(ctx context.Context, d *secdesc.Descriptor, parts uint32) wire.Status {
	a, err := o.object().GetAttr(ctx, securityAttrs)
	if err != nil {
		return statusOf(err)
	}
	s, st := securityOf(o.srv.named(d), parts, a)
	if st != wire.StatusSuccess || s.Mask == 0 {
		return st
	}
	if err := o.object().SetAttr(ctx, o.cred, &s); err != nil {
		return statusOf(err)
	}
	o.changed(ctx, notify.Security)
	return wire.StatusSuccess
}

// named returns the descriptor with the anonymous replaced by the user that stands for them on this server, if there
// is one.
func (s *Server) named(d *secdesc.Descriptor) *secdesc.Descriptor {
	isAnonymous := func(e secdesc.ACE) bool { return e.SID == secdesc.Anonymous }
	if s.cfg.Anonymous == nil || d.DACL == nil || !slices.ContainsFunc(d.DACL.Entries, isAnonymous) {
		return d
	}
	acl := *d.DACL
	acl.Entries = slices.Clone(acl.Entries)
	for i := range acl.Entries {
		if e := &acl.Entries[i]; isAnonymous(*e) {
			e.SID = secdesc.UnixUser(s.cfg.Anonymous.UID)
		}
	}
	other := *d
	other.DACL = &acl
	return &other
}

// securityOf returns the changes that the parts of a descriptor make to an object with the attributes a.
func securityOf(d *secdesc.Descriptor, parts uint32, a vfs.Attr) (s vfs.SetAttr, st wire.Status) {
	s.UID, s.GID = a.UID, a.GID
	var ok bool
	if parts&wire.OwnerSecurityInformation != 0 {
		if s.UID, ok = d.Owner.UID(); !ok {
			return s, wire.StatusInvalidOwner
		}
		if s.UID != a.UID {
			s.Mask |= vfs.AttrUID
		}
	}
	if parts&wire.GroupSecurityInformation != 0 {
		if s.GID, ok = d.Group.GID(); !ok {
			return s, wire.StatusInvalidPrimaryGroup
		}
		if s.GID != a.GID {
			s.Mask |= vfs.AttrGID
		}
	}
	if parts&wire.DACLSecurityInformation != 0 {
		mode, exact := secdesc.ModeOf(d, s.UID, s.GID, a.Kind == vfs.KindDirectory)
		if !exact {
			return s, wire.StatusNotSupported
		}
		s.Mode = mode&0o777 | a.Mode&0o7000
		if mode&^0o777 != 0 {
			s.Mode = mode & 0o7777 // the descriptor contains the mode itself
		}
		s.Mask |= vfs.AttrMode
	}
	return s, wire.StatusSuccess
}

// secure gives a new object the security descriptor that came with the request (MS-SMB2 3.3.5.9.2).
func (c *create) secure(ctx context.Context, o *Open) wire.Status {
	d := c.ctxs.security
	if d == nil || c.ctxs.posix { // with the POSIX extensions the request's mode counts instead
		return wire.StatusSuccess
	}
	var parts uint32
	if d.Control&secdesc.DACLPresent != 0 {
		parts |= wire.DACLSecurityInformation
	}
	if !d.Owner.IsZero() {
		parts |= wire.OwnerSecurityInformation
	}
	if !d.Group.IsZero() {
		parts |= wire.GroupSecurityInformation
	}
	if d.SACL != nil && len(d.SACL.Entries) > 0 {
		return wire.StatusNotSupported
	}
	return o.secure(ctx, d, parts)
}
