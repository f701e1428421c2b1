package v4_test

import (
	"bytes"
	"testing"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/nfs/rpc"
	v4 "fileserver/nfs/v4"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
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

// FuzzCompound: whatever follows SEQUENCE, the reply is one the other implementation can decode, and nothing leaks.
func FuzzCompound(f *testing.F) {
	for _, ops := range requests() {
		b := encode(f, 2, ops...)
		f.Add(uint32(len(ops)+1), b[16:])
	}
	f.Add(uint32(3), []byte{0, 0, 0, 24, 0, 0, 0, 99})
	f.Fuzz(func(t *testing.T, count uint32, ops []byte) {
		if hasXattr(ops) { // which the other implementation does not know
			return
		}
		r := newRig(t)
		c := r.client("a", 1000)
		c.ok(putroot(), lookup("data"), rw("f"), closeOp(current))
		b := encode(t, 2, c.sequence())
		xdr.PutUint32(b, 12, count)
		decode(t, c.call(append(b, ops...)))
	})
}

func hasXattr(b []byte) bool {
	for i := 0; i+4 <= len(b); i += 4 {
		if b[i]|b[i+1]|b[i+2] == 0 && b[i+3] >= 72 && b[i+3] <= 75 {
			return true
		}
	}
	return false
}
