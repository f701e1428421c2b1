package secdesc

import (
	"testing"

	"fileserver/smb/wire"
)

// Every mode comes back, and the list says for owner, group and others what POSIX says, also for an owner who is in the group.
func TestModes(t *testing.T) {
	for mode := range uint32(0o1000) {
		for _, dir := range []bool{false, true} {
			d := FromFile(File{UID: 1000, GID: 100, Mode: mode, Directory: dir})
			if got, exact := ModeOf(d, 1000, 100, false); got != mode || !exact {
				t.Fatalf("%#o: %#o, %v\n%s", mode, got, exact, d)
			}
			for _, c := range []struct {
				bits uint32
				who  []SID
			}{
				{mode >> 6, []SID{UnixUser(1000), UnixGroup(100), Everyone}},
				{mode >> 6, []SID{UnixUser(1000), Everyone}},
				{mode >> 3, []SID{UnixUser(1), UnixGroup(100), Everyone}},
				{mode, []SID{UnixUser(1), UnixGroup(1), Everyone}},
			} {
				if got := bits(d.Access(c.who...), false); got != c.bits&7 {
					t.Fatalf("%#o: %s may %o\n%s", mode, c.who, got, d)
				}
			}
			back, err := Parse(d.Append(nil))
			if err != nil || back.String() != d.String() {
				t.Fatal(back, err)
			}
		}
	}
	if s := FromFile(File{UID: 1, GID: 2, Mode: 0750}).String(); s != "O:S-1-22-1-1G:S-1-22-2-2D:(A;;FA;;;S-1-22-1-1)(A;;0x1200a9;;;S-1-22-2-2)(A;;0x120080;;;WD)" {
		t.Error(s)
	}
}

func acl(e ...ACE) *Descriptor {
	return &Descriptor{Control: SelfRelative | DACLPresent, Owner: UnixUser(1), DACL: &ACL{Revision: 2, Entries: e}}
}

func TestModeOf(t *testing.T) {
	allow := func(s SID, m wire.AccessMask) ACE { return ACE{Type: AccessAllowed, SID: s, Mask: m} }
	deny := func(s SID, m wire.AccessMask) ACE { return ACE{Type: AccessDenied, SID: s, Mask: m} }
	for name, c := range map[string]struct {
		d     *Descriptor
		mode  uint32
		exact bool
		dir   bool
	}{
		"no list":           {&Descriptor{Control: SelfRelative}, 0777, true, false},
		"null list":         {&Descriptor{Control: SelfRelative | DACLPresent}, 0777, true, false},
		"empty list":        {acl(), 0, true, false},
		"generic rights":    {acl(allow(UnixUser(1), wire.GenericAll), allow(UnixGroup(2), wire.GenericRead|wire.GenericExecute)), 0750, true, false},
		"everyone":          {acl(allow(Everyone, wire.FileGenericRead)), 0444, true, false},
		"administrators":    {acl(allow(Administrators, wire.FileAllAccess), allow(LocalSystem, wire.FileAllAccess), allow(UnixUser(1), wire.FileAllAccess)), 0700, true, false},
		"another user":      {acl(allow(UnixUser(1), wire.FileAllAccess), allow(UnixUser(9), wire.FileAllAccess)), 0700, false, false},
		"another group":     {acl(allow(UnixGroup(9), wire.FileGenericRead)), 0, false, false},
		"a virtual machine": {acl(allow(NewSID(5, 83, 1, 1, 2), wire.FileAllAccess)), 0, false, false},
		"denied first":      {acl(deny(Everyone, wire.FileWriteData|wire.FileAppendData), allow(Everyone, wire.FileAllAccess)), 0555, true, false},
		"denied in part":    {acl(deny(Everyone, wire.FileWriteData), allow(Everyone, wire.FileAllAccess)), 0555, true, false},
		"adding files":      {acl(deny(Everyone, wire.FileWriteData), allow(Everyone, wire.FileAllAccess)), 0555, false, true},
		"allowed first":     {acl(allow(Everyone, wire.FileAllAccess), deny(Everyone, wire.FileWriteData)), 0777, true, false},
		"append only":       {acl(allow(Everyone, wire.FileAppendData)), 0, false, false},
		"modify":            {acl(allow(Everyone, wire.FileGenericRead|wire.FileGenericWrite|wire.FileGenericExecute|wire.Delete)), 0777, true, false},
		"delete only":       {acl(allow(Everyone, wire.FileGenericRead), allow(Everyone, wire.Delete)), 0444, true, false},
		"delete denied":     {acl(deny(Everyone, wire.Delete), allow(Everyone, wire.FileAllAccess)), 0777, false, false},
		"owner's own":       {acl(allow(UnixUser(1), wire.ReadControl|wire.WriteDAC)), 0, true, false},
		"group's attribute": {acl(allow(UnixGroup(2), wire.FileWriteAttributes)), 0, true, false},
		"nothing, by Linux": {acl(allow(Everyone, always|wire.FileReadEA)), 0, true, false},
		"inherit only":      {acl(ACE{SID: CreatorOwner, Flags: InheritOnly, Mask: wire.FileAllAccess}), 0, false, false},
		"also inherited":    {acl(ACE{SID: Everyone, Flags: ObjectInherit | ContainerInherit, Mask: wire.FileAllAccess}), 0777, true, false},
		"owner rights":      {acl(allow(OwnerRights, wire.FileGenericRead|wire.FileGenericWrite)), 0600, true, false},
		"condition":         {acl(ACE{Type: AccessAllowedCallback, SID: Everyone, Mask: wire.FileAllAccess}), 0, false, false},
		"mode of cifs":      {acl(ACE{Type: AccessDenied, SID: NFSMode(04751)}, allow(Everyone, wire.FileAllAccess)), 04751, true, false},
		"NFS' users":        {acl(allow(NewSID(5, 88, 1, 1), wire.FileAllAccess), allow(NewSID(5, 88, 2, 2), wire.FileGenericRead)), 0740, true, false},
		"write only":        {acl(allow(Everyone, wire.FileWriteData)), 0222, true, false},
		"add files only":    {acl(allow(Everyone, wire.FileWriteData)), 0, false, true},
		"add both":          {acl(allow(Everyone, wire.FileWriteData|wire.FileAppendData)), 0222, true, true},
	} {
		if mode, exact := ModeOf(c.d, 1, 2, c.dir); mode != c.mode || exact != c.exact {
			t.Errorf("%s: %#o, %v", name, mode, exact)
		}
	}
}

func TestDescriptorAccess(t *testing.T) {
	allow := ACE{Type: AccessAllowed, SID: Everyone, Mask: wire.FileGenericRead}
	deny := ACE{Type: AccessDenied, SID: UnixUser(5), Mask: wire.FileReadData}
	rights := ACE{Type: AccessAllowed, SID: OwnerRights, Mask: wire.FileReadData}
	for name, c := range map[string]struct {
		d    *Descriptor
		who  []SID
		want wire.AccessMask
	}{
		"others":         {acl(allow), []SID{Everyone, UnixUser(9)}, wire.FileGenericRead},
		"owner":          {acl(), []SID{Everyone, UnixUser(1)}, wire.ReadControl | wire.WriteDAC},
		"owner's rights": {acl(rights), []SID{Everyone, UnixUser(1)}, wire.FileReadData},
		"not the owner":  {acl(rights), []SID{Everyone, UnixUser(2)}, 0},
		"denied":         {acl(deny, allow), []SID{Everyone, UnixUser(5)}, wire.FileGenericRead &^ wire.FileReadData},
		"denied late":    {acl(allow, deny), []SID{Everyone, UnixUser(5)}, wire.FileGenericRead},
		"no list":        {&Descriptor{}, []SID{Everyone}, wire.FileAllAccess},
	} {
		if got := c.d.Access(c.who...); got != c.want {
			t.Errorf("%s: %#x, not %#x", name, got, c.want)
		}
	}
}

func TestFileAccess(t *testing.T) {
	file, dir := File{Mode: 0750}, File{Mode: 0750, Directory: true}
	for name, c := range map[string]struct {
		got, want wire.AccessMask
	}{
		"root":             {File{}.Access(Caller{Root: true}, true), wire.FileAllAccess &^ wire.FileExecute},
		"root, executable": {file.Access(Caller{Root: true}, true), wire.FileAllAccess},
		"root, directory":  {File{Directory: true}.Access(Caller{Root: true}, true), wire.FileAllAccess},
		"owner":            {file.Access(Caller{Owner: true, InGroup: true}, true), wire.FileAllAccess},
		"owner of nothing": {File{Mode: 077}.Access(Caller{Owner: true, InGroup: true}, false), owning &^ wire.Delete},
		"group":            {file.Access(Caller{InGroup: true}, false), wire.FileGenericRead | wire.FileGenericExecute},
		"others":           {file.Access(Caller{}, true), always | wire.Delete},
		"group writes":     {File{Mode: 0770, Directory: true}.Access(Caller{InGroup: true}, false), rights(7, true)},
		"others, listing":  {dir.Access(Caller{}, false), always},
	} {
		if c.got != c.want {
			t.Errorf("%s: %#x, not %#x", name, c.got, c.want)
		}
	}
}
