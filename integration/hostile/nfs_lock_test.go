package hostile

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"fileserver/nfs/rpc/rpcclient"
	v4 "fileserver/nfs/v4"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

// nfsLocker locks over NFS 4.1, with one slot. A lock-owner is an open-owner's, too.
type nfsLocker struct {
	attacker
	client  uint64
	session proto.SessionID
	seq     uint32 // of the slot
	owners  int
	file    []byte        // handle
	sid     proto.StateID // of the open, then of the locks
	locked  bool          // sid is of the locks
}

func (r *rig) newNFSLocker(from netip.Addr) *nfsLocker {
	r.Helper()
	c, err := r.dialReserved(from, "nfs tcp")
	r.check(err)
	l := &nfsLocker{attacker: newAttacker(c)}
	e, st := l.exchange(r.ctx, "locker "+from.String(), 1)
	if st != proto.OK {
		r.Fatalf("EXCHANGE_ID: %v", st)
	}
	l.client = e.id
	if l.session, st = l.attacker.session(r.ctx, e, e.seq); st != proto.OK {
		r.Fatalf("CREATE_SESSION: %v", st)
	}
	if _, err := l.do(r.ctx, proto.OpReclaimComplete, xdr.AppendBool(nil, false)); err != nil {
		r.Fatalf("RECLAIM_COMPLETE: %v", err)
	}
	return l
}

// operation returns an operation with its arguments.
func operation(op proto.Op, args []byte) []byte {
	return append(xdr.AppendUint32(nil, uint32(op)), args...)
}

// do makes a COMPOUND with one operation after SEQUENCE and those before. The decoder is at the operation's results. If the
// last of the operations that were done failed, do returns its status.
func (l *nfsLocker) do(ctx context.Context, op proto.Op, args []byte, before ...[]byte) (xdr.Decoder, error) {
	l.seq++
	b := []byte{0, 0, 0, 0} // no tag
	b = xdr.AppendUint32(xdr.AppendUint32(b, 1), uint32(2+len(before)))
	b = append(xdr.AppendUint32(b, uint32(proto.OpSequence)), l.session[:]...)
	for _, v := range [...]uint32{l.seq, 0, 0, 0} { // slot, highest slot, cachethis
		b = xdr.AppendUint32(b, v)
	}
	for _, o := range before {
		b = append(b, o...)
	}
	b = append(b, operation(op, args)...)
	_, res, err := l.c.Do(ctx, rpcclient.Call{Prog: v4.Program, Vers: v4.Version, Proc: 1, Args: [][]byte{b}})
	if err != nil {
		return xdr.Decoder{}, err
	}
	d := xdr.NewDecoder(res)
	if st := proto.Status(d.Uint32()); st != proto.OK {
		return d, st
	}
	d.Fixed(4 + 4 + 4 + 4 + 16 + 5*4 + len(before)*(4+4) + 4 + 4) // tag, number of results, SEQUENCE, those before, operation, status
	return d, d.Err()
}

func (l *nfsLocker) open(ctx context.Context, name string) error {
	const shareBoth, wantNoDeleg, create, unchecked, claimNull = 3, 0x400, 1, 0, 0
	l.owners++
	b := xdr.AppendUint32(nil, 0) // seqid
	b = xdr.AppendUint32(xdr.AppendUint32(b, shareBoth|wantNoDeleg), 0)
	b = xdr.AppendString(xdr.AppendUint64(b, l.client), fmt.Sprint("owner ", l.owners))
	mode := proto.Bits(proto.AttrMode)
	b = mode.Append(xdr.AppendUint32(xdr.AppendUint32(b, create), unchecked))
	b = xdr.AppendUint32(xdr.AppendUint32(b, 4), 0o644)
	b = xdr.AppendString(xdr.AppendUint32(b, claimNull), name)
	dir := [][]byte{operation(proto.OpPutRootFH, nil), operation(proto.OpLookup, xdr.AppendString(nil, "data"))}
	d, err := l.do(ctx, proto.OpOpen, b, dir...)
	if err != nil {
		return fmt.Errorf("OPEN: %w", err)
	}
	l.sid, l.locked = proto.DecodeStateID(&d), false
	if d, err = l.do(ctx, proto.OpGetFH, nil, append(dir, operation(proto.OpLookup, xdr.AppendString(nil, name)))...); err != nil {
		return fmt.Errorf("GETFH: %w", err)
	}
	l.file = append([]byte(nil), d.Opaque(proto.FHSize)...)
	return d.Err()
}

func (l *nfsLocker) lock(ctx context.Context, off uint64) (full bool, err error) {
	const write = 2
	b := xdr.AppendBool(xdr.AppendUint32(nil, write), false) // no reclaim
	b = xdr.AppendBool(xdr.AppendUint64(xdr.AppendUint64(b, off), 1), !l.locked)
	if !l.locked {
		b = xdr.AppendUint32(l.sid.Append(xdr.AppendUint32(b, 0)), 0)
		b = xdr.AppendString(xdr.AppendUint64(b, l.client), fmt.Sprint("owner ", l.owners))
	} else {
		b = xdr.AppendUint32(l.sid.Append(b), 0)
	}
	d, err := l.do(ctx, proto.OpLock, b, operation(proto.OpPutFH, xdr.AppendOpaque(nil, l.file)))
	if errors.Is(err, proto.ErrDelay) {
		return true, nil
	}
	if err == nil {
		l.sid, l.locked = proto.DecodeStateID(&d), true
	}
	return false, err
}

func (l *nfsLocker) unlock(ctx context.Context, off uint64) error {
	const write = 2
	b := l.sid.Append(xdr.AppendUint32(xdr.AppendUint32(nil, write), 0))
	b = xdr.AppendUint64(xdr.AppendUint64(b, off), 1)
	_, err := l.do(ctx, proto.OpLockU, b, operation(proto.OpPutFH, xdr.AppendOpaque(nil, l.file)))
	return err
}
