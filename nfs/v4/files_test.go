package v4_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/nfs/v4/proto"
)

func TestFileLife(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	res := c.ok(putroot(), lookup("data"), rw("f"), getfh(), write(current, 3, "hello"), read(current, 0, 100), commit())
	o, fh := opened(res[2]), handle(res[3])
	if o.Stateid.Seqid != 1 || o.Rflags != 4 || !o.Cinfo.Atomic || o.Cinfo.After <= o.Cinfo.Before {
		t.Errorf("OPEN: %+v", o)
	}
	if _, none := o.Delegation.(*nfsv4.OpenDelegation4_OPEN_DELEGATE_NONE); !none {
		t.Errorf("delegation %T", o.Delegation)
	}
	w := res[4].(*nfsv4.NfsResop4_OP_WRITE).Opwrite.(*nfsv4.Write4res_NFS4_OK).Resok4
	cm := res[6].(*nfsv4.NfsResop4_OP_COMMIT).Opcommit.(*nfsv4.Commit4res_NFS4_OK).Resok4
	if w.Count != 5 || w.Committed != nfsv4.FILE_SYNC4 || w.Writeverf != cm.Writeverf {
		t.Errorf("WRITE %+v, COMMIT %+v", w, cm)
	}
	if d, eof := data(res[5]); d != "\x00\x00\x00hello" || !eof {
		t.Errorf("READ %q, %v", d, eof)
	}
	// Without an open, by the special stateids; at and beyond the end.
	for _, tt := range []struct {
		off  uint64
		n    uint32
		want string
		eof  bool
	}{{3, 2, "he", false}, {6, 2, "lo", true}, {8, 10, "", true}, {1 << 62, 10, "", true}, {1<<64 - 1, 10, "", true}, {0, 0, "", false}, {8, 0, "", true}} {
		for _, s := range []sid{anonymous, bypass, o.Stateid, {Other: o.Stateid.Other}} {
			if d, eof := data(c.ok(putfh(fh), read(s, tt.off, tt.n))[1]); d != tt.want || eof != tt.eof {
				t.Errorf("READ at %d of %d by %x: %q, %v", tt.off, tt.n, s, d, eof)
			}
		}
	}
	c.want(nfsv4.NFS4ERR_FBIG, putfh(fh), write(o.Stateid, 1<<63-2, "abc"))
	c.ok(putfh(fh), setattr(o.Stateid, size(4)))
	if d, _ := data(c.ok(putfh(fh), read(o.Stateid, 0, 100))[1]); d != "\x00\x00\x00h" {
		t.Errorf("after truncation %q", d)
	}
	// A removed file lives while it is open.
	c.ok(putroot(), lookup("data"), remove("f"))
	if d, _ := data(c.ok(putfh(fh), read(o.Stateid, 3, 1))[1]); d != "h" {
		t.Errorf("after removal %q", d)
	}
	c.ok(putfh(fh), closeOp(o.Stateid))
	c.want(nfsv4.NFS4ERR_STALE, putfh(fh))
}

func TestOpenModes(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	dir := func(ops ...arg) []arg { return append([]arg{putroot(), lookup("data")}, ops...) }
	v1, v2 := [8]byte{0xff, 1}, [8]byte{2}
	creates := []struct {
		name   string
		create nfsv4.Createhow4
		want   nfsv4.Nfsstat4
	}{
		{"new", &nfsv4.Createhow4_GUARDED4{Createattrs: mode(0o600)}, nfsv4.NFS4_OK},
		{"new", &nfsv4.Createhow4_GUARDED4{}, nfsv4.NFS4ERR_EXIST},
		{"new", &nfsv4.Createhow4_UNCHECKED4{Createattrs: mode(0o644)}, nfsv4.NFS4_OK},
		{"excl", &nfsv4.Createhow4_EXCLUSIVE4{Createverf: v1}, nfsv4.NFS4_OK},
		{"excl", &nfsv4.Createhow4_EXCLUSIVE4{Createverf: v1}, nfsv4.NFS4_OK}, // a retry
		{"excl", &nfsv4.Createhow4_EXCLUSIVE4{Createverf: v2}, nfsv4.NFS4ERR_EXIST},
		{"new", &nfsv4.Createhow4_EXCLUSIVE4{Createverf: v1}, nfsv4.NFS4ERR_EXIST},
		{"excl1", &nfsv4.Createhow4_EXCLUSIVE4_1{ChCreateboth: nfsv4.Creatverfattr{CvaVerf: v1, CvaAttrs: mode(0o640)}}, nfsv4.NFS4_OK},
		{"excl1", &nfsv4.Createhow4_EXCLUSIVE4_1{ChCreateboth: nfsv4.Creatverfattr{CvaVerf: v2}}, nfsv4.NFS4ERR_EXIST},
		{"../x", &nfsv4.Createhow4_GUARDED4{}, nfsv4.NFS4ERR_BADNAME},
		{"", &nfsv4.Createhow4_GUARDED4{}, nfsv4.NFS4ERR_INVAL},
		{strings.Repeat("n", 256), &nfsv4.Createhow4_GUARDED4{}, nfsv4.NFS4ERR_NAMETOOLONG},
		{strings.Repeat("n", 255), &nfsv4.Createhow4_GUARDED4{}, nfsv4.NFS4_OK},
	}
	for _, tt := range creates {
		ops := dir(how{access: 3, owner: "o", create: tt.create}.open(tt.name), getattr(proto.AttrMode))
		if tt.want != nfsv4.NFS4_OK {
			c.want(tt.want, ops[:3]...)
			continue
		}
		res := c.ok(ops...)
		o := opened(res[2])
		if _, is := tt.create.(*nfsv4.Createhow4_EXCLUSIVE4_1); is {
			want := proto.Bits(proto.AttrMode, proto.AttrTimeAccess, proto.AttrTimeModify)
			if fmt.Sprint(o.Attrset) != fmt.Sprint(want[:2]) {
				t.Errorf("attrset %x", o.Attrset)
			}
			if v := attrs(res[3]).AttrVals; fmt.Sprint(v) != "[0 0 1 160]" {
				t.Errorf("mode %v", v)
			}
		}
		c.ok(append(dir(lookup(tt.name)), closeOp(o.Stateid))...)
	}
	// UNCHECKED of what exists truncates it, if it is told to, and changes nothing else.
	c.ok(dir(lookup("new"), write(anonymous, 0, "data"))...)
	res := c.ok(dir(how{access: 2, owner: "o", create: &nfsv4.Createhow4_UNCHECKED4{Createattrs: size(0)}}.open("new"), getattr(proto.AttrSize, proto.AttrMode), closeOp(current))...)
	if v := attrs(res[3]).AttrVals; fmt.Sprint(v) != "[0 0 0 0 0 0 0 0 0 0 1 128]" {
		t.Errorf("truncated and unchanged: %v", v)
	}
	c.ok(dir(mkdir("d"), savefh(), putroot(), lookup("data"), symlink("l", "d"))...)
	for name, st := range map[string]nfsv4.Nfsstat4{"d": nfsv4.NFS4ERR_ISDIR, "l": nfsv4.NFS4ERR_SYMLINK, "none": nfsv4.NFS4ERR_NOENT} {
		c.want(st, dir(how{access: 1, owner: "o"}.open(name))...)
	}
	for _, h := range []how{{access: 0}, {access: 4}, {access: 1, deny: 4}} {
		c.want(nfsv4.NFS4ERR_INVAL, dir(h.open("new"))...)
	}
	c.want(nfsv4.NFS4ERR_INVAL, dir(how{access: 1, owner: "o", create: &nfsv4.Createhow4_EXCLUSIVE4_1{
		ChCreateboth: nfsv4.Creatverfattr{CvaAttrs: nfsv4.Fattr4{Attrmask: bitmap(proto.AttrTimeModifySet), AttrVals: []byte{0, 0, 0, 0}}},
	}}.open("x"))...)
	// By filehandle.
	res = c.ok(dir(lookup("new"), how{access: 1, owner: "fh", claim: &nfsv4.OpenClaim4_CLAIM_FH{}}.open(""), read(current, 0, 1), closeOp(current))...)
	if o := opened(res[3]); o.Stateid.Seqid != 1 {
		t.Errorf("CLAIM_FH: %+v", o)
	}
	c.want(nfsv4.NFS4ERR_NOTSUPP, dir(lookup("new"), how{access: 1, claim: &nfsv4.OpenClaim4_CLAIM_DELEG_PREV_FH{}}.open(""))...)
	// What is said of delegations when they are wanted.
	for want, why := range map[uint32]nfsv4.WhyNoDelegation4{0x100: 2, 0x200: 2, 0x300: 2, 0x400: 0, 0x500: 7} {
		res := c.ok(dir(how{access: 1 | want, owner: "w"}.open("new"), closeOp(current))...)
		d, is := opened(res[2]).Delegation.(*nfsv4.OpenDelegation4_OPEN_DELEGATE_NONE_EXT)
		if !is || d.OdWhynone.GetOndWhy() != why {
			t.Errorf("want %#x: %+v", want, opened(res[2]).Delegation)
		}
	}
}

func TestNames(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 0)
	dir := func(ops ...arg) []arg { return append([]arg{putroot(), lookup("data")}, ops...) }
	c.ok(dir(rw("f"), closeOp(current))...)
	c.ok(dir(mkdir("d"), rw("f"), closeOp(current), savefh(), putroot(), lookup("data"), link("hard"))...)
	c.ok(dir(symlink("s", "some/where"), readlink(), getattr(proto.AttrType))...)
	if l := c.ok(dir(lookup("s"), readlink())...)[3].(*nfsv4.NfsResop4_OP_READLINK).Opreadlink.(*nfsv4.Readlink4res_NFS4_OK).Resok4; string(l.Link) != "some/where" {
		t.Errorf("link %q", l.Link)
	}
	c.ok(dir(savefh(), lookup("d"), rename("hard", "moved"))...)
	c.want(nfsv4.NFS4ERR_NOTEMPTY, dir(remove("d"))...)
	c.ok(dir(lookup("d"), remove("f"), remove("moved"))...)
	c.ok(dir(remove("d"))...)
	fails := []struct {
		st  nfsv4.Nfsstat4
		ops []arg
	}{
		{nfsv4.NFS4ERR_NOENT, dir(remove("none"))},
		{nfsv4.NFS4ERR_NOENT, dir(lookup("none"))},
		{nfsv4.NFS4ERR_BADNAME, dir(lookup(".."))},
		{nfsv4.NFS4ERR_BADNAME, dir(lookup("a/b"))},
		{nfsv4.NFS4ERR_INVAL, dir(lookup(""))},
		{nfsv4.NFS4ERR_NOTDIR, dir(lookup("f"), lookup("x"))},
		{nfsv4.NFS4ERR_SYMLINK, dir(lookup("s"), lookup("x"))},
		{nfsv4.NFS4ERR_NOTDIR, dir(lookup("f"), lookupp())},
		{nfsv4.NFS4ERR_EXIST, dir(mkdir("f"))},
		{nfsv4.NFS4ERR_INVAL, dir(symlink("e", ""))},
		{nfsv4.NFS4ERR_WRONG_TYPE, dir(lookup("f"), readlink())},
		{nfsv4.NFS4ERR_ISDIR, dir(readlink())},
		{nfsv4.NFS4ERR_ISDIR, dir(read(anonymous, 0, 1))},
		{nfsv4.NFS4ERR_SYMLINK, dir(lookup("s"), read(anonymous, 0, 1))},
		{nfsv4.NFS4ERR_ISDIR, dir(savefh(), link("loop"))},
		{nfsv4.NFS4ERR_NOTDIR, dir(lookup("f"), savefh(), putroot(), lookup("data"), rename("a", "b"))},
		{nfsv4.NFS4ERR_NOFILEHANDLE, []arg{putroot(), lookup("data"), rename("a", "b")}},
		{nfsv4.NFS4ERR_NOFILEHANDLE, []arg{getfh()}},
		{nfsv4.NFS4ERR_NOFILEHANDLE, []arg{putroot(), restore()}},
		{nfsv4.NFS4ERR_BADHANDLE, []arg{putfh([]byte{1, 2, 3})}},
		{nfsv4.NFS4ERR_STALE, []arg{putfh([]byte{9, 9, 9, 9, 1})}},
		{nfsv4.NFS4ERR_BADTYPE, dir(&nfsv4.NfsArgop4_OP_CREATE{Opcreate: nfsv4.Create4args{Objtype: &nfsv4.Createtype4_default{Type: 1}, Objname: "q"}})},
	}
	for _, f := range fails {
		c.want(f.st, f.ops...)
	}
}

func TestReadDir(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 0)
	want := map[string]bool{}
	for i := range 100 {
		name := fmt.Sprintf("file-%03d", i)
		want[name] = true
		c.ok(putroot(), lookup("data"), rw(name), closeOp(current))
	}
	bits := []int{proto.AttrType, proto.AttrFileID, proto.AttrFileHandle, proto.AttrMountedOnFileID, proto.AttrOwner, proto.AttrRdAttrError}
	for _, maxcount := range []uint32{300, 1000, 1 << 20} {
		var cookie uint64
		got := map[string]bool{}
		for eof := false; !eof; {
			res := c.ok(putroot(), lookup("data"), readdir(cookie, maxcount, bits...))
			rd := res[2].(*nfsv4.NfsResop4_OP_READDIR).Opreaddir.(*nfsv4.Readdir4res_NFS4_OK)
			if n := rd.Resok4.GetEncodedSizeBytes(); n > int(maxcount) {
				t.Fatalf("maxcount %d: %d bytes", maxcount, n)
			}
			var list []*nfsv4.Entry4
			list, eof = entries(res[2])
			for _, e := range list {
				if got[e.Name] || e.Cookie <= 2 {
					t.Fatalf("entry %q again, or cookie %d", e.Name, e.Cookie)
				}
				got[e.Name], cookie = true, e.Cookie
			}
		}
		if len(got) != len(want) {
			t.Errorf("maxcount %d: %d names", maxcount, len(got))
		}
	}
	for cookie, st := range map[uint64]nfsv4.Nfsstat4{1: nfsv4.NFS4ERR_BAD_COOKIE, 2: nfsv4.NFS4ERR_BAD_COOKIE} {
		c.want(st, putroot(), lookup("data"), readdir(cookie, 1000))
	}
	for _, n := range []uint32{0, 15, 20} {
		c.want(nfsv4.NFS4ERR_TOOSMALL, putroot(), lookup("data"), readdir(0, n))
	}
	c.want(nfsv4.NFS4ERR_NOTDIR, putroot(), lookup("data"), lookup("file-001"), readdir(0, 1000))
	c.want(nfsv4.NFS4ERR_INVAL, putroot(), lookup("data"), readdir(0, 1000, proto.AttrTimeAccessSet))
	// What the transport can take back bounds it too.
	c.inline = 600
	list, eof := entries(c.ok(putroot(), lookup("data"), readdir(0, 1<<20, proto.AttrType))[2])
	if len(list) == 0 || eof {
		t.Errorf("%d entries, eof %v", len(list), eof)
	}
}
