package secdesc

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"testing"

	"fileserver/smb/wire"
)

// golden are descriptors as Samba 4.17 packs them, and what they say.
var golden = []struct{ sddl, packed string }{
	{"O:S-1-22-1-1000G:S-1-22-2-100D:(A;;FA;;;S-1-22-1-1000)(A;;FR;;;S-1-22-2-100)(A;;FR;;;WD)",
		"0100048014000000240000000000000034000000010200000000001601000000e80300000102000000000016020000006400000004004c000300000000001800ff011f00010200000000001601000000e80300000000180089001200010200000000001602000000640000000000140089001200010100000000000100000000"},
	{"O:BAG:SYD:PAI(A;OICI;0x1200a9;;;BU)(D;OICIIOID;FW;;;S-1-5-83-1-1-2-3-4)S:AI(AU;SAFA;FA;;;WD)",
		"0100149c1400000024000000300000004c0000000102000000000005200000002002000001010000000000051200000004001c000100000002c01400ff011f00010100000000000100000000040048000200000000031800a900120001020000000000052000000021020000011b2800160112000106000000000005530000000100000001000000020000000300000004000000"},
	{"D:P",
		"01000490000000000000000000000000140000000400080000000000"},
	{"O:SY",
		"0100008014000000000000000000000000000000010100000000000512000000"},
}

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGolden(t *testing.T) {
	for _, g := range golden {
		b := unhex(t, g.packed)
		d, err := Parse(b)
		if err != nil {
			t.Fatalf("%s: %v", g.sddl, err)
		}
		if d.String() != g.sddl {
			t.Errorf("got  %s\nwant %s", d, g.sddl)
		}
		if d.Len() != len(b) {
			t.Errorf("%s: %d bytes, not %d", g.sddl, d.Len(), len(b))
		}
		checkDescriptor(t, d)
	}
}

// checkDescriptor checks that d comes back from its bytes, wherever they are appended, and not from fewer.
func checkDescriptor(t *testing.T, d *Descriptor) {
	t.Helper()
	b := d.Append(nil)
	if len(b) != d.Len() || !bytes.Equal(d.Append([]byte("123"))[3:], b) {
		t.Fatalf("%s: %d bytes, not %d", d, len(b), d.Len())
	}
	got, err := Parse(b)
	if err != nil || !reflect.DeepEqual(got, d) {
		t.Fatalf("got %s, %v\nwant %s", got, err, d)
	}
	for n := range b {
		if got, err := Parse(b[:n]); err == nil {
			t.Fatalf("%d of %d bytes of %s are taken: %s", n, len(b), d, got)
		} else if !errors.Is(err, ErrMalformed) {
			t.Fatal(err)
		}
	}
}

func everything() *Descriptor {
	return &Descriptor{
		Control: SelfRelative | DACLPresent | SACLPresent | DACLAutoInherited | SACLProtected,
		Owner:   UnixUser(1000), Group: UnixGroup(100),
		SACL: &ACL{Revision: 2, Entries: []ACE{{Type: SystemAudit, Flags: FailedAccess, Mask: wire.FileReadData, SID: Everyone}}},
		DACL: &ACL{Revision: 4, Entries: []ACE{
			{Type: AccessAllowedObject, Mask: wire.FileReadData, Object: append([]byte{3, 0, 0, 0}, make([]byte, 32)...), SID: Users},
			{Type: AccessDeniedObject, Mask: wire.FileReadData, Object: []byte{0, 0, 0, 0}, SID: Users},
			{Type: AccessAllowedCallback, Flags: Inherited, Mask: wire.FileAllAccess, SID: Everyone, Extra: []byte("artx")},
		}},
	}
}

func TestDescriptor(t *testing.T) {
	checkDescriptor(t, everything())
	null := &Descriptor{Control: SelfRelative | DACLPresent, Owner: LocalSystem}
	if s := null.String(); s != "O:SYD:NO_ACCESS_CONTROL" {
		t.Error(s)
	}
	checkDescriptor(t, null)
	for name, spoil := range map[string]func([]byte){
		"revision":            func(b []byte) { b[0] = 2 },
		"not self-relative":   func(b []byte) { b[3] &^= 0x80 },
		"owner in the header": func(b []byte) { le.PutUint32(b[4:], 4) },
		"owner beyond":        func(b []byte) { le.PutUint32(b[4:], uint32(len(b))) },
		"group at 4 GiB":      func(b []byte) { le.PutUint32(b[8:], ^uint32(0)) },
		"DACL at 4 GiB":       func(b []byte) { le.PutUint32(b[16:], ^uint32(0)-3) },
		"revision of the ACL": func(b []byte) { b[20] = 3 },
		"ACL too short":       func(b []byte) { le.PutUint16(b[22:], 7) },
		"ACL too long":        func(b []byte) { le.PutUint16(b[22:], 0xffff) },
		"65535 ACEs":          func(b []byte) { le.PutUint16(b[24:], 0xffff) },
		"ACE too short":       func(b []byte) { le.PutUint16(b[30:], 4) },
		"ACE not aligned":     func(b []byte) { le.PutUint16(b[30:], 18) },
		"ACE too long":        func(b []byte) { le.PutUint16(b[30:], 0xfffc) },
		"unknown ACE":         func(b []byte) { b[28] = 4 },
		"long SID":            func(b []byte) { b[37] = 16 },
	} {
		b := everything().Append(nil)
		spoil(b)
		if d, err := Parse(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %s, %v", name, d, err)
		}
	}
	if _, err := Parse(append(everything().Append(nil), make([]byte, MaxLen)...)); !errors.Is(err, ErrMalformed) {
		t.Error("too long:", err)
	}
}

func TestMerge(t *testing.T) {
	d := everything()
	if o := d.Only(wire.OwnerSecurityInformation | wire.DACLSecurityInformation); o.Owner != d.Owner || !o.Group.IsZero() || o.SACL != nil ||
		o.DACL != d.DACL || o.Control != SelfRelative|DACLPresent|DACLAutoInherited {
		t.Error(o, o.Control)
	}
	f := FromFile(File{UID: 1, GID: 2, Mode: 0640})
	f.Merge(d, wire.GroupSecurityInformation|wire.SACLSecurityInformation)
	if f.Owner != UnixUser(1) || f.Group != d.Group || f.SACL != d.SACL || f.Control != SelfRelative|DACLPresent|SACLPresent|SACLProtected {
		t.Error(f, f.Control)
	}
}

func FuzzParse(f *testing.F) {
	for _, g := range golden {
		f.Add(unhex(f, g.packed))
	}
	f.Add(everything().Append(nil))
	f.Add(FromFile(File{UID: 1, GID: 2, Mode: 0750}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Parse(b)
		if err != nil {
			return
		}
		_ = d.String()
		ModeOf(d, 1, 2, false)
		d.Access(Everyone, d.Owner)
		if d.Len() > MaxLen {
			return // parts of b may overlap
		}
		again, err := Parse(d.Append(nil))
		if err != nil || !reflect.DeepEqual(again, d) {
			t.Fatalf("again %s, %v\nwas   %s", again, err, d)
		}
	})
}
