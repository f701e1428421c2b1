package smb

import (
	"sync/atomic"

	"fileserver/smb/wire"
)

// sequence is an open's ChannelSequence, and how many requests of that number, and of earlier ones, are being handled (MS-SMB2
// 3.3.1.10). A client that has lost a channel takes the next number and sends again what was not answered: what the lost channel still
// has on its way must not come after that. 16 bits are the number, 24 each the counts.
type sequence struct{ v atomic.Uint64 }

const (
	sequenceShift = 48
	earlierShift  = 24
	countMask     = 1<<24 - 1
)

// start is the state of a new open: the number is that of its CREATE.
func (s *sequence) start(n uint16) { s.v.Store(uint64(n) << sequenceShift) }

// begin counts a request; false if it is late, or says to be a replay while earlier ones are being handled: it is not
// counted then (MS-SMB2 3.3.5.2.10).
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

// end is the end of a request that was counted (MS-SMB2 3.3.4.1).
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

// inSequence checks and counts a request for an open. Of those that are late only what changes something is refused.
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
