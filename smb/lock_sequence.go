package smb

import "fileserver/smb/wire"

// maxLockIndex is the highest LockSequenceIndex that is looked at (MS-SMB2 3.3.1.10).
const maxLockIndex = 64

// lockSequences are the numbers of the LOCK requests that an open's client has had success with, by index: a number that comes again is
// a request sent again, on another channel. Stored is the number plus 1, 0 is none. ranges.mu guards them.
type lockSequences [maxLockIndex]uint8

// sequenced reports whether the client's lock sequences count: with several channels (MS-SMB2 3.3.5.14). Opens do not survive their
// connections, for which they would, too.
func (r *request) sequenced(seq uint32) (index int, number uint8, ok bool) {
	n := r.conn.neg.Load()
	index, number = int(seq>>4), uint8(seq&0xf)+1
	ok = n.dialect >= wire.Dialect300 && n.serverCaps&wire.CapMultiChannel != 0 && index >= 1 && index <= maxLockIndex
	return index - 1, number, ok
}

// lockReplayed reports whether the request has had success already.
func (r *request) lockReplayed(o *Open, seq uint32) bool {
	i, n, ok := r.sequenced(seq)
	if !ok {
		return false
	}
	s := &o.ranges
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sequences[i] == n {
		return true
	}
	s.sequences[i] = 0
	return false
}

// lockDone is the success of a LOCK.
func (r *request) lockDone(o *Open) wire.Status {
	if i, n, ok := r.sequenced(r.op.(*lockRequest).Sequence); ok {
		o.ranges.mu.Lock()
		o.ranges.sequences[i] = n
		o.ranges.mu.Unlock()
	}
	return r.replyEmpty()
}
