package v4_test

import (
	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/nfs/v4/proto"
)

// Operations, short.

type (
	arg = nfsv4.NfsArgop4
	sid = nfsv4.Stateid4
)

var (
	anonymous = sid{}
	bypass    = sid{Seqid: ^uint32(0), Other: [12]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}}
	current   = sid{Seqid: 1}
)

func putroot() arg  { return &nfsv4.NfsArgop4_OP_PUTROOTFH{} }
func getfh() arg    { return &nfsv4.NfsArgop4_OP_GETFH{} }
func savefh() arg   { return &nfsv4.NfsArgop4_OP_SAVEFH{} }
func restore() arg  { return &nfsv4.NfsArgop4_OP_RESTOREFH{} }
func lookupp() arg  { return &nfsv4.NfsArgop4_OP_LOOKUPP{} }
func readlink() arg { return &nfsv4.NfsArgop4_OP_READLINK{} }

func putfh(fh []byte) arg {
	return &nfsv4.NfsArgop4_OP_PUTFH{Opputfh: nfsv4.Putfh4args{Object: fh}}
}

func lookup(name string) arg {
	return &nfsv4.NfsArgop4_OP_LOOKUP{Oplookup: nfsv4.Lookup4args{Objname: name}}
}

func remove(name string) arg {
	return &nfsv4.NfsArgop4_OP_REMOVE{Opremove: nfsv4.Remove4args{Target: name}}
}

func rename(from, to string) arg {
	return &nfsv4.NfsArgop4_OP_RENAME{Oprename: nfsv4.Rename4args{Oldname: from, Newname: to}}
}

func link(name string) arg {
	return &nfsv4.NfsArgop4_OP_LINK{Oplink: nfsv4.Link4args{Newname: name}}
}

func access(want uint32) arg {
	return &nfsv4.NfsArgop4_OP_ACCESS{Opaccess: nfsv4.Access4args{Access: want}}
}

func getattr(bits ...int) arg {
	return &nfsv4.NfsArgop4_OP_GETATTR{Opgetattr: nfsv4.Getattr4args{AttrRequest: bitmap(bits...)}}
}

func bitmap(bits ...int) []uint32 {
	m := proto.Bits(bits...)
	return m[:]
}

func setattr(s sid, f nfsv4.Fattr4) arg {
	return &nfsv4.NfsArgop4_OP_SETATTR{Opsetattr: nfsv4.Setattr4args{Stateid: s, ObjAttributes: f}}
}

// mode is attributes of a mode, and nothing else.
func mode(m uint32) nfsv4.Fattr4 {
	return nfsv4.Fattr4{Attrmask: bitmap(proto.AttrMode), AttrVals: []byte{0, 0, byte(m >> 8), byte(m)}}
}

func size(n byte) nfsv4.Fattr4 {
	return nfsv4.Fattr4{Attrmask: bitmap(proto.AttrSize), AttrVals: []byte{0, 0, 0, 0, 0, 0, 0, n}}
}

func mkdir(name string) arg {
	return &nfsv4.NfsArgop4_OP_CREATE{Opcreate: nfsv4.Create4args{Objtype: &nfsv4.Createtype4_NF4DIR{}, Objname: name, Createattrs: mode(0o755)}}
}

func symlink(name, text string) arg {
	return &nfsv4.NfsArgop4_OP_CREATE{Opcreate: nfsv4.Create4args{Objtype: &nfsv4.Createtype4_NF4LNK{Linkdata: []byte(text)}, Objname: name}}
}

// how says how an OPEN is done.
type how struct {
	access, deny uint32
	owner        string
	create       nfsv4.Createhow4
	claim        nfsv4.OpenClaim4
}

func (h how) open(name string) arg {
	a := nfsv4.Open4args{ShareAccess: h.access, ShareDeny: h.deny, Owner: nfsv4.StateOwner4{Owner: []byte(h.owner)}}
	if a.Openhow = &(nfsv4.Openflag4_default{Opentype: nfsv4.OPEN4_NOCREATE}); h.create != nil {
		a.Openhow = &nfsv4.Openflag4_OPEN4_CREATE{How: h.create}
	}
	if a.Claim = h.claim; a.Claim == nil {
		a.Claim = &nfsv4.OpenClaim4_CLAIM_NULL{File: name}
	}
	return &nfsv4.NfsArgop4_OP_OPEN{Opopen: a}
}

// rw opens for reading and writing, and makes the file if it is not there.
func rw(name string) arg {
	return how{access: 3, owner: "o", create: &nfsv4.Createhow4_UNCHECKED4{Createattrs: mode(0o644)}}.open(name)
}

func closeOp(s sid) arg {
	return &nfsv4.NfsArgop4_OP_CLOSE{Opclose: nfsv4.Close4args{OpenStateid: s}}
}

func downgrade(s sid, access, deny uint32) arg {
	return &nfsv4.NfsArgop4_OP_OPEN_DOWNGRADE{OpopenDowngrade: nfsv4.OpenDowngrade4args{OpenStateid: s, ShareAccess: access, ShareDeny: deny}}
}

func read(s sid, off uint64, n uint32) arg {
	return &nfsv4.NfsArgop4_OP_READ{Opread: nfsv4.Read4args{Stateid: s, Offset: off, Count: n}}
}

func write(s sid, off uint64, data string) arg {
	return &nfsv4.NfsArgop4_OP_WRITE{Opwrite: nfsv4.Write4args{Stateid: s, Offset: off, Stable: nfsv4.FILE_SYNC4, Data: []byte(data)}}
}

func commit() arg { return &nfsv4.NfsArgop4_OP_COMMIT{} }

func readdir(cookie uint64, maxcount uint32, bits ...int) arg {
	return &nfsv4.NfsArgop4_OP_READDIR{Opreaddir: nfsv4.Readdir4args{Cookie: cookie, Maxcount: maxcount, AttrRequest: bitmap(bits...)}}
}

func lockNew(open sid, owner string, kind nfsv4.NfsLockType4, off, n uint64, reclaim bool) arg {
	return &nfsv4.NfsArgop4_OP_LOCK{Oplock: nfsv4.Lock4args{Locktype: kind, Reclaim: reclaim, Offset: off, Length: n, Locker: &nfsv4.Locker4_TRUE{
		OpenOwner: nfsv4.OpenToLockOwner4{OpenStateid: open, LockOwner: nfsv4.StateOwner4{Owner: []byte(owner)}},
	}}}
}

func lockMore(s sid, kind nfsv4.NfsLockType4, off, n uint64) arg {
	return &nfsv4.NfsArgop4_OP_LOCK{Oplock: nfsv4.Lock4args{Locktype: kind, Offset: off, Length: n, Locker: &nfsv4.Locker4_FALSE{
		LockOwner: nfsv4.ExistLockOwner4{LockStateid: s},
	}}}
}

func lockT(owner string, kind nfsv4.NfsLockType4, off, n uint64) arg {
	return &nfsv4.NfsArgop4_OP_LOCKT{Oplockt: nfsv4.Lockt4args{Locktype: kind, Offset: off, Length: n, Owner: nfsv4.StateOwner4{Owner: []byte(owner)}}}
}

func lockU(s sid, off, n uint64) arg {
	return &nfsv4.NfsArgop4_OP_LOCKU{Oplocku: nfsv4.Locku4args{Locktype: nfsv4.READ_LT, LockStateid: s, Offset: off, Length: n}}
}

func testStateIDs(s ...sid) arg {
	return &nfsv4.NfsArgop4_OP_TEST_STATEID{OptestStateid: nfsv4.TestStateid4args{TsStateids: s}}
}

func freeStateID(s sid) arg {
	return &nfsv4.NfsArgop4_OP_FREE_STATEID{OpfreeStateid: nfsv4.FreeStateid4args{FsaStateid: s}}
}

// Results, short.

func opened(r nfsv4.NfsResop4) nfsv4.Open4resok {
	return r.(*nfsv4.NfsResop4_OP_OPEN).Opopen.(*nfsv4.Open4res_NFS4_OK).Resok4
}

func handle(r nfsv4.NfsResop4) []byte {
	return r.(*nfsv4.NfsResop4_OP_GETFH).Opgetfh.(*nfsv4.Getfh4res_NFS4_OK).Resok4.Object
}

func data(r nfsv4.NfsResop4) (string, bool) {
	ok := r.(*nfsv4.NfsResop4_OP_READ).Opread.(*nfsv4.Read4res_NFS4_OK).Resok4
	return string(ok.Data), ok.Eof
}

func attrs(r nfsv4.NfsResop4) nfsv4.Fattr4 {
	return r.(*nfsv4.NfsResop4_OP_GETATTR).Opgetattr.(*nfsv4.Getattr4res_NFS4_OK).Resok4.ObjAttributes
}

func locked(r nfsv4.NfsResop4) sid {
	return r.(*nfsv4.NfsResop4_OP_LOCK).Oplock.(*nfsv4.Lock4res_NFS4_OK).Resok4.LockStateid
}

func denied(r nfsv4.NfsResop4) nfsv4.Lock4denied {
	switch r := r.(type) {
	case *nfsv4.NfsResop4_OP_LOCKT:
		return r.Oplockt.(*nfsv4.Lockt4res_NFS4ERR_DENIED).Denied
	case *nfsv4.NfsResop4_OP_LOCK:
		return r.Oplock.(*nfsv4.Lock4res_NFS4ERR_DENIED).Denied
	}
	panic("not a lock")
}

func entries(r nfsv4.NfsResop4) (list []*nfsv4.Entry4, eof bool) {
	ok := r.(*nfsv4.NfsResop4_OP_READDIR).Opreaddir.(*nfsv4.Readdir4res_NFS4_OK).Resok4
	for e := ok.Reply.Entries; e != nil; e = e.Nextentry {
		list = append(list, e)
	}
	return list, ok.Reply.Eof
}
