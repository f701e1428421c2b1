package secdesc

import (
	"fmt"
	"strings"

	"fileserver/smb/wire"
)

// sidAliases are the two letters that stand for a SID (MS-DTYP 2.5.1.1).
var sidAliases = map[SID]string{
	Everyone: "WD", CreatorOwner: "CO", CreatorGroup: "CG", OwnerRights: "OW", Network: "NU", Anonymous: "AN", AuthenticatedUsers: "AU",
	LocalSystem: "SY", Administrators: "BA", Users: "BU", Guests: "BG",
}

// aceTypes are the types of entries (MS-DTYP 2.5.1.1).
var aceTypes = map[ACEType]string{
	AccessAllowed: "A", AccessDenied: "D", SystemAudit: "AU", SystemAlarm: "AL", AccessAllowedObject: "OA", AccessDeniedObject: "OD",
	SystemAuditObject: "OU", SystemAlarmObject: "OL", AccessAllowedCallback: "XA", AccessDeniedCallback: "XD", SystemAuditCallback: "XU",
	AccessAllowedCallbackObject: "ZA", SystemMandatoryLabel: "ML", SystemResourceAttribute: "RA", SystemScopedPolicyID: "SP",
}

var aceFlags = []struct {
	flag ACEFlags
	name string
}{
	{ObjectInherit, "OI"}, {ContainerInherit, "CI"}, {NoPropagateInherit, "NP"}, {InheritOnly, "IO"}, {Inherited, "ID"},
	{SuccessfulAccess, "SA"}, {FailedAccess, "FA"},
}

var aceRights = map[wire.AccessMask]string{
	wire.FileAllAccess: "FA", wire.FileGenericRead: "FR", wire.FileGenericWrite: "FW", wire.FileGenericExecute: "FX",
	wire.GenericAll: "GA", wire.GenericRead: "GR", wire.GenericWrite: "GW", wire.GenericExecute: "GX",
}

// String is the descriptor in SDDL, for logs: conditions and GUIDs are left out (MS-DTYP 2.5.1.1).
func (d *Descriptor) String() string {
	var s strings.Builder
	if !d.Owner.IsZero() {
		s.WriteString("O:" + alias(d.Owner))
	}
	if !d.Group.IsZero() {
		s.WriteString("G:" + alias(d.Group))
	}
	if d.Control&DACLPresent != 0 {
		s.WriteString("D:" + d.DACL.sddl(d.Control&DACLProtected != 0, d.Control&DACLComputedInheritRequest != 0, d.Control&DACLAutoInherited != 0))
	}
	if d.Control&SACLPresent != 0 {
		s.WriteString("S:" + d.SACL.sddl(d.Control&SACLProtected != 0, d.Control&SACLComputedInheritRequest != 0, d.Control&SACLAutoInherited != 0))
	}
	return s.String()
}

func alias(s SID) string {
	if a, ok := sidAliases[s]; ok {
		return a
	}
	return s.String()
}

func (a *ACL) sddl(protected, request, inherited bool) string {
	var s strings.Builder
	for _, f := range []struct {
		set  bool
		name string
	}{{protected, "P"}, {request, "AR"}, {inherited, "AI"}, {a == nil, "NO_ACCESS_CONTROL"}} {
		if f.set {
			s.WriteString(f.name)
		}
	}
	if a != nil {
		for i := range a.Entries {
			s.WriteString(a.Entries[i].String())
		}
	}
	return s.String()
}

// String is the entry in SDDL.
func (e *ACE) String() string {
	typ, ok := aceTypes[e.Type]
	if !ok {
		typ = fmt.Sprintf("%#x", uint8(e.Type))
	}
	flags := ""
	for _, f := range aceFlags {
		if e.Flags&f.flag != 0 {
			flags += f.name
		}
	}
	rights, ok := aceRights[e.Mask]
	if !ok {
		rights = fmt.Sprintf("%#x", uint32(e.Mask))
	}
	return "(" + typ + ";" + flags + ";" + rights + ";;;" + alias(e.SID) + ")"
}
