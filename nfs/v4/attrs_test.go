package v4_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// attrRow says how long an attribute's value is on the wire, -1 for those with a length word.
var attrRows = map[int]int{
	proto.AttrSupportedAttrs: -4, proto.AttrType: 4, proto.AttrFHExpireType: 4, proto.AttrChange: 8, proto.AttrSize: 8,
	proto.AttrLinkSupport: 4, proto.AttrSymlinkSupport: 4, proto.AttrNamedAttr: 4, proto.AttrFSID: 16, proto.AttrUniqueHandles: 4,
	proto.AttrLeaseTime: 4, proto.AttrRdAttrError: 4, proto.AttrACLSupport: 4, proto.AttrCanSetTime: 4, proto.AttrCaseInsensitive: 4,
	proto.AttrCasePreserving: 4, proto.AttrChownRestricted: 4, proto.AttrFileHandle: -1, proto.AttrFileID: 8, proto.AttrFilesAvail: 8,
	proto.AttrFilesFree: 8, proto.AttrFilesTotal: 8, proto.AttrHomogeneous: 4, proto.AttrMaxFileSize: 8, proto.AttrMaxLink: 4,
	proto.AttrMaxName: 4, proto.AttrMaxRead: 8, proto.AttrMaxWrite: 8, proto.AttrMode: 4, proto.AttrNoTrunc: 4, proto.AttrNumLinks: 4,
	proto.AttrOwner: -1, proto.AttrOwnerGroup: -1, proto.AttrRawDev: 8, proto.AttrSpaceAvail: 8, proto.AttrSpaceFree: 8,
	proto.AttrSpaceTotal: 8, proto.AttrSpaceUsed: 8, proto.AttrTimeAccess: 12, proto.AttrTimeCreate: 12, proto.AttrTimeDelta: 12,
	proto.AttrTimeMetadata: 12, proto.AttrTimeModify: 12, proto.AttrMountedOnFileID: 8, proto.AttrSuppAttrExclCreat: -4,
	proto.AttrChangeAttrType: 4, proto.AttrXattrSupport: 4,
}

// split takes a fattr4 apart.
func split(t *testing.T, f nfsv4.Fattr4) map[int][]byte {
	t.Helper()
	var m proto.Bitmap
	copy(m[:], f.Attrmask)
	out := map[int][]byte{}
	d := xdr.NewDecoder(f.AttrVals)
	for a := m.Next(0); a >= 0; a = m.Next(a + 1) {
		n, known := attrRows[a]
		switch {
		case !known:
			t.Fatalf("attribute %d", a)
		case n > 0:
			out[a] = d.Fixed(n)
		case n == -1:
			out[a] = d.Opaque(1024)
		default:
			out[a] = d.Fixed(4 * d.Count(8, 4))
		}
	}
	if err := d.Finish(); err != nil {
		t.Fatalf("%v in %x", err, f)
	}
	return out
}

func all() (bits []int) {
	for a := range 96 {
		if a != proto.AttrTimeAccessSet && a != proto.AttrTimeModifySet {
			bits = append(bits, a)
		}
	}
	return bits
}

func TestGetAttr(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	res := c.ok(putroot(), lookup("data"), rw("f"), write(current, 0, "hello"), closeOp(current), getattr(all()...), getfh())
	got, fh := split(t, attrs(res[5])), handle(res[6])
	if len(got) != len(attrRows) {
		t.Errorf("%d attributes of %d", len(got), len(attrRows))
	}
	for a, want := range map[int]string{
		proto.AttrType: "\x00\x00\x00\x01", proto.AttrSize: "\x00\x00\x00\x00\x00\x00\x00\x05", proto.AttrOwner: "1000", proto.AttrOwnerGroup: "1000",
		proto.AttrMode: "\x00\x00\x01\xa4", proto.AttrNumLinks: "\x00\x00\x00\x01", proto.AttrFileHandle: string(fh),
		proto.AttrMountedOnFileID: string(got[proto.AttrFileID]), proto.AttrXattrSupport: "\x00\x00\x00\x01",
		proto.AttrLeaseTime: "\x00\x00\x00\x5a", proto.AttrMaxRead: "\x00\x00\x00\x00\x00\x10\x00\x00",
	} {
		if string(got[a]) != want {
			t.Errorf("attribute %d is %q, want %q", a, got[a], want)
		}
	}
	if binary.BigEndian.Uint64(got[proto.AttrFileID]) == 0 {
		t.Error("fileid 0")
	}
	// What is said to be supported is what there is, and what can only be set.
	var sup proto.Bitmap
	for i := range 3 {
		sup[i] = binary.BigEndian.Uint32(got[proto.AttrSupportedAttrs][4*i:])
	}
	for a := range 96 {
		_, readable := attrRows[a]
		if sup.Has(a) != (readable || a == proto.AttrTimeAccessSet || a == proto.AttrTimeModifySet) {
			t.Errorf("attribute %d: supported %v", a, sup.Has(a))
		}
	}
	split(t, attrs(c.ok(putroot(), getattr(all()...))[1]))
	c.minor = 1
	if n := len(split(t, attrs(c.ok(putfh(fh), getattr(all()...))[1]))); n != len(attrRows)-2 {
		t.Errorf("%d attributes in minor version 1", n)
	}
	for _, a := range []int{proto.AttrTimeAccessSet, proto.AttrTimeModifySet} {
		c.want(nfsv4.NFS4ERR_INVAL, putfh(fh), getattr(a))
	}
}

func TestVerify(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	res := c.ok(putroot(), lookup("data"), rw("f"), closeOp(current), getfh(), getattr(proto.AttrSize, proto.AttrOwner, proto.AttrChange))
	fh, f := handle(res[4]), attrs(res[5])
	verify := func(f nfsv4.Fattr4) arg {
		return &nfsv4.NfsArgop4_OP_VERIFY{Opverify: nfsv4.Verify4args{ObjAttributes: f}}
	}
	nverify := func(f nfsv4.Fattr4) arg {
		return &nfsv4.NfsArgop4_OP_NVERIFY{Opnverify: nfsv4.Nverify4args{ObjAttributes: f}}
	}
	c.ok(putfh(fh), verify(f))
	c.want(nfsv4.NFS4ERR_SAME, putfh(fh), nverify(f))
	c.want(nfsv4.NFS4ERR_NOT_SAME, putfh(fh), verify(size(9)))
	c.ok(putfh(fh), nverify(size(9)))
	for a, st := range map[int]nfsv4.Nfsstat4{
		proto.AttrTimeModifySet: nfsv4.NFS4ERR_INVAL, proto.AttrRdAttrError: nfsv4.NFS4ERR_INVAL, proto.AttrHidden: nfsv4.NFS4ERR_ATTRNOTSUPP,
	} {
		f := nfsv4.Fattr4{Attrmask: bitmap(a), AttrVals: []byte{0, 0, 0, 0}}
		c.want(st, putfh(fh), verify(f))
		c.want(st, putfh(fh), nverify(f))
	}
}

func TestSetAttr(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	fh := handle(c.ok(putroot(), lookup("data"), rw("f"), closeOp(current), getfh())[4])
	str := func(s string) []byte { return xdr.AppendString(nil, s) }
	words := func(w ...uint32) (b []byte) {
		for _, v := range w {
			b = xdr.AppendUint32(b, v)
		}
		return b
	}
	set := func(a int, v []byte) nfsv4.Fattr4 { return nfsv4.Fattr4{Attrmask: bitmap(a), AttrVals: v} }
	tests := []struct {
		f    nfsv4.Fattr4
		want nfsv4.Nfsstat4
	}{
		{set(proto.AttrMode, words(0o640)), nfsv4.NFS4_OK},
		{set(proto.AttrMode, words(0o10000)), nfsv4.NFS4ERR_INVAL},
		{set(proto.AttrMode, words(0o640, 1)), nfsv4.NFS4ERR_BADXDR},
		{set(proto.AttrMode, nil), nfsv4.NFS4ERR_BADXDR},
		{set(proto.AttrSize, words(0, 7)), nfsv4.NFS4_OK},
		{set(proto.AttrSize, words(1<<31, 0)), nfsv4.NFS4ERR_FBIG},
		{set(proto.AttrOwner, str("1000")), nfsv4.NFS4_OK},
		{set(proto.AttrOwner, str("0")), nfsv4.NFS4ERR_PERM},
		{set(proto.AttrOwner, str("root@example.org")), nfsv4.NFS4ERR_BADOWNER},
		{set(proto.AttrOwner, str("+5")), nfsv4.NFS4ERR_BADOWNER},
		{set(proto.AttrOwnerGroup, str("")), nfsv4.NFS4ERR_INVAL},
		{set(proto.AttrTimeModifySet, words(0)), nfsv4.NFS4_OK},
		{set(proto.AttrTimeModifySet, words(1, 0, 77, 5)), nfsv4.NFS4_OK},
		{set(proto.AttrTimeModifySet, words(1, 0, 77, 1e9)), nfsv4.NFS4ERR_INVAL},
		{set(proto.AttrTimeAccessSet, words(2)), nfsv4.NFS4ERR_BADXDR},
		{set(proto.AttrTimeModify, words(0, 0, 0)), nfsv4.NFS4ERR_INVAL},
		{set(proto.AttrHidden, words(1)), nfsv4.NFS4ERR_ATTRNOTSUPP},
		{nfsv4.Fattr4{Attrmask: []uint32{0, 0, 0, 1}}, nfsv4.NFS4ERR_ATTRNOTSUPP},
		{nfsv4.Fattr4{}, nfsv4.NFS4_OK},
	}
	for _, tt := range tests {
		res, st := c.try(putfh(fh), setattr(anonymous, tt.f))
		s := res[1].(*nfsv4.NfsResop4_OP_SETATTR).Opsetattr
		if st != tt.want || st == nfsv4.NFS4_OK && fmt.Sprint(s.Attrsset) != fmt.Sprint(trim(tt.f.Attrmask)) || st != nfsv4.NFS4_OK && len(s.Attrsset) != 0 {
			t.Errorf("%x: %v, set %x, want %v", tt.f, st, s.Attrsset, tt.want)
		}
	}
	v := attrs(c.ok(putfh(fh), getattr(proto.AttrSize, proto.AttrMode, proto.AttrTimeModify))[1]).AttrVals
	if !bytes.Equal(v, append(words(0, 7, 0o640, 0, 77), words(5)...)) {
		t.Errorf("attributes are %x", v)
	}
	c.want(nfsv4.NFS4ERR_ISDIR, putroot(), lookup("data"), setattr(anonymous, size(1)))
	c.uid = 7
	c.want(nfsv4.NFS4ERR_PERM, putfh(fh), setattr(anonymous, mode(0o777)))
}

func trim(m []uint32) []uint32 {
	for len(m) > 0 && m[len(m)-1] == 0 {
		m = m[:len(m)-1]
	}
	return m
}

func TestAccess(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	fh := handle(c.ok(putroot(), lookup("data"), rw("f"), closeOp(current), getfh())[4])
	get := func(fh []byte, want uint32) (uint32, uint32) {
		ok := c.ok(putfh(fh), access(want))[1].(*nfsv4.NfsResop4_OP_ACCESS).Opaccess.(*nfsv4.Access4res_NFS4_OK).Resok4
		return ok.Supported, ok.Access
	}
	if s, a := get(fh, 0x3f); s != 0x2d || a != 0x0d {
		t.Errorf("own file: %#x %#x", s, a)
	}
	if s, a := get(fh, 0x1ff); s != 0x1ed || a != 0x1cd {
		t.Errorf("own file with xattrs: %#x %#x", s, a)
	}
	c.uid = 8
	if s, a := get(fh, 0x3f); s != 0x2d || a != uint32(vfs.AccessRead) {
		t.Errorf("another's file: %#x %#x", s, a)
	}
	c.want(nfsv4.NFS4ERR_INVAL, putfh(fh), access(0x200))
	c.minor = 1
	c.want(nfsv4.NFS4ERR_INVAL, putfh(fh), access(0x40))
}
