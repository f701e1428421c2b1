package v4_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/vfs/lock"
)

const toEnd = 1<<64 - 1

// open opens /data/f for reading and writing as the owner and returns the stateid and filehandle.
func (c *client) open(owner string, access, deny uint32) (sid, []byte) {
	c.t.Helper()
	res := c.ok(putroot(), lookup("data"), how{access: access, deny: deny, owner: owner, create: &nfsv4.Createhow4_UNCHECKED4{Createattrs: mode(0o666)}}.open("f"), getfh())
	return opened(res[2]).Stateid, handle(res[3])
}

func TestShares(t *testing.T) {
	r := newRig(t)
	a, b := r.client("a", 1), r.client("b", 2)
	sa, fh := a.open("o", 1, 0)
	sb, _ := b.open("o", 3, 0)
	open := func(access, deny uint32) arg { return how{access: access, deny: deny, owner: "o"}.open("f") }
	for _, deny := range []uint32{1, 2, 3} {
		a.want(nfsv4.NFS4ERR_SHARE_DENIED, putroot(), lookup("data"), open(1, deny))
	}
	// The failed upgrades changed nothing; this one advances the stateid.
	a.want(nfsv4.NFS4ERR_OPENMODE, putfh(fh), write(sa, 0, "x"))
	up := opened(a.ok(putroot(), lookup("data"), open(2, 0))[2]).Stateid
	if up.Other != sa.Other || up.Seqid != 2 {
		t.Fatalf("upgraded %v to %v", sa, up)
	}
	a.want(nfsv4.NFS4ERR_OLD_STATEID, putfh(fh), write(sa, 0, "x"))
	a.ok(putfh(fh), write(up, 0, "x"))
	a.ok(putfh(fh), read(up, 0, 1))
	bad := up
	bad.Seqid = 9
	a.want(nfsv4.NFS4ERR_BAD_STATEID, putfh(fh), write(bad, 0, "x"))
	b.want(nfsv4.NFS4ERR_BAD_STATEID, putfh(fh), write(up, 0, "x")) // another's
	a.want(nfsv4.NFS4ERR_INVAL, putfh(fh), downgrade(up, 3, 1))
	a.ok(putfh(fh), downgrade(up, 3, 0)) // the union of what was opened is what there is
	a.ok(putfh(fh), downgrade(sid{Other: up.Other}, 1, 0))
	a.want(nfsv4.NFS4ERR_OPENMODE, putfh(fh), write(sid{Other: up.Other}, 0, "x"))
	b.ok(putfh(fh), closeOp(sb))
	b.want(nfsv4.NFS4ERR_BAD_STATEID, putfh(fh), closeOp(sb))
	// Now nobody writes, and it can be denied: to opens, and to I/O without one.
	deny := opened(b.ok(putroot(), lookup("data"), how{access: 1, deny: 2, owner: "o"}.open("f"))[2]).Stateid
	a.want(nfsv4.NFS4ERR_SHARE_DENIED, putroot(), lookup("data"), open(2, 0))
	a.want(nfsv4.NFS4ERR_LOCKED, putfh(fh), write(anonymous, 0, "x"))
	a.want(nfsv4.NFS4ERR_LOCKED, putfh(fh), setattr(anonymous, size(0)))
	a.ok(putfh(fh), read(anonymous, 0, 1))
	// The same owner does not deny itself.
	b.ok(putroot(), lookup("data"), open(2, 0))
	b.ok(putfh(fh), closeOp(sid{Other: deny.Other}))
	a.ok(putfh(fh), write(anonymous, 0, "x"))
}

func TestLocks(t *testing.T) {
	r := newRig(t)
	a, b := r.client("a", 1), r.client("b", 2)
	sa, fh := a.open("o", 3, 0)
	sb, _ := b.open("o", 3, 0)
	la := locked(a.ok(putfh(fh), lockNew(sa, "lo", nfsv4.WRITE_LT, 10, 10, false))[1])
	if la.Seqid != 1 || la.Other == sa.Other {
		t.Errorf("lock stateid %v", la)
	}
	for _, tt := range []struct {
		off, n uint64
		free   bool
	}{{0, 10, true}, {0, 11, false}, {19, 1, false}, {20, toEnd, true}, {0, toEnd, false}} {
		ops := []arg{putfh(fh), lockT("lo", nfsv4.READ_LT, tt.off, tt.n)}
		if tt.free {
			b.ok(ops...)
			continue
		}
		d := denied(b.want(nfsv4.NFS4ERR_DENIED, ops...)[1])
		if d.Offset != 10 || d.Length != 10 || d.Locktype != nfsv4.WRITE_LT || d.Owner.Clientid != a.id || string(d.Owner.Owner) != "lo" {
			t.Errorf("denied: %+v", d)
		}
	}
	a.ok(putfh(fh), lockT("lo", nfsv4.WRITE_LT, 0, toEnd)) // one's own is not in the way
	denied(b.want(nfsv4.NFS4ERR_DENIED, putfh(fh), lockNew(sb, "lo", nfsv4.READW_LT, 15, 1, false))[1])
	lb := locked(b.ok(putfh(fh), lockNew(sb, "lo", nfsv4.READ_LT, 20, toEnd, false))[1])
	for _, bad := range [][2]uint64{{0, 0}, {10, toEnd - 1}} {
		a.want(nfsv4.NFS4ERR_INVAL, putfh(fh), lockMore(la, nfsv4.READ_LT, bad[0], bad[1]))
	}
	la2 := locked(a.ok(putfh(fh), lockMore(la, nfsv4.READ_LT, 0, 5))[1])
	a.want(nfsv4.NFS4ERR_OLD_STATEID, putfh(fh), lockMore(la, nfsv4.READ_LT, 0, 5))
	a.want(nfsv4.NFS4ERR_BAD_STATEID, putfh(fh), lockMore(sa, nfsv4.READ_LT, 0, 5)) // an open's
	a.ok(putfh(fh), read(la2, 0, 1))
	a.want(nfsv4.NFS4ERR_LOCKS_HELD, freeStateID(la2))
	a.want(nfsv4.NFS4ERR_LOCKS_HELD, freeStateID(sa))
	a.ok(putfh(fh), lockU(la2, 0, toEnd))
	a.ok(freeStateID(sid{Other: la2.Other}))
	a.want(nfsv4.NFS4ERR_BAD_STATEID, freeStateID(la2))
	res := a.ok(testStateIDs(sa, la2, sid{Other: sa.Other}, lb, anonymous))[0].(*nfsv4.NfsResop4_OP_TEST_STATEID).OptestStateid.(*nfsv4.TestStateid4res_NFS4_OK)
	if got := fmt.Sprint(res.TsrResok4.TsrStatusCodes); got != "[0 10025 0 10025 10025]" {
		t.Errorf("TEST_STATEID: %v", got)
	}
	// Without write access there is no write lock; CLOSE unlocks.
	ro, _ := a.open("ro", 1, 0)
	a.want(nfsv4.NFS4ERR_OPENMODE, putfh(fh), lockNew(ro, "lo2", nfsv4.WRITE_LT, 0, 1, false))
	a.ok(putfh(fh), lockNew(ro, "lo2", nfsv4.READ_LT, 0, 1, false))
	b.want(nfsv4.NFS4ERR_DENIED, putfh(fh), lockT("x", nfsv4.WRITE_LT, 0, 1))
	a.ok(putfh(fh), closeOp(ro))
	b.ok(putfh(fh), lockT("x", nfsv4.WRITE_LT, 0, 1))
}

func TestCurrentStateID(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1)
	c.want(nfsv4.NFS4ERR_BAD_STATEID, putroot(), lookup("data"), rw("f"), closeOp(current), read(current, 0, 1))
	c.ok(putroot(), lookup("data"), rw("f"), lockNew(current, "l", nfsv4.WRITE_LT, 0, 1, false), write(current, 0, "x"), lockU(current, 0, 1), freeStateID(current))
	// Saved and restored with its filehandle; forgotten with a new one.
	c.ok(putroot(), lookup("data"), rw("f"), savefh(), putroot(), restore(), read(current, 0, 1))
	c.want(nfsv4.NFS4ERR_BAD_STATEID, putroot(), lookup("data"), rw("f"), getfh(), putroot(), lookup("data"), lookup("f"), read(current, 0, 1))
	c.want(nfsv4.NFS4ERR_BAD_STATEID, putroot(), lookup("data"), lookup("f"), read(sid{Seqid: ^uint32(0)}, 0, 1))
}

func TestCourtesy(t *testing.T) {
	r := newRig(t)
	a := r.client("a", 1)
	sa, fh := a.open("o", 3, 2)
	a.ok(putfh(fh), lockNew(sa, "l", nfsv4.WRITE_LT, 0, 10, false))
	// Long expired, but nobody minds: all is as it was.
	r.now = r.now.Add(time.Hour)
	r.server.Tick()
	a.ok(putfh(fh), write(sa, 0, "x"))
	// Somebody conflicts with a living client, then with an expired one.
	b := r.client("b", 2)
	b.want(nfsv4.NFS4ERR_SHARE_DENIED, putroot(), lookup("data"), rw("f"))
	b.want(nfsv4.NFS4ERR_LOCKED, putfh(fh), write(anonymous, 0, "y"))
	b.want(nfsv4.NFS4ERR_DENIED, putfh(fh), lockT("l", nfsv4.READ_LT, 0, 1))
	r.now = r.now.Add(time.Hour)
	b.connect()
	b.ok(putfh(fh), lockT("l", nfsv4.READ_LT, 0, 1))
	b.ok(putroot(), lookup("data"), rw("f"))
	if res := a.compound(a.sequence()); res.Status != nfsv4.NFS4ERR_BADSESSION {
		t.Errorf("session of an expired client: %v", res.Status)
	}
	a.connect()
	a.ok(&nfsv4.NfsArgop4_OP_RECLAIM_COMPLETE{})
	a.want(nfsv4.NFS4ERR_BAD_STATEID, putfh(fh), write(sa, 0, "x"))
}

// A lock-owner at its limit of locks gets NFS4ERR_DELAY until it has unlocked some.
func TestLockLimits(t *testing.T) {
	r := newRig(t)
	r.cfg.Locks.SetLimits(lock.Limits{PerOwner: 3})
	c := r.client("a", 1)
	s, fh := c.open("o", 3, 0)
	l := locked(c.ok(putfh(fh), lockNew(s, "lo", nfsv4.WRITE_LT, 0, 10, false))[1])
	for off := uint64(20); off < 60; off += 20 {
		l = locked(c.ok(putfh(fh), lockMore(l, nfsv4.WRITE_LT, off, 10))[1])
	}
	c.want(nfsv4.NFS4ERR_DELAY, putfh(fh), lockMore(l, nfsv4.WRITE_LT, 80, 10))
	for off := uint64(1); ; off += 2 { // to unlock what is within a lock makes two of it
		if off > 10 {
			t.Fatal("unlocking makes locks without end")
		}
		if n := r.cfg.Locks.Counts().Locks; n == 6 {
			c.want(nfsv4.NFS4ERR_DELAY, putfh(fh), lockU(sid{Other: l.Other}, off, 1))
			break
		}
		c.ok(putfh(fh), lockU(sid{Other: l.Other}, off, 1))
	}
	c.ok(putfh(fh), lockU(sid{Other: l.Other}, 0, toEnd))
	c.ok(putfh(fh), lockMore(sid{Other: l.Other}, nfsv4.WRITE_LT, 80, 10))
	c.ok(putfh(fh), closeOp(s))
}
