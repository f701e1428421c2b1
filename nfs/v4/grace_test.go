package v4_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	records "fileserver/internal/state"
)

var done = &nfsv4.NfsArgop4_OP_RECLAIM_COMPLETE{}

// stored gives the rig a store, which restart opens again.
func stored(t *testing.T) (func(*rig), func(*rig)) {
	path := filepath.Join(t.TempDir(), "state.db")
	open := func(r *rig) {
		s, err := records.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r.cfg.Store = s
		t.Cleanup(func() { s.Close() })
	}
	restart := func(r *rig) {
		if err := r.cfg.Store.Close(); err != nil {
			t.Fatal(err)
		}
		old := r.server
		r.cfg.Store = nil
		open(r)
		r.start()
		// What the former process had open went with it: here its leases end, without its records.
		r.now = r.now.Add(1000 * time.Hour)
		old.Tick()
		r.now = r.now.Add(-1000 * time.Hour)
	}
	return open, restart
}

// reclaim is an OPEN with CLAIM_PREVIOUS of the current filehandle.
func reclaim(access, deny uint32) arg {
	return how{access: access, deny: deny, owner: "o", claim: &nfsv4.OpenClaim4_CLAIM_PREVIOUS{}}.open("")
}

func TestGrace(t *testing.T) {
	open, restart := stored(t)
	r := newRig(t, open)
	a, b, idle := r.client("a", 1), r.client("b", 2), r.caller("idle", 3)
	idle.connect()
	sa, fh := a.open("o", 3, 2)
	a.ok(putfh(fh), lockNew(sa, "l", nfsv4.WRITE_LT, 0, 10, false))
	b.ok(putroot(), lookup("data"), how{access: 1, owner: "o", create: &nfsv4.Createhow4_UNCHECKED4{Createattrs: mode(0o666)}}.open("g"))
	first := r.server

	restart(r)
	if !r.server.Clients().Grace().Active() || r.server == first {
		t.Fatal("no grace after a crash with state")
	}
	for _, c := range []*client{a, b, idle} {
		if res := c.compound(c.sequence()); res.Status != nfsv4.NFS4ERR_BADSESSION {
			t.Fatalf("session of the former run: %v", res.Status)
		}
		if _, st := c.create(c.id, 2, channel); st != nfsv4.NFS4ERR_STALE_CLIENTID {
			t.Fatalf("client ID of the former run: %v", st)
		}
		c.connect()
	}
	// Nothing new for anybody, nothing old for those who had nothing.
	idle.want(nfsv4.NFS4ERR_GRACE, putroot(), lookup("data"), rw("new"))
	idle.want(nfsv4.NFS4ERR_NO_GRACE, putfh(fh), reclaim(3, 2))
	idle.want(nfsv4.NFS4ERR_GRACE, putfh(fh), write(anonymous, 0, "x"))
	idle.want(nfsv4.NFS4ERR_GRACE, putfh(fh), lockT("l", nfsv4.READ_LT, 0, 1))
	idle.ok(done)
	a.want(nfsv4.NFS4ERR_BAD_STATEID, putfh(fh), write(sa, 0, "x"))
	sa = opened(a.ok(putfh(fh), reclaim(3, 2))[1]).Stateid
	a.want(nfsv4.NFS4ERR_GRACE, putfh(fh), lockNew(sa, "l", nfsv4.WRITE_LT, 0, 10, false))
	a.ok(putfh(fh), lockNew(sa, "l", nfsv4.WRITE_LT, 0, 10, true))
	a.ok(putfh(fh), write(sa, 0, "x"))
	b.want(nfsv4.NFS4ERR_RECLAIM_CONFLICT, putfh(fh), reclaim(2, 0))
	a.ok(done)
	a.want(nfsv4.NFS4ERR_NO_GRACE, putfh(fh), reclaim(3, 2))
	a.want(nfsv4.NFS4ERR_GRACE, putroot(), lookup("data"), rw("new"))
	// The last one ends it early.
	b.ok(done)
	if r.server.Clients().Grace().Active() {
		t.Fatal("grace goes on when all are done")
	}
	b.ok(putroot(), lookup("data"), rw("new"))
	b.want(nfsv4.NFS4ERR_NO_GRACE, putfh(fh), reclaim(1, 0))
	b.want(nfsv4.NFS4ERR_SHARE_DENIED, putroot(), lookup("data"), rw("f"))
}

func TestGraceIsForTheAbsent(t *testing.T) {
	open, restart := stored(t)
	r := newRig(t, open)
	a, b := r.client("a", 1), r.client("b", 2)
	_, fh := a.open("o", 3, 2)
	b.ok(putroot(), lookup("data"), rw("g"))
	restart(r)
	b.connect()
	b.ok(putroot(), lookup("data"), lookup("g"), reclaim(3, 0))
	b.ok(done)
	b.want(nfsv4.NFS4ERR_GRACE, putroot(), lookup("data"), rw("f"))
	// a stays away; its time runs out, and what it had is given to others.
	r.now = r.now.Add(89 * time.Second)
	r.server.Tick()
	b.want(nfsv4.NFS4ERR_GRACE, putroot(), lookup("data"), rw("f"))
	r.now = r.now.Add(time.Second)
	r.server.Tick()
	b.ok(putroot(), lookup("data"), rw("f"))
	// RFC 8881 8.4.3: another restart does not give a a second chance.
	restart(r)
	if !r.server.Clients().Grace().Active() {
		t.Fatal("no grace for b")
	}
	a.connect()
	a.want(nfsv4.NFS4ERR_NO_GRACE, putfh(fh), reclaim(3, 2))
}

func TestNoGrace(t *testing.T) {
	open, restart := stored(t)
	r := newRig(t, open)
	if r.server.Clients().Grace().Active() {
		t.Fatal("grace at the first start")
	}
	a, idle := r.caller("a", 1), r.caller("idle", 2)
	idle.connect()
	idle.ok(putroot(), lookup("data"))
	restart(r)
	if r.server.Clients().Grace().Active() {
		t.Fatal("grace though nobody could have state")
	}
	// A client that leaves in order is not waited for.
	a.connect()
	a.want(nfsv4.NFS4ERR_GRACE, putroot(), lookup("data"), rw("f")) // RECLAIM_COMPLETE is missing
	a.ok(done)
	res := a.ok(putroot(), lookup("data"), rw("f"), closeOp(current))
	if len(res) != 4 {
		t.Fatal(res)
	}
	a.ok(&nfsv4.NfsArgop4_OP_DESTROY_SESSION{OpdestroySession: nfsv4.DestroySession4args{DsaSessionid: a.session}})
	if res := a.compound(&nfsv4.NfsArgop4_OP_DESTROY_CLIENTID{OpdestroyClientid: nfsv4.DestroyClientid4args{DcaClientid: a.id}}); res.Status != nfsv4.NFS4_OK {
		t.Fatal(res.Status)
	}
	restart(r)
	if r.server.Clients().Grace().Active() {
		t.Fatal("grace for a client that has left")
	}
}
