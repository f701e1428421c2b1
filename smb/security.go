package smb

import (
	"context"

	"fileserver/smb/secdesc"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/notify"
)

// securityAttrs are what a security descriptor is made of: owner, group and mode. There is nothing else to keep one in.
const securityAttrs = vfs.AttrMode | vfs.AttrUID | vfs.AttrGID

// securityParts are the parts of a descriptor that there can be something in.
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

// tooSmall makes the error data of STATUS_BUFFER_TOO_SMALL: how many bytes are needed (MS-SMB2 2.2.2.2).
func (r *request) tooSmall(need uint32) {
	b := wire.AppendBufferTooSmall(nil, need)
	if r.conn.dialect() == wire.Dialect311 {
		b = (&wire.ErrorContext{ID: wire.ErrorIDDefault, Data: b}).Append(nil)
	}
	r.errorData = b
}

// setSecurity sets owner, group and mode from a security descriptor (MS-SMB2 3.3.5.21.3). What these cannot
// say is lost: that is what the descriptor that is read afterwards shows.
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
	if o.granted&need != need {
		return wire.StatusAccessDenied
	}
	a, err := o.object().GetAttr(ctx, securityAttrs)
	if err != nil {
		return statusOf(err)
	}
	var s vfs.SetAttr
	if q.Additional&wire.OwnerSecurityInformation != 0 && !d.Owner.IsZero() {
		uid, ok := d.Owner.UID()
		if !ok {
			return wire.StatusInvalidOwner
		}
		s.UID = uid
		if uid != a.UID {
			s.Mask |= vfs.AttrUID
		}
		a.UID = uid
	}
	if q.Additional&wire.GroupSecurityInformation != 0 && !d.Group.IsZero() {
		gid, ok := d.Group.GID()
		if !ok {
			return wire.StatusInvalidOwner
		}
		s.GID = gid
		if gid != a.GID {
			s.Mask |= vfs.AttrGID
		}
		a.GID = gid
	}
	if q.Additional&wire.DACLSecurityInformation != 0 {
		mode, _ := secdesc.ModeOf(d, a.UID, a.GID)
		s.Mode = mode&0o777 | a.Mode&0o7000
		if mode&^0o777 != 0 {
			s.Mode = mode & 0o7777 // it has been given as such
		}
		s.Mask |= vfs.AttrMode
	}
	if s.Mask != 0 {
		if err := o.object().SetAttr(ctx, o.cred, &s); err != nil {
			return statusOf(err)
		}
		o.changed(ctx, notify.Security)
	}
	return wire.StatusSuccess
}
