package v4_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/nfs/rpc"
	v4 "fileserver/nfs/v4"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
	"fileserver/vfs/vfstest/mem"
)

// requests are operations of all kinds, each behind a filehandle or two: seeds, and victims of truncation.
func requests() [][]arg {
	f := []arg{putroot(), lookup("data"), savefh(), lookup("f")}
	at := func(ops ...arg) []arg { return append(f[:4:4], ops...) }
	s := sid{Seqid: 1, Other: [12]byte{1, 2, 3}}
	excl := &nfsv4.Createhow4_EXCLUSIVE4_1{ChCreateboth: nfsv4.Creatverfattr{CvaVerf: [8]byte{1}, CvaAttrs: mode(0o600)}}
	return [][]arg{
		at(getattr(all()...), getfh(), access(0x3f)),
		at(read(anonymous, 1, 10), write(anonymous, 3, "data"), commit()),
		at(setattr(anonymous, mode(0o600)), setattr(s, size(3))),
		at(restore(), mkdir("d"), lookupp(), symlink("l", "text"), readlink()),
		at(restore(), rw("new"), downgrade(current, 1, 0), closeOp(current)),
		at(restore(), how{access: 0x103, deny: 1, owner: "owner", create: excl}.open("x"), lockNew(current, "l", nfsv4.WRITE_LT, 0, 5, false), lockU(current, 0, 5)),
		at(how{access: 1, claim: &nfsv4.OpenClaim4_CLAIM_FH{}}.open(""), lockT("l", nfsv4.READ_LT, 0, 5), lockMore(s, nfsv4.READ_LT, 0, 9)),
		at(restore(), readdir(0, 1000, proto.AttrType, proto.AttrFileID), link("m"), rename("m", "n"), remove("n")),
		at(testStateIDs(s, anonymous), freeStateID(s)),
		at(allocate(s, 0, 9), deallocate(s, 0, 9)),
		at(&nfsv4.NfsArgop4_OP_COPY{Opcopy: nfsv4.Copy4args{CaSourceServer: []nfsv4.Netloc4{&nfsv4.Netloc4_NL4_NAME{NlName: "x"}}}}),
		at(&nfsv4.NfsArgop4_OP_CLONE{}), at(&nfsv4.NfsArgop4_OP_SEEK{}), at(&nfsv4.NfsArgop4_OP_READ_PLUS{}), at(&nfsv4.NfsArgop4_OP_IO_ADVISE{}),
		at(&nfsv4.NfsArgop4_OP_SECINFO_NO_NAME{}), at(restore(), &nfsv4.NfsArgop4_OP_SECINFO{Opsecinfo: nfsv4.Secinfo4args{Name: "f"}}),
		at(&nfsv4.NfsArgop4_OP_VERIFY{Opverify: nfsv4.Verify4args{ObjAttributes: size(0)}}, &nfsv4.NfsArgop4_OP_NVERIFY{Opnverify: nfsv4.Nverify4args{ObjAttributes: size(1)}}),
		{&nfsv4.NfsArgop4_OP_BACKCHANNEL_CTL{OpbackchannelCtl: nfsv4.BackchannelCtl4args{BcaSecParms: []nfsv4.CallbackSecParms4{&nfsv4.CallbackSecParms4_AUTH_NONE{}}}}},
		{&nfsv4.NfsArgop4_OP_EXCHANGE_ID{OpexchangeId: nfsv4.ExchangeId4args{EiaClientowner: nfsv4.ClientOwner4{CoOwnerid: []byte("x")}, EiaStateProtect: &nfsv4.StateProtect4A_SP4_NONE{}}}},
		{&nfsv4.NfsArgop4_OP_CREATE_SESSION{OpcreateSession: nfsv4.CreateSession4args{CsaForeChanAttrs: channel}}},
		{&nfsv4.NfsArgop4_OP_RECLAIM_COMPLETE{}},
	}
}

// TestTruncated: of a request cut off anywhere, the operations before the cut are executed and
// the one that is cut fails; the reply is whole.
func TestTruncated(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	c.ok(putroot(), lookup("data"), rw("f"), closeOp(current))
	const behindSequence = 8 + 4 + 4 + 4 + 4 + 32
	for _, ops := range requests() {
		whole := encode(t, 2, append([]arg{c.sequence()}, ops...)...)
		c.seq[0]--
		for n := behindSequence + 4; n < len(whole); n++ {
			c.seq[0]++
			b := bytes.Clone(whole[:n])
			xdr.PutUint32(b, 8+4+4+4+16, c.seq[0])
			res := decode(t, c.call(b))
			if res.Status == nfsv4.NFS4_OK || len(res.Resarray) > 1+len(ops) {
				t.Fatalf("%s cut at %d of %d: %v after %d", show(ops), n, len(whole), res.Status, len(res.Resarray))
			}
		}
	}
	for n := range 12 { // not even a COMPOUND
		msg := append(rpc.AppendCall(nil, 7, v4.Program, v4.Version, 1, rpc.AuthNone, nil), encode(t, 2)[:n]...)
		var reply rpc.Reply
		c.rpc.Serve(bg, &rpc.Call{Conn: c.conn, Buffers: c.pool, Message: xdr.NewDecoder(msg), Limits: rpc.Limits{Inline: 1 << 20}}, &reply)
		if want := []byte{0, 0, 0, 4}; !bytes.Equal(reply.Head[20:], want) {
			t.Errorf("%d bytes of COMPOUND: %x", n, reply.Head)
		}
	}
}

// FuzzCompound: whatever follows SEQUENCE, the reply is one the other implementation can decode, and nothing leaks. A server
// takes many inputs, because to make one takes longer than to serve a hundred; what fails is tried again on a new one.
func FuzzCompound(f *testing.F) {
	for _, ops := range requests() {
		b := encode(f, 2, ops...)
		f.Add(uint32(len(ops)+1), b[16:])
	}
	f.Add(uint32(3), []byte{0, 0, 0, 24, 0, 0, 0, 99})
	var v *victim
	f.Cleanup(func() {
		if v != nil {
			v.use(f)
			v.r.check()
		}
	})
	f.Fuzz(func(t *testing.T, count uint32, ops []byte) {
		if hasXattr(ops) { // which the other implementation does not know
			return
		}
		if v == nil || v.served == 1000 {
			if v != nil {
				v.use(t)
				v.r.check()
			}
			v = newVictim(t)
		}
		v.use(t)
		err := v.serve(count, ops)
		if err == nil {
			return
		}
		before := v.inputs
		v = newVictim(t)
		if again := v.serve(count, ops); again != nil {
			t.Fatal(again)
		}
		t.Fatalf("%v\non a new server it does not fail; before it came %q", err, before)
	})
}

// victim is a server that takes many inputs, with a client whose requests are encoded once.
type victim struct {
	r      *rig
	c      *client
	file   []byte // a request that makes the file f, if it is not there
	head   []byte // SEQUENCE
	served int
	inputs [][]byte // the last
}

// sequenceAt is where in a request the sequence number is: behind tag, minor version, count, operation and session.
const sequenceAt = 4 + 4 + 4 + 4 + 4 + 16

func newVictim(t testing.TB) *victim {
	v := &victim{r: makeRig(t)}
	v.c = v.r.client("a", 1000)
	v.file = encode(t, 2, v.c.sequence(), putroot(), lookup("data"), rw("f"), closeOp(current))
	v.c.seq[0]--
	v.head = encode(t, 2, v.c.sequence())
	v.c.seq[0]--
	return v
}

// use reports failures to another test from here on.
func (v *victim) use(t testing.TB) { v.r.t = t }

// call sends a request under the next sequence number.
func (v *victim) call(b []byte) []byte {
	v.c.seq[0]++
	xdr.PutUint32(b, sequenceAt, v.c.seq[0])
	return v.c.call(b)
}

func (v *victim) serve(count uint32, ops []byte) error {
	v.served++
	if len(v.inputs) == 16 {
		v.inputs = v.inputs[1:]
	}
	v.inputs = append(v.inputs, bytes.Clone(ops))
	v.call(v.file)
	b := append(bytes.Clone(v.head), ops...)
	xdr.PutUint32(b, 12, count)
	reply := v.call(b)
	var res nfsv4.Compound4res
	rd := bytes.NewReader(reply)
	if _, err := res.ReadFrom(rd); err != nil {
		return fmt.Errorf("%w in %x", err, reply)
	}
	if rd.Len() != 0 {
		return fmt.Errorf("%d bytes behind the reply", rd.Len())
	}
	if n := v.r.pool.Stats().Buffers; n != 0 {
		return fmt.Errorf("%d buffers leak", n)
	}
	for _, fs := range []*mem.FS{v.r.data, v.r.other} {
		if n, _ := fs.Outstanding(); n != 0 {
			return fmt.Errorf("%d nodes leak", n)
		}
	}
	return nil
}

func hasXattr(b []byte) bool {
	for i := 0; i+4 <= len(b); i += 4 {
		if b[i]|b[i+1]|b[i+2] == 0 && b[i+3] >= 72 && b[i+3] <= 75 {
			return true
		}
	}
	return false
}
