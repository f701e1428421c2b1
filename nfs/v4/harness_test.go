package v4_test

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/internal/slab"
	"fileserver/nfs"
	"fileserver/nfs/rpc"
	v4 "fileserver/nfs/v4"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/vfstest/mem"
)

var bg = context.Background()

// rig is a server with exports in memory, whose calls are encoded and whose replies are decoded by
// another implementation: every test is a test of the codec too.
type rig struct {
	t       testing.TB
	cfg     v4.Config
	exports *nfs.Exports
	data    *mem.FS // of /data
	other   *mem.FS // of /deep/other
	server  *v4.Server
	rpc     *rpc.Server
	pool    *slab.Pool
	now     time.Time
}

func newRig(t testing.TB, change ...func(*rig)) *rig {
	t.Helper()
	r := makeRig(t, change...)
	t.Cleanup(r.check)
	return r
}

// makeRig is newRig without the check for leaks at the end of the test.
func makeRig(t testing.TB, change ...func(*rig)) *rig {
	r := &rig{t: t, exports: &nfs.Exports{}, data: mem.New(mem.Options{}), other: mem.New(mem.Options{}), now: time.Unix(1e9, 0)}
	open := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	r.exports.Replace([]*nfs.Export{
		{ID: 1, Path: "/data", FS: r.data, Clients: open, Squash: nfs.SquashNone, AnonUID: 65534, AnonGID: 65534, Flavors: []rpc.Flavor{rpc.AuthSys}},
		{ID: 2, Path: "/deep/other", FS: r.other, Clients: open, Squash: nfs.SquashRoot, AnonUID: 65534, AnonGID: 65534, Flavors: []rpc.Flavor{rpc.AuthSys}},
	})
	for _, fs := range []*mem.FS{r.data, r.other} {
		root, err := fs.Root(bg)
		if err != nil {
			t.Fatal(err)
		}
		if err := root.SetAttr(bg, &vfs.Cred{}, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o777}); err != nil {
			t.Fatal(err)
		}
		root.Release()
	}
	r.pool = slab.New(slab.Config{Debug: true})
	r.cfg = v4.Config{Exports: r.exports, Now: func() time.Time { return r.now }}
	for _, f := range change {
		f(r)
	}
	r.start()
	return r
}

// start starts the server, again after a restart: what is not in a Store is gone.
func (r *rig) start() {
	r.cfg.Locks, r.cfg.Verifier = lock.New(), nfs.NewWriteVerifier(r.exports)
	var err error
	if r.server, err = v4.New(r.cfg); err != nil {
		r.t.Fatal(err)
	}
	if r.rpc, err = rpc.NewServer(rpc.Config{}, r.server.Program()); err != nil {
		r.t.Fatal(err)
	}
}

// check finds leaks.
func (r *rig) check() {
	r.now = r.now.Add(1000 * time.Hour) // nobody is alive, nothing is left
	r.server.Tick()
	if s := r.server.Clients().Stats(); s.Clients != 0 || s.States != 0 || s.Sessions != 0 {
		r.t.Errorf("state left over: %+v", s)
	}
	if c := r.cfg.Locks.Counts(); c != (lock.Counts{}) {
		r.t.Errorf("claims left over: %+v", c)
	}
	for _, l := range r.pool.Leaks() {
		r.t.Errorf("leak: %s", l)
	}
	for _, fs := range []*mem.FS{r.data, r.other} {
		if nodes, files := fs.Outstanding(); nodes != 0 || files != 0 {
			r.t.Errorf("%d nodes and %d files left over", nodes, files)
		}
	}
}

// client is a caller.
type client struct {
	*rig
	conn    *rpc.Conn
	uid     uint32
	flavor  rpc.Flavor
	minor   uint32
	owner   string
	id      uint64
	session [16]byte
	seq     [8]uint32 // last used of each slot
	cache   bool
	inline  int
	rdma    []int // places for payloads; nil: TCP
	slot    uint32
}

// caller is a client without a session.
func (r *rig) caller(owner string, uid uint32) *client {
	return &client{
		rig: r, conn: &rpc.Conn{Transport: "tcp", RemoteAddr: netip.MustParseAddrPort("192.0.2.1:999")},
		uid: uid, flavor: rpc.AuthSys, minor: 2, owner: owner, inline: 2 << 20,
	}
}

// client is a client with a session, done with reclaiming.
func (r *rig) client(owner string, uid uint32) *client {
	c := r.caller(owner, uid)
	c.connect()
	c.ok(&nfsv4.NfsArgop4_OP_RECLAIM_COMPLETE{})
	return c
}

// call sends a request and returns the reply from the COMPOUND on.
func (c *client) call(args []byte) []byte {
	c.t.Helper()
	var cred []byte
	if c.flavor == rpc.AuthSys {
		cred = rpc.AppendAuthSys(nil, 0, "test", c.uid, c.uid, nil)
	}
	msg := append(rpc.AppendCall(nil, 7, v4.Program, v4.Version, 1, c.flavor, cred), args...)
	call := &rpc.Call{Conn: c.conn, Buffers: c.pool, Message: xdr.NewDecoder(msg), Limits: rpc.Limits{Inline: c.inline, Payloads: c.rdma}}
	var reply rpc.Reply
	if !c.rpc.Serve(bg, call, &reply) {
		c.t.Fatal("no reply")
	}
	defer reply.ReleasePayloads()
	b := reply.AppendInline(nil)
	if len(b) < 24 || !bytes.Equal(b[:24], []byte{0, 0, 0, 7, 0, 0, 0, 1, 23: 0}) {
		c.t.Fatalf("RPC header %x", b[:min(len(b), 32)])
	}
	return b[24:]
}

func encode(t testing.TB, minor uint32, ops ...nfsv4.NfsArgop4) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := (&nfsv4.Compound4args{Tag: "tag", Minorversion: minor, Argarray: ops}).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(t testing.TB, b []byte) *nfsv4.Compound4res {
	t.Helper()
	var res nfsv4.Compound4res
	rd := bytes.NewReader(b)
	if _, err := res.ReadFrom(rd); err != nil {
		t.Fatalf("%v in %x", err, b)
	}
	if rd.Len() != 0 {
		t.Fatalf("%d bytes behind the reply", rd.Len())
	}
	return &res
}

// compound sends operations as they are.
func (c *client) compound(ops ...nfsv4.NfsArgop4) *nfsv4.Compound4res {
	c.t.Helper()
	res := decode(c.t, c.call(encode(c.t, c.minor, ops...)))
	if res.Tag != "tag" {
		c.t.Fatalf("tag %q", res.Tag)
	}
	return res
}

// sequence is the next SEQUENCE of the slot in use.
func (c *client) sequence() nfsv4.NfsArgop4 {
	c.seq[c.slot]++
	return c.resend()
}

// resend is the last SEQUENCE again.
func (c *client) resend() nfsv4.NfsArgop4 {
	return &nfsv4.NfsArgop4_OP_SEQUENCE{Opsequence: nfsv4.Sequence4args{
		SaSessionid: c.session, SaSequenceid: c.seq[c.slot], SaSlotid: c.slot, SaHighestSlotid: c.slot, SaCachethis: c.cache,
	}}
}

// try sends operations behind a SEQUENCE and returns their results, and the status.
func (c *client) try(ops ...nfsv4.NfsArgop4) ([]nfsv4.NfsResop4, nfsv4.Nfsstat4) {
	c.t.Helper()
	res := c.compound(append([]nfsv4.NfsArgop4{c.sequence()}, ops...)...)
	if _, ok := res.Resarray[0].(*nfsv4.NfsResop4_OP_SEQUENCE); !ok {
		c.t.Fatalf("first result is %T", res.Resarray[0])
	}
	return res.Resarray[1:], res.Status
}

// ok is try of operations that must succeed.
func (c *client) ok(ops ...nfsv4.NfsArgop4) []nfsv4.NfsResop4 {
	c.t.Helper()
	res, st := c.try(ops...)
	if st != nfsv4.NFS4_OK {
		c.t.Fatalf("%s: %v", show(ops), st)
	}
	return res
}

// want is try of operations of which the last fails.
func (c *client) want(st nfsv4.Nfsstat4, ops ...nfsv4.NfsArgop4) []nfsv4.NfsResop4 {
	c.t.Helper()
	res, got := c.try(ops...)
	if got != st || len(res) != len(ops) {
		c.t.Fatalf("%s: %v after %d results, want %v", show(ops), got, len(res), st)
	}
	return res
}

func show(ops []nfsv4.NfsArgop4) (s string) {
	for _, o := range ops {
		s += fmt.Sprintf("%v ", o.GetArgop())
	}
	return s
}

// exchange does EXCHANGE_ID.
func (c *client) exchange(verifier byte, flags uint32) (nfsv4.ExchangeId4resok, nfsv4.Nfsstat4) {
	c.t.Helper()
	res := c.compound(&nfsv4.NfsArgop4_OP_EXCHANGE_ID{OpexchangeId: nfsv4.ExchangeId4args{
		EiaClientowner:  nfsv4.ClientOwner4{CoVerifier: [8]byte{verifier}, CoOwnerid: []byte(c.owner)},
		EiaFlags:        flags,
		EiaStateProtect: &nfsv4.StateProtect4A_SP4_NONE{},
		EiaClientImplId: []nfsv4.NfsImplId4{{NiiDomain: "example.org", NiiName: "test"}},
	}})
	if ok, is := res.Resarray[0].(*nfsv4.NfsResop4_OP_EXCHANGE_ID).OpexchangeId.(*nfsv4.ExchangeId4res_NFS4_OK); is {
		return ok.EirResok4, nfsv4.NFS4_OK
	}
	return nfsv4.ExchangeId4resok{}, res.Status
}

var channel = nfsv4.ChannelAttrs4{
	CaMaxrequestsize: 1 << 20, CaMaxresponsesize: 1 << 20, CaMaxresponsesizeCached: 4096, CaMaxoperations: 16, CaMaxrequests: 8,
}

// create does CREATE_SESSION.
func (c *client) create(id uint64, seq uint32, fore nfsv4.ChannelAttrs4) (nfsv4.CreateSession4resok, nfsv4.Nfsstat4) {
	c.t.Helper()
	res := c.compound(&nfsv4.NfsArgop4_OP_CREATE_SESSION{OpcreateSession: nfsv4.CreateSession4args{
		CsaClientid: id, CsaSequence: seq, CsaFlags: 3, CsaForeChanAttrs: fore, CsaBackChanAttrs: back, CsaCbProgram: 1 << 30,
		CsaSecParms: []nfsv4.CallbackSecParms4{&nfsv4.CallbackSecParms4_AUTH_NONE{}},
	}})
	if ok, is := res.Resarray[0].(*nfsv4.NfsResop4_OP_CREATE_SESSION).OpcreateSession.(*nfsv4.CreateSession4res_NFS4_OK); is {
		return ok.CsrResok4, nfsv4.NFS4_OK
	}
	return nfsv4.CreateSession4resok{}, res.Status
}

var back = nfsv4.ChannelAttrs4{
	CaMaxrequestsize: 4096, CaMaxresponsesize: 4096, CaMaxoperations: 2, CaMaxrequests: 16, CaRdmaIrd: []uint32{},
}

// connect gets a client ID and a session.
func (c *client) connect() {
	c.t.Helper()
	e, st := c.exchange(1, 0x101)
	if st != nfsv4.NFS4_OK {
		c.t.Fatal(st)
	}
	s, st := c.create(e.EirClientid, e.EirSequenceid, channel)
	if st != nfsv4.NFS4_OK {
		c.t.Fatal(st)
	}
	c.id, c.session, c.seq = e.EirClientid, s.CsrSessionid, [8]uint32{}
}
