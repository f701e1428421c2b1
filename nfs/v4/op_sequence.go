package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/nfs/xdr"
)

type sequenceArgs struct {
	session            proto.SessionID
	seq, slot, highest uint32
	cache              bool
}

func (a *sequenceArgs) decode(c *compound) bool {
	a.session = proto.DecodeSessionID(c.d)
	a.seq, a.slot, a.highest, a.cache = c.d.Uint32(), c.d.Uint32(), c.d.Uint32(), c.d.Bool()
	return c.badXDR()
}

// sequence is SEQUENCE (RFC 8881 18.46). With SP4_NONE any connection may be used without being bound.
func (c *compound) sequence() proto.Status {
	size := int(c.d.Pos()) + c.d.Len()
	for _, k := range c.d.Chunks() {
		size += len(k.Data)
	}
	var a sequenceArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	s := c.srv.clients.Session(&a.session)
	if s == nil {
		return proto.ErrBadSession
	}
	q := state.Sequence{Conn: c.call.Conn.ID, Seq: a.seq, Slot: a.slot, Highest: a.highest, CacheThis: a.cache, Ops: c.count, Size: size, Sum: c.sum()}
	turn, head, st := s.Begin(&q, c.r.Head[:c.body], c.now)
	if st != proto.OK {
		return st
	}
	c.turn = turn
	if turn.Cached {
		c.r.Head, c.done = head, true
		return proto.OK
	}
	c.client = s.Client
	c.limit = int(s.Fore.MaxResponse) - opHeader // the last operation may fail
	if a.cache {
		if cached := int(s.Fore.MaxResponseCached) - opHeader; cached < c.limit {
			c.limit, c.over = cached, proto.ErrRepTooBigToCache
		}
		c.cache = true
	}
	c.r.Head = append(c.r.Head, a.session[:]...)
	highest := s.Fore.MaxRequests - 1
	for _, v := range [...]uint32{a.seq, a.slot, highest, highest, 0} {
		c.uint32(v)
	}
	if turn.Replay && c.count > 1 { // its reply was not kept: nothing is executed
		c.count, c.replayed = 2, true
	}
	return proto.OK
}

// uncached refuses the operation behind SEQUENCE of a replay whose reply was not kept.
func (c *compound) uncached() proto.Status {
	op := c.d.Uint32()
	c.r.Head = xdr.AppendUint32(c.r.Head, op)
	c.uint32(uint32(proto.ErrRetryUncachedRep))
	return proto.ErrRetryUncachedRep
}
