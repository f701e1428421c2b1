package v4_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/nfs/v4/proto"
)

func TestCompoundRules(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 0)
	for _, minor := range []uint32{0, 3, 99} {
		c.minor = minor
		if res := c.compound(putroot()); res.Status != nfsv4.NFS4ERR_MINOR_VERS_MISMATCH || len(res.Resarray) != 0 {
			t.Errorf("minor version %d: %v", minor, res)
		}
	}
	c.minor = 1
	if res := c.compound(); res.Status != nfsv4.NFS4_OK {
		t.Errorf("nothing: %v", res.Status)
	}
	for st, ops := range map[nfsv4.Nfsstat4][]arg{
		nfsv4.NFS4ERR_OP_NOT_IN_SESSION: {putroot(), getfh()},
		nfsv4.NFS4ERR_NOT_ONLY_OP:       {&nfsv4.NfsArgop4_OP_DESTROY_CLIENTID{}, putroot()},
		nfsv4.NFS4ERR_BADSESSION:        {&nfsv4.NfsArgop4_OP_SEQUENCE{}, putroot()},
		nfsv4.NFS4ERR_OP_ILLEGAL:        {&nfsv4.NfsArgop4_OP_ILLEGAL{}},
	} {
		if res := c.compound(ops...); res.Status != st || len(res.Resarray) != 1 {
			t.Errorf("%s: %v after %d, want %v", show(ops), res.Status, len(res.Resarray), st)
		}
	}
	c.want(nfsv4.NFS4ERR_SEQUENCE_POS, putroot(), c.resend())
	c.want(nfsv4.NFS4ERR_NOTSUPP, putroot(), &nfsv4.NfsArgop4_OP_OPENATTR{})
	c.want(nfsv4.NFS4ERR_NOTSUPP, &nfsv4.NfsArgop4_OP_RENEW{})
	// ALLOCATE is no operation of minor version 1; results of what came before stay.
	if res, st := c.try(putroot(), getfh(), &nfsv4.NfsArgop4_OP_ALLOCATE{}, getfh()); st != nfsv4.NFS4ERR_OP_ILLEGAL || len(res) != 3 {
		t.Errorf("ALLOCATE: %v after %d results", st, len(res))
	}
	// Nor is 76 one of any.
	c.minor = 2
	b := encode(t, 2, c.sequence(), putroot(), putroot())
	b[len(b)-1] = 76
	if res := decode(t, c.call(b)); res.Status != nfsv4.NFS4ERR_OP_ILLEGAL || len(res.Resarray) != 3 || res.Resarray[2].GetResop() != nfsv4.OP_ILLEGAL {
		t.Errorf("unknown operation: %+v", res)
	}
	for range 16 {
		if _, st := c.try(make([]arg, 0)...); st != nfsv4.NFS4_OK {
			t.Fatal(st)
		}
	}
	ops := make([]arg, 16)
	for i := range ops {
		ops[i] = putroot()
	}
	if res := c.compound(append([]arg{c.sequence()}, ops...)...); res.Status != nfsv4.NFS4ERR_TOO_MANY_OPS {
		t.Errorf("17 operations: %v", res.Status)
	}
	c.seq[0]--
	c.ok(ops[:15]...)
}

func TestSlots(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 0)
	// Kept: the same bytes again, without being executed again.
	c.cache = true
	req := encode(t, 2, c.sequence(), putroot(), lookup("data"), mkdir("d"), getfh())
	first := c.call(req)
	if st := decode(t, first).Status; st != nfsv4.NFS4_OK {
		t.Fatal(st)
	}
	if again := c.call(req); !bytes.Equal(first, again) {
		t.Errorf("replay\n%x, first\n%x", again, first)
	}
	// A failure is kept too.
	req = encode(t, 2, c.sequence(), putroot(), lookup("data"), mkdir("d"))
	first = c.call(req)
	c.ok(putroot(), lookup("data"), remove("d"))
	c.seq[0]--
	if res := decode(t, first); res.Status != nfsv4.NFS4ERR_EXIST {
		t.Fatal(res.Status)
	}
	c.seq[0]++
	// A READ with its data.
	c.ok(putroot(), lookup("data"), rw("f"), write(current, 0, "content"), closeOp(current))
	req = encode(t, 2, c.sequence(), putroot(), lookup("data"), lookup("f"), read(anonymous, 0, 100))
	first = c.call(req)
	if again := c.call(req); !bytes.Equal(first, again) || !bytes.Contains(again, []byte("content")) {
		t.Errorf("replay of READ\n%x, first\n%x", again, first)
	}
	// Not kept.
	c.cache = false
	c.ok(putroot(), lookup("data"), mkdir("d2"))
	res := c.compound(c.resend(), putroot(), lookup("data"), mkdir("d2"))
	if res.Status != nfsv4.NFS4ERR_RETRY_UNCACHED_REP || len(res.Resarray) != 2 || res.Resarray[1].GetResop() != nfsv4.OP_PUTROOTFH {
		t.Errorf("uncached retry: %+v", res)
	}
	c.ok()
	if res := c.compound(c.resend()); res.Status != nfsv4.NFS4_OK || len(res.Resarray) != 1 {
		t.Errorf("retry of SEQUENCE alone: %+v", res)
	}
	// Not a retry.
	if res := c.compound(c.resend(), putroot()); res.Status != nfsv4.NFS4ERR_SEQ_FALSE_RETRY {
		t.Errorf("false retry: %v", res.Status)
	}
	bad := func(st nfsv4.Nfsstat4, change func(*nfsv4.Sequence4args)) {
		t.Helper()
		s := c.resend().(*nfsv4.NfsArgop4_OP_SEQUENCE)
		s.Opsequence.SaSequenceid++
		change(&s.Opsequence)
		if res := c.compound(s); res.Status != st || len(res.Resarray) != 1 {
			t.Errorf("%v, want %v", res.Status, st)
		}
	}
	bad(nfsv4.NFS4ERR_SEQ_MISORDERED, func(s *nfsv4.Sequence4args) { s.SaSequenceid++ })
	bad(nfsv4.NFS4ERR_SEQ_MISORDERED, func(s *nfsv4.Sequence4args) { s.SaSequenceid -= 2 })
	bad(nfsv4.NFS4ERR_BADSLOT, func(s *nfsv4.Sequence4args) { s.SaSlotid = 8 })
	bad(nfsv4.NFS4ERR_BAD_HIGH_SLOT, func(s *nfsv4.Sequence4args) { s.SaHighestSlotid = 8 })
	bad(nfsv4.NFS4ERR_BADSESSION, func(s *nfsv4.Sequence4args) { s.SaSessionid[0] ^= 1 })
	c.ok() // none of them used the slot
	c.slot = 7
	c.ok()
}

func TestSizes(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 0)
	c.ok(putroot(), lookup("data"), rw("f"), write(current, 0, string(make([]byte, 10000))), closeOp(current))
	e, _ := c.exchange(1, 0)
	small := channel
	small.CaMaxresponsesize, small.CaMaxresponsesizeCached, small.CaMaxrequestsize, small.CaMaxoperations = 2000, 600, 1200, 64
	s, st := c.create(e.EirClientid, e.EirSequenceid, small)
	if st != nfsv4.NFS4_OK || s.CsrForeChanAttrs.CaMaxresponsesizeCached != 600 {
		t.Fatal(st, s)
	}
	c.session, c.seq = s.CsrSessionid, [8]uint32{}
	get := getattr(proto.AttrSupportedAttrs, proto.AttrOwner, proto.AttrFileHandle, proto.AttrSpaceTotal)
	many := []arg{putroot(), lookup("data")}
	for range 13 {
		many = append(many, get)
	}
	if d, eof := data(c.ok(putroot(), lookup("data"), lookup("f"), read(anonymous, 0, 10000))[3]); len(d) < 1500 || len(d) > 2000 || eof {
		t.Errorf("READ within a small response: %d bytes", len(d))
	}
	c.cache = true
	if res, st := c.try(many...); st != nfsv4.NFS4ERR_REP_TOO_BIG_TO_CACHE || len(res) < 3 {
		t.Errorf("reply too big to cache: %v after %d", st, len(res))
	}
	// What changes something is refused before, not found too long afterwards.
	for many = many[:2]; ; many = append(many, getattr(proto.AttrOwner)) {
		res, st := c.try(append(many[:len(many):len(many)], mkdir("d"))...)
		if st == nfsv4.NFS4ERR_REP_TOO_BIG_TO_CACHE && len(res) == len(many)+1 {
			break
		}
		if st != nfsv4.NFS4_OK {
			t.Fatalf("%v after %d results", st, len(res))
		}
		c.cache = false
		c.ok(putroot(), lookup("data"), remove("d"))
		c.cache = true
	}
	c.cache = false
	c.want(nfsv4.NFS4ERR_NOENT, putroot(), lookup("data"), lookup("d"))
	if res := c.compound(c.sequence(), putroot(), lookup("data"), lookup("f"), write(anonymous, 0, string(make([]byte, 1200)))); res.Status != nfsv4.NFS4ERR_REQ_TOO_BIG {
		t.Errorf("request too big: %v", res.Status)
	}
	c.seq[0]--
	c.ok(&nfsv4.NfsArgop4_OP_DESTROY_SESSION{OpdestroySession: nfsv4.DestroySession4args{DsaSessionid: s.CsrSessionid}})
}

func TestExchangeIDAndSessions(t *testing.T) {
	r := newRig(t)
	c := r.caller("a", 5)
	e1, _ := c.exchange(1, 0)
	if e1.EirFlags != 0x00010000 || e1.EirSequenceid != 1 || len(e1.EirServerOwner.SoMajorId) == 0 {
		t.Errorf("EXCHANGE_ID: %+v", e1)
	}
	if _, st := c.create(e1.EirClientid, 2, channel); st != nfsv4.NFS4ERR_SEQ_MISORDERED {
		t.Errorf("CREATE_SESSION out of order: %v", st)
	}
	if _, st := c.create(99, 1, channel); st != nfsv4.NFS4ERR_STALE_CLIENTID {
		t.Errorf("CREATE_SESSION of nobody: %v", st)
	}
	s1, st := c.create(e1.EirClientid, 1, channel)
	if st != nfsv4.NFS4_OK || s1.CsrFlags != 0 || s1.CsrSequence != 1 {
		t.Fatalf("CREATE_SESSION: %v %+v", st, s1)
	}
	if b := s1.CsrBackChanAttrs; b.CaMaxrequestsize != back.CaMaxrequestsize || b.CaMaxresponsesize != back.CaMaxresponsesize ||
		b.CaMaxoperations != back.CaMaxoperations || b.CaMaxrequests != back.CaMaxrequests || s1.CsrForeChanAttrs.CaHeaderpadsize != 0 {
		t.Errorf("channels: %+v", s1)
	}
	if again, st := c.create(e1.EirClientid, 1, channel); st != nfsv4.NFS4_OK || again.CsrSessionid != s1.CsrSessionid {
		t.Errorf("CREATE_SESSION again: %v %x", st, again.CsrSessionid)
	}
	// The same client again, as with nconnect.
	e2, st := c.exchange(1, 0)
	if st != nfsv4.NFS4_OK || e2.EirClientid != e1.EirClientid || e2.EirFlags != 0x80010000 || e2.EirSequenceid != 2 {
		t.Errorf("EXCHANGE_ID again: %v %+v", st, e2)
	}
	// Another session, then the client restarts: its state goes with CREATE_SESSION, not before.
	c.id, c.session = e1.EirClientid, s1.CsrSessionid
	c.ok(&nfsv4.NfsArgop4_OP_RECLAIM_COMPLETE{})
	c.want(nfsv4.NFS4ERR_COMPLETE_ALREADY, &nfsv4.NfsArgop4_OP_RECLAIM_COMPLETE{})
	c.ok(putroot(), lookup("data"), rw("f"))
	e3, _ := c.exchange(2, 0)
	c.ok()
	if _, st := c.create(e3.EirClientid, e3.EirSequenceid, channel); st != nfsv4.NFS4_OK {
		t.Fatal(st)
	}
	if res := c.compound(c.sequence()); res.Status != nfsv4.NFS4ERR_BADSESSION {
		t.Errorf("session of before the restart: %v", res.Status)
	}
	// Somebody else under the same name.
	c.uid = 6
	if _, st := c.exchange(2, 0); st != nfsv4.NFS4ERR_CLID_INUSE {
		t.Errorf("collision: %v", st)
	}
	r.now = r.now.Add(time.Hour) // the lease has expired
	if e, st := c.exchange(2, 0); st != nfsv4.NFS4_OK || e.EirClientid == e3.EirClientid {
		t.Errorf("collision with an expired client: %v", st)
	}
	if _, st := c.exchange(1, 0x40000000); st != nfsv4.NFS4ERR_NOENT {
		t.Errorf("update of nothing: %v", st)
	}
	if _, st := c.exchange(1, 0x4); st != nfsv4.NFS4ERR_INVAL {
		t.Errorf("unknown flag: %v", st)
	}
}

func TestDestroy(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 0)
	destroy := &nfsv4.NfsArgop4_OP_DESTROY_SESSION{OpdestroySession: nfsv4.DestroySession4args{DsaSessionid: c.session}}
	gone := &nfsv4.NfsArgop4_OP_DESTROY_CLIENTID{OpdestroyClientid: nfsv4.DestroyClientid4args{DcaClientid: c.id}}
	if res := c.compound(gone); res.Status != nfsv4.NFS4ERR_CLIENTID_BUSY {
		t.Errorf("DESTROY_CLIENTID with a session: %v", res.Status)
	}
	if _, st := c.try(destroy, putroot()); st != nfsv4.NFS4ERR_NOT_ONLY_OP {
		t.Errorf("DESTROY_SESSION of its own, and more: %v", st)
	}
	c.ok(destroy)
	if res := c.compound(destroy); res.Status != nfsv4.NFS4ERR_BADSESSION {
		t.Errorf("DESTROY_SESSION again: %v", res.Status)
	}
	if res := c.compound(gone); res.Status != nfsv4.NFS4_OK {
		t.Errorf("DESTROY_CLIENTID: %v", res.Status)
	}
	if res := c.compound(gone); res.Status != nfsv4.NFS4ERR_STALE_CLIENTID {
		t.Errorf("DESTROY_CLIENTID again: %v", res.Status)
	}
	c.connect()
	bind := func(dir nfsv4.ChannelDirFromClient4) nfsv4.Nfsstat4 {
		return c.compound(&nfsv4.NfsArgop4_OP_BIND_CONN_TO_SESSION{OpbindConnToSession: nfsv4.BindConnToSession4args{BctsaSessid: c.session, BctsaDir: dir}}).Status
	}
	if st := bind(nfsv4.CDFC4_FORE_OR_BOTH); st != nfsv4.NFS4_OK {
		t.Errorf("BIND_CONN_TO_SESSION: %v", st)
	}
	if st := bind(nfsv4.CDFC4_BACK); st != nfsv4.NFS4ERR_INVAL {
		t.Errorf("BIND_CONN_TO_SESSION for callbacks: %v", st)
	}
}
