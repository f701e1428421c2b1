package smb

import (
	"testing"

	"fileserver/smb/secdesc"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// list is a descriptor with a list of entries.
func list(e ...secdesc.ACE) *secdesc.Descriptor {
	return &secdesc.Descriptor{Control: secdesc.SelfRelative | secdesc.DACLPresent, DACL: &secdesc.ACL{Revision: 2, Entries: e}}
}

func allow(s secdesc.SID, m wire.AccessMask) secdesc.ACE {
	return secdesc.ACE{Type: secdesc.AccessAllowed, Mask: m, SID: s}
}

// unkept are descriptors that owner, group and mode of a file of user 0 and group 0 cannot say.
var unkept = map[string]*secdesc.Descriptor{
	"a virtual machine": list(allow(secdesc.NewSID(5, 83, 1, 2, 3, 4, 5), wire.FileAllAccess)),
	"another user":      list(allow(secdesc.UnixUser(0), wire.FileAllAccess), allow(secdesc.UnixUser(1000), wire.FileGenericRead)),
	"another denied":    list(secdesc.ACE{Type: secdesc.AccessDenied, Mask: wire.FileWriteData, SID: secdesc.UnixUser(1000)}),
	"inheritance":       list(secdesc.ACE{Type: secdesc.AccessAllowed, Flags: secdesc.InheritOnly, Mask: wire.FileAllAccess, SID: secdesc.Everyone}),
	"deleting denied":   list(secdesc.ACE{Type: secdesc.AccessDenied, Mask: wire.Delete, SID: secdesc.Everyone}),
	"appending":         list(allow(secdesc.Everyone, wire.FileAppendData)),
}

// What cannot be kept of a security descriptor is refused, and changes nothing.
func TestSecurityThatIsNotKept(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	q := want("f", wire.FileCreate)
	q.DesiredAccess |= wire.WriteDAC | wire.WriteOwner | wire.ReadControl
	f := c.must(q).FileID
	before := c.security(f, ownerGroupDACL, 4096)
	set := func(parts uint32, d *secdesc.Descriptor, want wire.Status) {
		t.Helper()
		q := wire.SetInfoRequest{Type: wire.InfoSecurity, FileID: f, Additional: parts, Input: d.Append(nil)}
		c.Call(wire.CmdSetInfo, q.Append, want)
	}
	for name, d := range unkept {
		t.Run(name, func(t *testing.T) { set(wire.DACLSecurityInformation, d, wire.StatusNotSupported) })
	}
	stranger := secdesc.NewSID(5, 21, 1, 2, 3, 500)
	sd := &secdesc.Descriptor{Control: secdesc.SelfRelative, Owner: stranger, Group: stranger}
	set(wire.OwnerSecurityInformation, sd, wire.StatusInvalidOwner)
	set(wire.GroupSecurityInformation, sd, wire.StatusInvalidPrimaryGroup)
	set(wire.OwnerSecurityInformation, list(), wire.StatusInvalidOwner) // which has none
	set(wire.LabelSecurityInformation, list(), wire.StatusNotSupported)
	if after := c.security(f, ownerGroupDACL, 4096); string(after.Msg[wire.HeaderLen:]) != string(before.Msg[wire.HeaderLen:]) {
		t.Error("the descriptor has changed")
	}
	set(wire.DACLSecurityInformation, list(allow(secdesc.UnixUser(0), wire.FileAllAccess)), wire.StatusSuccess)
	c.closeFile(f)
}

// A CREATE with a descriptor that cannot be kept creates nothing.
func TestCreateWithSecurity(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	create := func(d *secdesc.Descriptor, status wire.Status) {
		t.Helper()
		q := want("f", wire.FileCreate)
		q.Contexts.Add(wire.CreateSDBuffer, d.Append)
		r, st := c.create(q)
		if st != status {
			t.Errorf("CREATE: %v, want %v", st, status)
		}
		if st == wire.StatusSuccess {
			c.Call(wire.CmdClose, (&wire.CloseRequest{FileID: r.FileID}).Append, wire.StatusSuccess)
		} else if e.exists("f") {
			t.Fatal("a CREATE that failed has left the file")
		}
	}
	for name, d := range unkept {
		t.Run(name, func(t *testing.T) { create(d, wire.StatusNotSupported) })
	}
	other := list(allow(secdesc.Everyone, wire.FileAllAccess))
	other.Owner = secdesc.NewSID(5, 21, 1, 2, 3, 500)
	create(other, wire.StatusInvalidOwner)
	audit := list()
	audit.Control |= secdesc.SACLPresent
	audit.SACL = &secdesc.ACL{Revision: 2, Entries: []secdesc.ACE{{Type: secdesc.SystemAudit, Mask: wire.FileAllAccess, SID: secdesc.Everyone}}}
	create(audit, wire.StatusNotSupported)
	create(secdesc.FromFile(secdesc.File{Mode: 0o750}), wire.StatusSuccess)
	f := c.must(want("f", wire.FileOpen)).FileID
	out, err := wire.ParseOutputResponse(c.security(f, ownerGroupDACL, 4096).Msg)
	if err != nil {
		t.Fatal(err)
	}
	d, err := secdesc.Parse(out.Output)
	if err != nil {
		t.Fatal(err)
	}
	if mode, _ := secdesc.ModeOf(d, 0, 0, false); mode != 0o750 {
		t.Errorf("mode %#o", mode)
	}
	c.closeFile(f)
}

// An entry for the anonymous is about the user that they are on this server, and about nobody where they are refused.
func TestSecurityOfAnonymous(t *testing.T) {
	for _, served := range []bool{false, true} {
		e := newFileEnv(t, nil)
		if served {
			e.srv.cfg.Anonymous = &vfs.Cred{}
		}
		c := e.files(wire.Dialect311)
		q := want("f", wire.FileCreate)
		q.DesiredAccess |= wire.WriteDAC
		f := c.must(q).FileID
		st := wire.StatusNotSupported
		if served {
			st = wire.StatusSuccess
		}
		d := list(allow(secdesc.Anonymous, wire.FileAllAccess))
		set := wire.SetInfoRequest{Type: wire.InfoSecurity, FileID: f, Additional: wire.DACLSecurityInformation, Input: d.Append(nil)}
		c.Call(wire.CmdSetInfo, set.Append, st)
		c.closeFile(f)
		c.W.Close()
	}
}

// Clients are not told that lists are kept, because they are not (MS-FSCC 2.5.1).
func TestNoPersistentACLs(t *testing.T) {
	c := newFileEnv(t, nil).files(wire.Dialect311)
	d := c.openDir("")
	q := wire.QueryInfoRequest{Type: wire.InfoFilesystem, Class: wire.FileFsAttributeInformation, OutputLength: 4096, FileID: d}
	r := c.Do(smbtest.Request{Command: wire.CmdQueryInfo, Body: q.Append})[0]
	out, err := wire.ParseOutputResponse(r.Msg)
	if err != nil {
		t.Fatal(r.Status, err)
	}
	if a := wire.FsAttributes(le.Uint32(out.Output)); a&wire.FilePersistentACLs != 0 {
		t.Errorf("%#x", a)
	}
	c.closeFile(d)
}
