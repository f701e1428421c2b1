package v4

import (
	"context"
	"hash/maphash"
	"slices"
	"time"
	"unicode/utf8"

	"fileserver/nfs"
	"fileserver/nfs/rpc"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

const (
	maxTag = 1024
	// opHeader is what the number and status of an operation take in the reply, bytes.
	opHeader = 8
)

// compound is a COMPOUND in execution (RFC 8881 16.2).
type compound struct {
	srv  *Server
	ctx  context.Context
	call *rpc.Call
	d    *xdr.Decoder
	r    *rpc.Reply
	now  time.Time
	took time.Duration // since call.Began, when the clock was last read

	minor uint32
	index int // of the operation in execution
	count int
	body  int // where in the reply the COMPOUND begins

	turn   state.Turn
	client *state.Client // of the session
	cache  bool          // sa_cachethis
	limit  int           // bytes the reply may have
	over   proto.Status  // what a longer one gets
	done   bool          // the reply is complete: nothing further is executed
	// replayed: the reply to a retry was not kept; all it gets is SEQUENCE's and an error.
	replayed bool

	cur, saved       target
	curSID, savedSID proto.StateID
	payloads         int // results eligible for direct placement so far

	credOf *nfs.Export // whose squashing cred went through
	cred   *vfs.Cred
	nodes  []vfs.Node // released at the end
	sums   [2]uint64
}

// compound is procedure COMPOUND.
func (s *Server) compound(ctx context.Context, call *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	c := s.pool.Get().(*compound)
	*c = compound{srv: s, ctx: ctx, call: call, d: &call.Args, r: r, now: s.now(call), body: len(r.Head), nodes: c.nodes[:0]}
	defer c.end()
	c.limit, c.over = 1<<30, proto.ErrRepTooBig
	tag := c.d.Opaque(maxTag)
	c.minor = c.d.Uint32()
	count := c.d.Uint32()
	if c.d.Err() != nil {
		return rpc.GarbageArgs
	}
	c.count = int(min(count, 1<<30))
	r.Head = xdr.AppendUint32(r.Head, 0)
	r.Head = xdr.AppendOpaque(r.Head, tag)
	counter := len(r.Head)
	r.Head = xdr.AppendUint32(r.Head, 0)

	status := proto.OK
	switch {
	case !slices.Contains(s.minors, c.minor):
		status = proto.ErrMinorVersMismatch
	case !utf8.Valid(tag):
		status = proto.ErrInval
	default:
		for c.index = 0; c.index < c.count && status == proto.OK && !c.done; c.index++ {
			if c.replayed {
				status = c.uncached()
			} else {
				status = c.step()
			}
		}
	}
	call.Status = uint32(status)
	if c.done { // a replay, complete as it is
		return rpc.Success
	}
	xdr.PutUint32(r.Head, c.body, uint32(status))
	xdr.PutUint32(r.Head, counter, uint32(c.index))
	if c.cache {
		c.turn.End(c.cacheable(), c.ended())
	}
	return rpc.Success
}

// end releases what the compound holds, after a panic too.
func (c *compound) end() {
	c.turn.End(nil, c.ended())
	for i, n := range c.nodes {
		n.Release()
		c.nodes[i] = nil
	}
	c.srv.pool.Put(c)
}

// now is the time of a call's execution. The clock is read as seldom as possible: to read it costs as
// much as some operations, and where the kernel does not map it into processes, a system call.
func (s *Server) now(call *rpc.Call) time.Time {
	if s.ownClock || call.Began.IsZero() {
		return s.cfg.Now()
	}
	return s.started.Add(call.Began.Sub(s.started))
}

// ended is the time at the end of the compound.
func (c *compound) ended() time.Time {
	if c.srv.ownClock {
		return c.srv.cfg.Now()
	}
	return c.now.Add(c.took)
}

// cacheable is the reply from the COMPOUND on, with payloads in their places.
func (c *compound) cacheable() []byte {
	if len(c.r.Payloads) == 0 {
		return c.r.Head[c.body:]
	}
	return c.r.AppendInline(nil)[c.body:]
}

// step executes one operation.
func (c *compound) step() proto.Status {
	before := c.took
	op := proto.Op(c.d.Uint32())
	info := c.info(op)
	if c.d.Err() != nil {
		info = nil
	}
	if info == nil {
		op = proto.OpIllegal
	}
	at := len(c.r.Head)
	c.r.Head = xdr.AppendUint32(c.r.Head, uint32(op))
	c.r.Head = xdr.AppendUint32(c.r.Head, 0)
	body := c.r.Mark()
	status := c.admit(info)
	if status == proto.OK {
		status = info.run(c)
		if c.done {
			return status
		}
		if c.r.Len() > c.limit {
			status = c.over
		}
	}
	switch status {
	case proto.OK, proto.ErrDenied, proto.ErrOffloadNoReqs: // these have results
	default:
		c.r.Rollback(body)
		if op == proto.OpSetAttr { // attrsset, whatever the status (RFC 8881 18.30.2)
			c.r.Head = xdr.AppendUint32(c.r.Head, 0)
		}
	}
	xdr.PutUint32(c.r.Head, at+4, uint32(status))
	if o := c.srv.observer(op); o != nil {
		if info == nil || !info.has(brief) {
			c.took = time.Since(c.call.Began)
		}
		o.Done(status, c.took-before)
	}
	return status
}

// admit checks the preconditions of an operation.
func (c *compound) admit(info *opInfo) proto.Status {
	switch {
	case info == nil && c.d.Err() != nil:
		return proto.ErrBadXDR
	case info == nil:
		return proto.ErrOpIllegal
	case c.index == 0 && !info.has(sessionless|sequence):
		return proto.ErrOpNotInSession
	case c.index == 0 && info.has(sessionless) && c.count > 1:
		return proto.ErrNotOnlyOp
	case c.index == 0 && info.has(sessionless) && !c.srv.cfg.Exports.Welcomes(c.call):
		// A client that no export admits gets no client ID and no session. RFC 8881 does not list this status for these
		// operations, but Linux reports it as "Operation not permitted", and the listed ones as an input/output error.
		return proto.ErrWrongSec
	case c.index > 0 && info.has(sequence):
		return proto.ErrSequencePos
	case c.index > 0 && info.has(alone):
		return proto.ErrNotOnlyOp
	case info.run == nil:
		return proto.ErrNotSupp
	case info.has(needCurrent) && !c.cur.isSet(), info.has(needSaved) && !c.saved.isSet():
		return proto.ErrNoFileHandle
	case info.has(mutates) && c.cur.readOnly():
		return proto.ErrROFS
	case info.room > 0 && c.r.Len()+info.room > c.limit:
		return c.over
	}
	return proto.OK
}

// badXDR is the status of a handler whose arguments did not decode.
func (c *compound) badXDR() bool { return c.d.Err() != nil }

// next is the number of the operation that follows, or 0.
func (c *compound) next() proto.Op {
	if c.index+1 >= c.count {
		return 0
	}
	d := xdr.NewDecoder(c.d.Rest())
	return proto.Op(d.Uint32())
}

// append appends to the reply.
func (c *compound) uint32(v uint32) { c.r.Head = xdr.AppendUint32(c.r.Head, v) }
func (c *compound) uint64(v uint64) { c.r.Head = xdr.AppendUint64(c.r.Head, v) }
func (c *compound) bool(v bool)     { c.r.Head = xdr.AppendBool(c.r.Head, v) }

// room is how many bytes the reply may still grow by, as the session and the transport have it.
func (c *compound) room() int {
	return max(0, min(c.limit, c.call.Limits.Inline)-c.r.Len())
}

var sumSeed = maphash.MakeSeed()

// sum identifies the request among those of a slot: what follows SEQUENCE, of long requests only the
// beginning, which is the same however a transport moves the data, and who sent it.
func (c *compound) sum() uint64 {
	rest := c.d.Rest()
	if len(rest) > 1024 || len(c.d.Chunks()) > 0 {
		rest = rest[:min(len(rest), 64)]
	}
	c.sums = [2]uint64{maphash.Bytes(sumSeed, rest), uint64(c.call.Flavor)<<32 | uint64(c.call.Cred.UID)}
	return maphash.Comparable(sumSeed, c.sums)
}
