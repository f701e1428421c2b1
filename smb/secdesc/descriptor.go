package secdesc

import "fileserver/smb/wire"

// MaxLen is the length of the longest descriptor that is taken, bytes.
const MaxLen = 64 << 10

// Control are the control bits of a descriptor (MS-DTYP 2.4.6).
type Control uint16

// Control bits.
const (
	OwnerDefaulted             Control = 0x0001
	GroupDefaulted             Control = 0x0002
	DACLPresent                Control = 0x0004
	DACLDefaulted              Control = 0x0008
	SACLPresent                Control = 0x0010
	SACLDefaulted              Control = 0x0020
	DACLTrusted                Control = 0x0040
	ServerSecurity             Control = 0x0080
	DACLComputedInheritRequest Control = 0x0100
	SACLComputedInheritRequest Control = 0x0200
	DACLAutoInherited          Control = 0x0400
	SACLAutoInherited          Control = 0x0800
	DACLProtected              Control = 0x1000
	SACLProtected              Control = 0x2000
	RMControlValid             Control = 0x4000
	SelfRelative               Control = 0x8000

	dacl = DACLPresent | DACLDefaulted | DACLTrusted | ServerSecurity | DACLComputedInheritRequest | DACLAutoInherited | DACLProtected
	sacl = SACLPresent | SACLDefaulted | SACLComputedInheritRequest | SACLAutoInherited | SACLProtected
)

// Descriptor is a security descriptor (MS-DTYP 2.4.6).
type Descriptor struct {
	Control Control
	Owner   SID // zero: none
	Group   SID // zero: none
	SACL    *ACL
	DACL    *ACL // nil with DACLPresent: everybody may do everything
}

const descriptorLen = 20

// Parse reads a self-relative descriptor. What it returns does not alias b.
func Parse(b []byte) (*Descriptor, error) {
	if len(b) < descriptorLen || len(b) > MaxLen {
		return nil, malformed("%d bytes", len(b))
	}
	d := &Descriptor{Control: Control(le.Uint16(b[2:]))}
	if b[0] != 1 || d.Control&SelfRelative == 0 {
		return nil, malformed("revision %d, control %#x", b[0], uint16(d.Control))
	}
	at := func(field int) ([]byte, error) {
		off := le.Uint32(b[field:])
		switch {
		case off == 0:
			return nil, nil
		case off < descriptorLen || off >= uint32(len(b)):
			return nil, malformed("part at %d of %d bytes", off, len(b))
		}
		return b[off:], nil
	}
	for i, s := range []*SID{&d.Owner, &d.Group} {
		part, err := at(4 + 4*i)
		if err == nil && part != nil {
			*s, err = ParseSID(part)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, l := range []struct {
		field   int
		present Control
		acl     **ACL
	}{{12, SACLPresent, &d.SACL}, {16, DACLPresent, &d.DACL}} {
		if d.Control&l.present == 0 {
			continue
		}
		part, err := at(l.field)
		if err == nil && part != nil {
			*l.acl, err = parseACL(part)
		}
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Len is the length of the descriptor on the wire, bytes.
func (d *Descriptor) Len() int {
	n := descriptorLen
	for _, s := range []SID{d.Owner, d.Group} {
		if !s.IsZero() {
			n += s.Len()
		}
	}
	for _, a := range []*ACL{d.SACL, d.DACL} {
		if a != nil {
			n += a.Len()
		}
	}
	return n
}

// Append appends the descriptor, self-relative. It is no longer than MaxLen.
func (d *Descriptor) Append(b []byte) []byte {
	at := len(b)
	b = le.AppendUint16(append(b, 1, 0), uint16(d.Control|SelfRelative))
	b = append(b, make([]byte, 16)...)
	place := func(field int) { le.PutUint32(b[at+field:], uint32(len(b)-at)) }
	if d.SACL != nil {
		place(12)
		b = d.SACL.append(b)
	}
	if d.DACL != nil {
		place(16)
		b = d.DACL.append(b)
	}
	if !d.Owner.IsZero() {
		place(4)
		b = d.Owner.Append(b)
	}
	if !d.Group.IsZero() {
		place(8)
		b = d.Group.Append(b)
	}
	return b
}

// Only is what of d a QUERY_INFO asks for with parts, the wire.OwnerSecurityInformation and so on (MS-SMB2 3.3.5.20.3).
func (d *Descriptor) Only(parts uint32) *Descriptor {
	var o Descriptor
	o.Merge(d, parts)
	return &o
}

// Merge takes the parts of from that a SET_INFO sets (MS-SMB2 3.3.5.21.3).
func (d *Descriptor) Merge(from *Descriptor, parts uint32) {
	if parts&wire.OwnerSecurityInformation != 0 {
		d.Owner = from.Owner
		d.Control = d.Control&^OwnerDefaulted | from.Control&OwnerDefaulted
	}
	if parts&wire.GroupSecurityInformation != 0 {
		d.Group = from.Group
		d.Control = d.Control&^GroupDefaulted | from.Control&GroupDefaulted
	}
	if parts&wire.DACLSecurityInformation != 0 {
		d.DACL = from.DACL
		d.Control = d.Control&^dacl | from.Control&dacl
	}
	if parts&wire.SACLSecurityInformation != 0 {
		d.SACL = from.SACL
		d.Control = d.Control&^sacl | from.Control&sacl
	}
	d.Control |= SelfRelative
}
