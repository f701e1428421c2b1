package client

import (
	"context"
	"fmt"

	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

// compound builds, sends and parses one COMPOUND at a time (RFC 8881 16.2). One goroutine uses it.
type compound struct {
	io
	m     *clientV4
	count int    // of operations
	slot4 uint32 // the session's slot
	d     xdr.Decoder
}

// Positions and lengths in a COMPOUND with an empty tag, bytes.
const (
	countAt    = 4 + 4           // in the arguments
	sequenceAt = countAt + 4 + 4 // the body of SEQUENCE, the first operation
	// headLen is the part of the results before those of the operations: status, tag, count.
	headLen = 4 + 4 + 4
	// sequenceLen is the result of SEQUENCE, and putFHLen that of PUTFH: operation, status, body.
	sequenceLen = 4 + 4 + 16 + 5*4
	putFHLen    = 4 + 4
)

// bare begins a COMPOUND without SEQUENCE.
func (r *compound) bare() {
	r.args = append(r.args[:0], 0, 0, 0, 0) // no tag
	r.args = xdr.AppendUint32(r.args, r.m.minor)
	r.args = xdr.AppendUint32(r.args, 0)
	r.count = 0
	r.call = Call{Prog: progNFS, Vers: versNFS4, Proc: procCompound}
}

// begin begins a COMPOUND with SEQUENCE (RFC 8881 18.46), which run fills in.
func (r *compound) begin() {
	r.bare()
	r.op(proto.OpSequence)
	r.args = append(r.args, r.m.session[:]...)
	for range 4 { // sequence ID, slot, highest slot, cachethis
		r.args = xdr.AppendUint32(r.args, 0)
	}
}

// op begins an operation.
func (r *compound) op(o proto.Op) {
	r.count++
	r.args = xdr.AppendUint32(r.args, uint32(o))
	xdr.PutUint32(r.args, countAt, uint32(r.count))
}

// at sets the current file handle to h, or to the root if h is nil.
func (r *compound) at(h []byte) {
	if h == nil {
		r.op(proto.OpPutRootFH)
		return
	}
	r.op(proto.OpPutFH)
	r.args = xdr.AppendOpaque(r.args, h)
}

// send sends the COMPOUND unchanged. The decoder is at the first operation's result.
func (r *compound) send(ctx context.Context) (*xdr.Decoder, error) {
	r.call.Args = r.args
	if err := r.slot.Do(ctx, &r.call); err != nil {
		return nil, err
	}
	pos := headLen + sequenceLen + putFHLen + 4 + 4 + 4 + 4 // the data of a READ follows its operation, status, eof, length
	r.d = r.decoder(pos)
	d := &r.d
	st := proto.Status(d.Uint32())
	d.Opaque(1024)
	if n := d.Uint32(); n == 0 && d.Err() == nil {
		return nil, fmt.Errorf("COMPOUND: %w", st)
	}
	return d, d.Err()
}

// run sends the COMPOUND in a slot of the session and checks the result of SEQUENCE.
func (r *compound) run(ctx context.Context) (*xdr.Decoder, error) {
	m := r.m
	select {
	case r.slot4 = <-m.slots:
	default:
		select {
		case r.slot4 = <-m.slots:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer func() { m.slots <- r.slot4 }()
	m.seq[r.slot4]++
	xdr.PutUint32(r.args, sequenceAt+16, m.seq[r.slot4])
	xdr.PutUint32(r.args, sequenceAt+20, r.slot4)
	xdr.PutUint32(r.args, sequenceAt+24, uint32(cap(m.slots)-1))
	d, err := r.send(ctx)
	if err == nil {
		err = r.result(d, proto.OpSequence)
	}
	if err != nil {
		m.seq[r.slot4]-- // it was not executed
		return nil, err
	}
	d.Fixed(16 + 5*4)
	return d, d.Err()
}

// result consumes an operation's number and status. A status other than success is returned as an [OpError].
func (r *compound) result(d *xdr.Decoder, want proto.Op) error {
	op, st := proto.Op(d.Uint32()), proto.Status(d.Uint32())
	if err := d.Err(); err != nil {
		return err
	}
	if op != want && !(want == proto.OpPutFH && op == proto.OpPutRootFH) {
		return fmt.Errorf("operation %d was answered by %d: %w", want, op, st)
	}
	if st != proto.OK {
		return &OpError{op, st}
	}
	return nil
}

// results consumes results without a body.
func (r *compound) results(d *xdr.Decoder, want ...proto.Op) error {
	for _, op := range want {
		if err := r.result(d, op); err != nil {
			return err
		}
	}
	return nil
}

// attrs consumes the result of GETATTR and returns a decoder at the first attribute.
func (r *compound) attrs(d *xdr.Decoder) (*xdr.Decoder, error) {
	if err := r.result(d, proto.OpGetAttr); err != nil {
		return nil, err
	}
	proto.DecodeBitmap(d)
	vals := xdr.NewDecoder(d.Opaque(64 << 10))
	return &vals, d.Err()
}

// OpError is an operation that failed.
type OpError struct {
	Op     proto.Op
	Status proto.Status
}

var opNames = map[proto.Op]string{
	proto.OpClose: "CLOSE", proto.OpCommit: "COMMIT", proto.OpGetAttr: "GETATTR", proto.OpGetFH: "GETFH", proto.OpLookup: "LOOKUP",
	proto.OpOpen: "OPEN", proto.OpPutFH: "PUTFH", proto.OpPutRootFH: "PUTROOTFH", proto.OpRead: "READ", proto.OpRemove: "REMOVE",
	proto.OpWrite: "WRITE", proto.OpExchangeID: "EXCHANGE_ID", proto.OpCreateSession: "CREATE_SESSION", proto.OpSequence: "SEQUENCE",
	proto.OpReclaimComplete: "RECLAIM_COMPLETE",
}

// Error implements error.
func (e *OpError) Error() string { return opNames[e.Op] + ": " + e.Status.String() }

// Unwrap returns the status.
func (e *OpError) Unwrap() error { return e.Status }
