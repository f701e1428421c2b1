package v4_test

import (
	"net/netip"
	"testing"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/nfs"
	"fileserver/nfs/rpc"
)

// change replaces every export by what f makes of a copy, as a reload does.
func (r *rig) change(f func(*nfs.Export)) {
	var list []*nfs.Export
	for _, e := range r.exports.List() {
		e := *e
		f(&e)
		list = append(list, &e)
	}
	r.exports.Replace(list)
}

// TestStranger: a client that no export admits gets neither client ID nor session, and cannot end those of others.
func TestStranger(t *testing.T) {
	r := newRig(t)
	r.change(func(e *nfs.Export) { e.Clients = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} })
	c := r.client("a", 1000)
	s := r.caller("a", 1000) // who knows the client's owner, and its user
	s.conn = &rpc.Conn{Transport: "tcp", RemoteAddr: netip.MustParseAddrPort("198.51.100.1:999")}
	const refused = nfsv4.NFS4ERR_WRONGSEC
	for _, verifier := range []byte{1, 2} {
		if _, st := s.exchange(verifier, 0x101); st != refused {
			t.Errorf("EXCHANGE_ID: %v", st)
		}
	}
	if _, st := s.create(c.id, 2, channel); st != refused {
		t.Errorf("CREATE_SESSION: %v", st)
	}
	for _, op := range []arg{
		&nfsv4.NfsArgop4_OP_DESTROY_CLIENTID{OpdestroyClientid: nfsv4.DestroyClientid4args{DcaClientid: c.id}},
		&nfsv4.NfsArgop4_OP_DESTROY_SESSION{OpdestroySession: nfsv4.DestroySession4args{DsaSessionid: c.session}},
		&nfsv4.NfsArgop4_OP_BIND_CONN_TO_SESSION{OpbindConnToSession: nfsv4.BindConnToSession4args{BctsaSessid: c.session, BctsaDir: 1}},
	} {
		if res := s.compound(op); res.Status != refused {
			t.Errorf("%s: %v", show([]arg{op}), res.Status)
		}
	}
	c.ok(putroot(), getfh())
	if n := r.server.Clients().Stats().Clients; n != 1 {
		t.Errorf("%d client IDs", n)
	}
}

// TestDestroySessionElsewhere: DESTROY_SESSION comes on a connection of the session.
func TestDestroySessionElsewhere(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	other := r.caller("b", 1000)
	other.conn = &rpc.Conn{ID: 77, Transport: "tcp", RemoteAddr: c.conn.RemoteAddr}
	destroy := &nfsv4.NfsArgop4_OP_DESTROY_SESSION{OpdestroySession: nfsv4.DestroySession4args{DsaSessionid: c.session}}
	if st := other.compound(destroy).Status; st != nfsv4.NFS4ERR_CONN_NOT_BOUND_TO_SESSION {
		t.Errorf("on a connection of its own: %v", st)
	}
	c.ok(putroot())
	bind := &nfsv4.NfsArgop4_OP_BIND_CONN_TO_SESSION{OpbindConnToSession: nfsv4.BindConnToSession4args{BctsaSessid: c.session, BctsaDir: 1}}
	if st := other.compound(bind).Status; st != nfsv4.NFS4_OK {
		t.Errorf("BIND_CONN_TO_SESSION: %v", st)
	}
	if st := other.compound(destroy).Status; st != nfsv4.NFS4_OK {
		t.Errorf("on a connection that was bound: %v", st)
	}
}

// TestStateIDOfAnother: a stateid does not give its file to another user of the client, nor
// to one whom a reload of the exports makes another.
func TestStateIDOfAnother(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	s, fh := c.open("o", 3, 0)
	c.ok(putfh(fh), write(s, 0, "secret"), setattr(s, mode(0o600)))
	io := func(readable, writable nfsv4.Nfsstat4) {
		t.Helper()
		for want, ops := range map[*nfsv4.Nfsstat4][]arg{&readable: {putfh(fh), read(s, 0, 9)}, &writable: {putfh(fh), write(s, 0, "x")}} {
			if _, st := c.try(ops...); st != *want {
				t.Errorf("%s: %v, want %v", show(ops), st, *want)
			}
		}
	}
	const ok, denied = nfsv4.NFS4_OK, nfsv4.NFS4ERR_ACCESS
	io(ok, ok)
	c.uid = 2000
	io(denied, denied)
	c.uid = 1000
	c.ok(putfh(fh), setattr(s, mode(0o644)))
	c.uid = 2000
	io(ok, denied)
	c.uid = 1000
	r.change(func(e *nfs.Export) { e.Squash = nfs.SquashAll })
	io(ok, denied)
	r.change(func(e *nfs.Export) { e.Squash = nfs.SquashNone })
	io(ok, ok)
}

// TestExecuteOnly: a program of mode 0111 can be opened and read to be run, and for nothing else.
func TestExecuteOnly(t *testing.T) {
	r := newRig(t)
	owner := r.client("owner", 1000)
	s, fh := owner.open("o", 3, 0)
	owner.ok(putfh(fh), write(s, 0, "program"), setattr(s, mode(0o111)), closeOp(s))
	c := r.client("user", 2000)
	res := c.ok(putfh(fh), how{access: 1, owner: "o", claim: &nfsv4.OpenClaim4_CLAIM_FH{}}.open(""))
	if d, _ := data(c.ok(putfh(fh), read(opened(res[1]).Stateid, 0, 9))[1]); d != "program" {
		t.Errorf("by stateid: %q", d)
	}
	c.ok(putfh(fh), closeOp(opened(res[1]).Stateid))
	if d, _ := data(c.ok(putfh(fh), read(anonymous, 0, 9))[1]); d != "program" {
		t.Errorf("without: %q", d)
	}
	for _, access := range []uint32{2, 3} {
		c.want(nfsv4.NFS4ERR_ACCESS, putfh(fh), how{access: access, owner: "o", claim: &nfsv4.OpenClaim4_CLAIM_FH{}}.open(""))
	}
	owner.ok(putfh(fh), setattr(anonymous, mode(0o100)))
	c.want(nfsv4.NFS4ERR_ACCESS, putfh(fh), how{access: 1, owner: "o", claim: &nfsv4.OpenClaim4_CLAIM_FH{}}.open(""))
}

// TestPrivilegedPorts: a program of a client's user, which claims to be root, does not come to the client's state, nor to files.
func TestPrivilegedPorts(t *testing.T) {
	r := newRig(t)
	r.change(func(e *nfs.Export) { e.PrivilegedPorts = true })
	c := r.client("a", 0)
	_, fh := c.open("o", 3, 0)
	user := r.caller("a", 0)
	user.conn = &rpc.Conn{ID: 5, Transport: "tcp", RemoteAddr: netip.MustParseAddrPort("192.0.2.1:1024")}
	if _, st := user.exchange(2, 0x101); st != nfsv4.NFS4ERR_WRONGSEC {
		t.Errorf("EXCHANGE_ID: %v", st)
	}
	// Another export welcomes it, but not as the client's root.
	r.change(func(e *nfs.Export) { e.PrivilegedPorts = e.ID == 1 })
	if _, st := user.exchange(2, 0x101); st != nfsv4.NFS4ERR_CLID_INUSE {
		t.Errorf("EXCHANGE_ID of another's owner: %v", st)
	}
	user.owner = "user"
	user.connect()
	user.ok(&nfsv4.NfsArgop4_OP_RECLAIM_COMPLETE{})
	user.ok(putroot(), lookup("deep"), lookup("other"), getfh())
	user.want(nfsv4.NFS4ERR_PERM, putroot(), lookup("data"))
	user.want(nfsv4.NFS4ERR_PERM, putfh(fh))
	c.ok(putfh(fh), getfh())
}
