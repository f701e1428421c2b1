package smb

import (
	"sync/atomic"

	"fileserver/smb/wire"
)

// sequence is an open's ChannelSequence, with the number of requests in progress that have this number, and of those
// that have an earlier one (MS-SMB2 3.3.1.10). A client that has lost a channel takes the next number and sends its
// unanswered requests again. Requests of the lost channel that are still on their way must not run after those. The
// value has 16 bits for the number, and 24 for each count.
type sequence struct{ v atomic.Uint64 }

const (
	sequenceShift = 48
	earlierShift  = 24
	countMask     = 1<<24 - 1
)

// start sets the state of a new open, whose number is that of its CREATE.
func (s *sequence) start(n uint16) { s.v.Store(uint64(n) << sequenceShift) }

// begin counts a request. It returns false, and does not count the request, if the request's number is late, or if it
// is a replay while earlier requests are in progress (MS-SMB2 3.3.5.2.10).
func (s *sequence) begin(n uint16, replay bool) bool {
	for {
		old := s.v.Load()
		ahead := int16(n - uint16(old>>sequenceShift))
		current, earlier := old&countMask, old>>earlierShift&countMask
		if ahead < 0 || replay && earlier > 0 {
			return false
		}
		if ahead > 0 {
			earlier, current = earlier+current, 0
		}
		if s.v.CompareAndSwap(old, uint64(n)<<sequenceShift|earlier<<earlierShift|(current+1)) {
			return true
		}
	}
}

// end undoes the count of a request that begin has counted (MS-SMB2 3.3.4.1).
func (s *sequence) end(n uint16) {
	for {
		old := s.v.Load()
		one := uint64(1)
		if uint16(old>>sequenceShift) != n {
			one <<= earlierShift
		}
		if s.v.CompareAndSwap(old, old-one) {
			return
		}
	}
}

// inSequence checks and counts a request for an open. Late requests are refused only if they change something.
func (r *request) inSequence(o *Open) wire.Status {
	if r.counted != nil || r.conn.dialect() < wire.Dialect300 {
		return wire.StatusSuccess
	}
	if o.sequence.begin(r.hdr.ChannelSequence(), r.hdr.Flags&wire.FlagReplayOperation != 0) {
		r.counted = o
		return wire.StatusSuccess
	}
	switch r.hdr.Command {
	case wire.CmdWrite, wire.CmdSetInfo, wire.CmdIoctl:
		return wire.StatusFileNotAvailable
	}
	return wire.StatusSuccess
}
