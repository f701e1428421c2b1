package v4_test

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/nfs"
	"fileserver/nfs/rpc"
	"fileserver/nfs/v4/proto"
)

func TestPseudoFileSystem(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 0)
	res := c.ok(putroot(), getfh(), readdir(0, 4096, proto.AttrType, proto.AttrFSID, proto.AttrFileID, proto.AttrMountedOnFileID))
	rootFH := handle(res[1])
	list, eof := entries(res[2])
	if len(list) != 2 || list[0].Name != "data" || list[1].Name != "deep" || !eof {
		t.Fatalf("root: %v", list)
	}
	// /data is another file system, mounted on a node of this one.
	val := func(ops ...arg) []byte { t.Helper(); r := c.ok(ops...); return attrs(r[len(r)-1]).AttrVals }
	if !bytes.Equal(list[0].Attrs.AttrVals, val(putroot(), lookup("data"), getattr(proto.AttrType, proto.AttrFSID, proto.AttrFileID, proto.AttrMountedOnFileID))) {
		t.Error("READDIR and GETATTR differ about /data")
	}
	fsid := func(path ...string) string {
		ops := []arg{putroot()}
		for _, p := range path {
			ops = append(ops, lookup(p))
		}
		return string(val(append(ops, getattr(proto.AttrFSID))...))
	}
	if fsid() != fsid("deep") || fsid("data") == fsid() || fsid("deep", "other") == fsid("data") {
		t.Error("file systems are not told apart")
	}
	fid := val(putroot(), lookup("data"), getattr(proto.AttrFileID))
	if bytes.Equal(fid, val(putroot(), lookup("data"), getattr(proto.AttrMountedOnFileID))) {
		t.Error("the export's root is mounted on itself")
	}
	// Up again.
	if up := handle(c.ok(putroot(), lookup("deep"), lookup("other"), lookupp(), lookupp(), getfh())[5]); !bytes.Equal(up, rootFH) {
		t.Errorf("/deep/other/../.. is %x", up)
	}
	c.want(nfsv4.NFS4ERR_NOENT, putroot(), lookupp())
	c.want(nfsv4.NFS4ERR_NOENT, putroot(), lookup("nothing"))
	// Handles last.
	deep := handle(c.ok(putroot(), lookup("deep"), getfh())[2])
	r.exports.Replace(r.exports.List()[:2:2])
	r.server.Tick()
	c.ok(putfh(deep), lookup("other"))
	// Nothing changes here.
	for _, op := range []arg{mkdir("x"), remove("data"), rw("x"), setattr(anonymous, mode(0o777))} {
		c.want(nfsv4.NFS4ERR_ROFS, putroot(), op)
	}
	a := c.ok(putroot(), access(0x3f))[1].(*nfsv4.NfsResop4_OP_ACCESS).Opaccess.(*nfsv4.Access4res_NFS4_OK)
	if a.Resok4.Access != 3 {
		t.Errorf("ACCESS of the root: %#x", a.Resok4.Access)
	}
	c.want(nfsv4.NFS4ERR_XDEV, putroot(), lookup("data"), rw("f"), closeOp(current), savefh(), putroot(), lookup("deep"), lookup("other"), link("f"))
}

func TestExportsOfOthers(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	res := c.ok(putroot(), lookup("data"), getfh(), rw("f"), getfh(), closeOp(current))
	root, fh := handle(res[2]), handle(res[4])
	set := func(change func(*nfs.Export)) {
		var list []*nfs.Export
		for _, e := range r.exports.List() {
			e := *e
			if e.ID == 1 {
				change(&e)
			}
			list = append(list, &e)
		}
		r.exports.Replace(list)
	}
	set(func(e *nfs.Export) { e.ReadOnly = true })
	c.want(nfsv4.NFS4ERR_ROFS, putfh(root), mkdir("d"))
	c.want(nfsv4.NFS4ERR_ROFS, putfh(fh), write(anonymous, 0, "x"))
	c.want(nfsv4.NFS4ERR_ROFS, putfh(root), rw("f"))
	c.ok(putfh(root), how{access: 1, owner: "o"}.open("f"), closeOp(current))
	set(func(e *nfs.Export) {
		e.ReadOnly, e.Clients = false, []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
	})
	c.want(nfsv4.NFS4ERR_NOENT, putroot(), lookup("data"))
	c.want(nfsv4.NFS4ERR_STALE, putfh(fh))
	if list, _ := entries(c.ok(putroot(), readdir(0, 4096))[1]); len(list) != 1 || list[0].Name != "deep" {
		t.Errorf("root without /data: %v", list)
	}
	// The right client with the wrong flavor: it is told which is right, and nothing else.
	set(func(e *nfs.Export) { e.Clients = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")} })
	c.flavor = rpc.AuthNone
	c.want(nfsv4.NFS4ERR_WRONGSEC, putroot(), lookup("data"))
	if _, st := c.try(putfh(fh), getattr(proto.AttrSize)); st != nfsv4.NFS4ERR_WRONGSEC {
		t.Errorf("PUTFH with the wrong flavor: %v", st)
	}
	noName := &nfsv4.NfsArgop4_OP_SECINFO_NO_NAME{}
	for _, ops := range [][]arg{
		{putroot(), &nfsv4.NfsArgop4_OP_SECINFO{Opsecinfo: nfsv4.Secinfo4args{Name: "data"}}},
		{putfh(root), noName},
	} {
		res := c.ok(ops...)
		var list []nfsv4.Secinfo4
		switch s := res[1].(type) {
		case *nfsv4.NfsResop4_OP_SECINFO:
			list = s.Opsecinfo.(*nfsv4.Secinfo4res_NFS4_OK).Resok4
		case *nfsv4.NfsResop4_OP_SECINFO_NO_NAME:
			list = s.OpsecinfoNoName.(*nfsv4.Secinfo4res_NFS4_OK).Resok4
		}
		if len(list) != 1 || list[0].GetFlavor() != 1 {
			t.Errorf("%s: %v", show(ops), list)
		}
		c.want(nfsv4.NFS4ERR_NOFILEHANDLE, append(ops, getfh())...) // it is consumed
	}
}

func TestSquash(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 0)
	owner := func(dir ...arg) string {
		t.Helper()
		res := c.ok(append(dir, rw("f"), getattr(proto.AttrOwner), closeOp(current))...)
		return string(bytes.Trim(attrs(res[len(dir)+1]).AttrVals, "\x00\x01\x05"))
	}
	if o := owner(putroot(), lookup("data")); o != "0" {
		t.Errorf("not squashed: %q", o)
	}
	if o := owner(putroot(), lookup("deep"), lookup("other")); o != "65534" {
		t.Errorf("squashed: %q", o)
	}
	// One compound in both, each by its own rules.
	res := c.ok(putroot(), lookup("deep"), lookup("other"), mkdir("d"), putroot(), lookup("data"), mkdir("d"), getattr(proto.AttrOwner))
	if v := attrs(res[7]).AttrVals; !bytes.Equal(v, []byte{0, 0, 0, 1, '0', 0, 0, 0}) {
		t.Errorf("owner in /data: %q", v)
	}
}
