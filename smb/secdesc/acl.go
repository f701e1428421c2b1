package secdesc

import (
	"slices"

	"fileserver/smb/wire"
)

// ACEType is the type of an access control entry (MS-DTYP 2.4.4.1).
type ACEType uint8

// ACE types.
const (
	AccessAllowed               ACEType = 0x00
	AccessDenied                ACEType = 0x01
	SystemAudit                 ACEType = 0x02
	SystemAlarm                 ACEType = 0x03
	AccessAllowedObject         ACEType = 0x05
	AccessDeniedObject          ACEType = 0x06
	SystemAuditObject           ACEType = 0x07
	SystemAlarmObject           ACEType = 0x08
	AccessAllowedCallback       ACEType = 0x09
	AccessDeniedCallback        ACEType = 0x0a
	AccessAllowedCallbackObject ACEType = 0x0b
	AccessDeniedCallbackObject  ACEType = 0x0c
	SystemAuditCallback         ACEType = 0x0d
	SystemAlarmCallback         ACEType = 0x0e
	SystemAuditCallbackObject   ACEType = 0x0f
	SystemAlarmCallbackObject   ACEType = 0x10
	SystemMandatoryLabel        ACEType = 0x11
	SystemResourceAttribute     ACEType = 0x12
	SystemScopedPolicyID        ACEType = 0x13
)

// object reports whether entries of the type have flags and GUIDs before the SID.
func (t ACEType) object() bool {
	switch t {
	case AccessAllowedObject, AccessDeniedObject, SystemAuditObject, SystemAlarmObject, AccessAllowedCallbackObject,
		AccessDeniedCallbackObject, SystemAuditCallbackObject, SystemAlarmCallbackObject:
		return true
	}
	return false
}

// known reports whether entries of the type have a mask and a SID; the others that exist mean nothing to files.
func (t ACEType) known() bool { return t <= SystemScopedPolicyID && t != 0x04 }

// ACEFlags are flags of an access control entry (MS-DTYP 2.4.4.1).
type ACEFlags uint8

// ACE flags.
const (
	ObjectInherit      ACEFlags = 0x01
	ContainerInherit   ACEFlags = 0x02
	NoPropagateInherit ACEFlags = 0x04
	InheritOnly        ACEFlags = 0x08
	Inherited          ACEFlags = 0x10
	SuccessfulAccess   ACEFlags = 0x40
	FailedAccess       ACEFlags = 0x80
)

// ACE is an access control entry (MS-DTYP 2.4.4).
type ACE struct {
	Type   ACEType
	Flags  ACEFlags
	Mask   wire.AccessMask
	Object []byte // of an object entry: its flags and GUIDs
	SID    SID
	Extra  []byte // what follows the SID: conditions, attributes
}

const (
	aceHeaderLen = 4
	aclHeaderLen = 8
)

// parseACE reads an entry that is all of b.
func parseACE(b []byte) (e ACE, err error) {
	if len(b) < aceHeaderLen+4 {
		return e, malformed("ACE of %d bytes", len(b))
	}
	e = ACE{Type: ACEType(b[0]), Flags: ACEFlags(b[1]), Mask: wire.AccessMask(le.Uint32(b[4:]))}
	if !e.Type.known() {
		return e, malformed("ACE of type %d", e.Type)
	}
	b = b[8:]
	if e.Type.object() {
		n := 4
		if len(b) >= n {
			n += 16 * int(le.Uint32(b)&1+le.Uint32(b)>>1&1)
		}
		if len(b) < n {
			return e, malformed("object ACE of %d bytes", len(b)+8)
		}
		e.Object, b = slices.Clone(b[:n]), b[n:]
	}
	if e.SID, err = ParseSID(b); err != nil {
		return e, err
	}
	if b = b[e.SID.Len():]; len(b) > 0 {
		e.Extra = slices.Clone(b)
	}
	return e, nil
}

// Len is the length of the entry on the wire, bytes.
func (e *ACE) Len() int {
	return (aceHeaderLen + 4 + len(e.Object) + e.SID.Len() + len(e.Extra) + 3) &^ 3
}

// Append appends the entry.
func (e *ACE) Append(b []byte) []byte {
	end := len(b) + e.Len()
	b = le.AppendUint16(append(b, byte(e.Type), byte(e.Flags)), uint16(e.Len()))
	b = append(le.AppendUint32(b, uint32(e.Mask)), e.Object...)
	b = append(e.SID.Append(b), e.Extra...)
	for len(b) < end {
		b = append(b, 0)
	}
	return b
}

// ACL is an access control list (MS-DTYP 2.4.5). A list without entries allows nothing.
type ACL struct {
	Revision uint8 // 2, or 4 with object entries
	Entries  []ACE
}

// parseACL reads the list at the beginning of b.
func parseACL(b []byte) (*ACL, error) {
	if len(b) < aclHeaderLen {
		return nil, malformed("ACL of %d bytes", len(b))
	}
	size, count := int(le.Uint16(b[2:])), int(le.Uint16(b[4:]))
	if b[0] != 2 && b[0] != 4 || size < aclHeaderLen || size > len(b) {
		return nil, malformed("ACL of revision %d, %d bytes in %d", b[0], size, len(b))
	}
	a := &ACL{Revision: b[0]}
	b = b[aclHeaderLen:size]
	for range count {
		if len(b) < aceHeaderLen {
			return nil, malformed("%d ACEs in %d bytes", count, size)
		}
		n := int(le.Uint16(b[2:]))
		if n < aceHeaderLen || n%4 != 0 || n > len(b) {
			return nil, malformed("ACE of %d bytes in %d", n, len(b))
		}
		e, err := parseACE(b[:n])
		if err != nil {
			return nil, err
		}
		a.Entries = append(a.Entries, e)
		b = b[n:]
	}
	return a, nil
}

// Len is the length of the list on the wire, bytes.
func (a *ACL) Len() int {
	n := aclHeaderLen
	for i := range a.Entries {
		n += a.Entries[i].Len()
	}
	return n
}

// append appends the list, which is shorter than 64 KiB.
func (a *ACL) append(b []byte) []byte {
	b = le.AppendUint16(append(b, a.Revision, 0), uint16(a.Len()))
	b = le.AppendUint32(b, uint32(len(a.Entries)))
	for i := range a.Entries {
		b = a.Entries[i].Append(b)
	}
	return b
}
