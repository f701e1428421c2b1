package v4_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

func allocate(s sid, off, n uint64) arg {
	return &nfsv4.NfsArgop4_OP_ALLOCATE{Opallocate: nfsv4.Allocate4args{AaStateid: s, AaOffset: off, AaLength: n}}
}

func deallocate(s sid, off, n uint64) arg {
	return &nfsv4.NfsArgop4_OP_DEALLOCATE{Opdeallocate: nfsv4.Deallocate4args{DaStateid: s, DaOffset: off, DaLength: n}}
}

func TestSparse(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	s, fh := c.open("o", 3, 0)
	const block = 64 << 10
	c.ok(putfh(fh), allocate(s, 0, 4*block))
	if v := attrs(c.ok(putfh(fh), getattr(proto.AttrSize))[1]).AttrVals; !bytes.Equal(v, []byte{0, 0, 0, 0, 0, 4, 0, 0}) {
		t.Errorf("size %x", v)
	}
	c.ok(putfh(fh), write(s, 0, strings.Repeat("x", 4*block)))
	c.ok(putfh(fh), deallocate(s, block, block))
	seek := func(off uint64, what nfsv4.DataContent4) (uint64, bool) {
		t.Helper()
		res := c.ok(putfh(fh), &nfsv4.NfsArgop4_OP_SEEK{Opseek: nfsv4.Seek4args{SaStateid: s, SaOffset: off, SaWhat: what}})
		ok := res[1].(*nfsv4.NfsResop4_OP_SEEK).Opseek.(*nfsv4.Seek4res_NFS4_OK).Resok4
		return ok.SrOffset, ok.SrEof
	}
	for _, tt := range []struct {
		off  uint64
		what nfsv4.DataContent4
		want uint64
		eof  bool
	}{
		{0, nfsv4.NFS4_CONTENT_HOLE, block, false}, {block, nfsv4.NFS4_CONTENT_DATA, 2 * block, false},
		{2 * block, nfsv4.NFS4_CONTENT_HOLE, 4 * block, true}, {5, nfsv4.NFS4_CONTENT_DATA, 5, false},
	} {
		if off, eof := seek(tt.off, tt.what); off != tt.want || eof != tt.eof {
			t.Errorf("SEEK %d at %d: %d, %v", tt.what, tt.off, off, eof)
		}
	}
	c.want(nfsv4.NFS4ERR_NXIO, putfh(fh), &nfsv4.NfsArgop4_OP_SEEK{Opseek: nfsv4.Seek4args{SaStateid: s, SaOffset: 4 * block}})
	c.want(nfsv4.NFS4ERR_INVAL, putfh(fh), allocate(s, 1<<63, 1))
	c.want(nfsv4.NFS4ERR_INVAL, putfh(fh), deallocate(s, 1<<62, 1<<62))
	rp := c.ok(putfh(fh), &nfsv4.NfsArgop4_OP_READ_PLUS{OpreadPlus: nfsv4.ReadPlus4args{RpaStateid: s, RpaOffset: block - 2, RpaCount: 4}})
	ok := rp[1].(*nfsv4.NfsResop4_OP_READ_PLUS).OpreadPlus.(*nfsv4.ReadPlus4res_NFS4_OK).RpResok4
	if d := ok.RprContents[0].(*nfsv4.ReadPlusContent_NFS4_CONTENT_DATA).RpcData; string(d.DData) != "xx\x00\x00" || d.DOffset != block-2 || ok.RprEof {
		t.Errorf("READ_PLUS: %+v", ok)
	}
	c.ok(putfh(fh), &nfsv4.NfsArgop4_OP_IO_ADVISE{OpioAdvise: nfsv4.IoAdvise4args{IaaStateid: s, IaaHints: []uint32{2}}})
}

func TestCopyAndClone(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	s, src := c.open("o", 3, 0)
	content := strings.Repeat("0123456789abcdef", 1<<14) // 256 KiB
	c.ok(putfh(src), write(s, 0, content))
	res := c.ok(putroot(), lookup("data"), rw("g"), getfh())
	d, dst := opened(res[2]).Stateid, handle(res[3])
	copyOp := func(srcOff, dstOff, n uint64) arg {
		return &nfsv4.NfsArgop4_OP_COPY{Opcopy: nfsv4.Copy4args{CaSrcStateid: s, CaDstStateid: d, CaSrcOffset: srcOff, CaDstOffset: dstOff, CaCount: n, CaConsecutive: true, CaSynchronous: true}}
	}
	cloneOp := func(srcOff, dstOff, n uint64) arg {
		return &nfsv4.NfsArgop4_OP_CLONE{Opclone: nfsv4.Clone4args{ClSrcStateid: s, ClDstStateid: d, ClSrcOffset: srcOff, ClDstOffset: dstOff, ClCount: n}}
	}
	both := func(op arg) []arg { return []arg{putfh(src), savefh(), putfh(dst), op} }
	ok := c.ok(both(copyOp(1, 0, 1000))...)[3].(*nfsv4.NfsResop4_OP_COPY).Opcopy.(*nfsv4.Copy4res_NFS4_OK).CrResok4
	if ok.CrResponse.WrCount != 1000 || !ok.CrRequirements.CrSynchronous {
		t.Errorf("COPY: %+v", ok)
	}
	if got, _ := data(c.ok(putfh(dst), read(d, 0, 2000))[1]); got != content[1:1001] {
		t.Errorf("copied %d bytes", len(got))
	}
	c.ok(both(cloneOp(0, 0, 0))...)
	if got, eof := data(c.ok(putfh(dst), read(d, 0, 1<<19))[1]); got != content || !eof {
		t.Errorf("cloned %d bytes", len(got))
	}
	c.want(nfsv4.NFS4ERR_INVAL, both(copyOp(1, 0, 1<<20))...)
	c.want(nfsv4.NFS4ERR_INVAL, both(cloneOp(1<<20, 0, 0))...)
	c.want(nfsv4.NFS4ERR_OPENMODE, append([]arg{putroot(), lookup("data"), how{access: 1, owner: "r"}.open("f"), savefh(), restore()},
		&nfsv4.NfsArgop4_OP_COPY{Opcopy: nfsv4.Copy4args{CaSrcStateid: current, CaDstStateid: current, CaDstOffset: 1 << 20, CaCount: 1}})...)
	c.want(nfsv4.NFS4ERR_WRONG_TYPE, putroot(), lookup("data"), savefh(), putfh(dst), copyOp(0, 0, 1))
}

// The other implementation knows no extended attributes (RFC 8276): these requests and results are made by hand.
func (c *client) xattr(op uint32, args []byte) (nfsv4.Nfsstat4, *xdr.Decoder) {
	c.t.Helper()
	head := encode(c.t, 2, c.sequence(), putroot(), lookup("data"), lookup("f"))
	head[15]++ // operations
	b := c.call(append(xdr.AppendUint32(head, op), args...))
	d := xdr.NewDecoder(b)
	st := nfsv4.Nfsstat4(d.Uint32())
	d.Opaque(8)
	if n := d.Uint32(); n != 5 {
		c.t.Fatalf("%d results: %x", n, b)
	}
	d.Fixed(8 + 36 + 8 + 8 + 8)
	if got := d.Uint32(); got != op {
		c.t.Fatalf("result of %d, want %d", got, op)
	}
	d.Uint32()
	return st, &d
}

// changed consumes a change_info4 that tells of a change, and nothing else.
func changed(d *xdr.Decoder) bool {
	atomic, before, after := d.Bool(), d.Uint64(), d.Uint64()
	return atomic && before < after && d.Finish() == nil
}

func TestXattrs(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	c.ok(putroot(), lookup("data"), rw("f"), closeOp(current))
	name := func(s string) []byte { return xdr.AppendString(nil, s) }
	set := func(how uint32, n, v string) nfsv4.Nfsstat4 {
		st, d := c.xattr(73, xdr.AppendString(xdr.AppendString(xdr.AppendUint32(nil, how), n), v))
		if st == nfsv4.NFS4_OK {
			if !changed(d) {
				t.Error("SETXATTR: change_info4")
			}
		}
		return st
	}
	for _, tt := range []struct {
		how  uint32
		name string
		want nfsv4.Nfsstat4
	}{{0, "b", 0}, {0, "b", 0}, {1, "b", nfsv4.NFS4ERR_EXIST}, {1, "a", 0}, {2, "a", 0}, {2, "c", 10095}, {0, "", nfsv4.NFS4ERR_INVAL}, {3, "x", nfsv4.NFS4ERR_BADXDR}} {
		if st := set(tt.how, tt.name, "value-"+tt.name); st != tt.want {
			t.Errorf("SETXATTR %d %q: %v, want %v", tt.how, tt.name, st, tt.want)
		}
	}
	if st, d := c.xattr(72, name("a")); st != 0 || string(d.Opaque(100)) != "value-a" || d.Finish() != nil {
		t.Errorf("GETXATTR: %v", st)
	}
	if st, _ := c.xattr(72, name("none")); st != 10095 {
		t.Errorf("GETXATTR of none: %v", st)
	}
	list := func(cookie uint64, limit uint32) (nfsv4.Nfsstat4, []string, uint64, bool) {
		st, d := c.xattr(74, xdr.AppendUint32(xdr.AppendUint64(nil, cookie), limit))
		if st != 0 {
			return st, nil, 0, false
		}
		next := d.Uint64()
		var names []string
		for range d.Count(10, 4) {
			names = append(names, d.String(100))
		}
		eof := d.Bool()
		if d.Finish() != nil {
			t.Error(d.Err())
		}
		return st, names, next, eof
	}
	if st, names, _, eof := list(0, 1000); st != 0 || strings.Join(names, ",") != "a,b" || !eof {
		t.Errorf("LISTXATTRS: %v %v %v", st, names, eof)
	}
	st, names, next, eof := list(0, 24)
	if st != 0 || len(names) != 1 || eof {
		t.Errorf("LISTXATTRS of little: %v %v", st, names)
	}
	if _, names, _, eof := list(next, 24); strings.Join(names, ",") != "b" || !eof {
		t.Errorf("LISTXATTRS of the rest: %v %v", names, eof)
	}
	if st, _, _, _ := list(0, 20); st != nfsv4.NFS4ERR_TOOSMALL {
		t.Errorf("LISTXATTRS of nothing: %v", st)
	}
	if st, _, _, _ := list(3, 1000); st != nfsv4.NFS4ERR_BAD_COOKIE {
		t.Errorf("LISTXATTRS from nowhere: %v", st)
	}
	if st, d := c.xattr(75, name("a")); st != 0 || !changed(d) {
		t.Errorf("REMOVEXATTR: %v", st)
	}
	if st, _ := c.xattr(75, name("a")); st != 10095 {
		t.Errorf("REMOVEXATTR again: %v", st)
	}
}
