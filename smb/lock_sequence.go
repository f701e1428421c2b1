package smb

import "fileserver/smb/wire"

// maxLockIndex is the highest LockSequenceIndex that counts (MS-SMB2 3.3.1.10).
const maxLockIndex = 64

// lockSequences are the sequence numbers of an open's successful LOCK requests, by index. If a number comes again,
// the client has sent the request again, on another channel. The array holds the number plus 1; 0 means none.
// ranges.mu guards it.
type lockSequences [maxLockIndex]uint8

// sequenced reports whether lock sequence numbers count for the request: they do if the session has several channels
// (MS-SMB2 3.3.5.14). They would also count for durable opens, but this server has none.
func (r *request) sequenced(seq uint32) (index int, number uint8, ok bool) {
	n := r.conn.neg.Load()
	index, number = int(seq>>4), uint8(seq&0xf)+1
	ok = n.dialect >= wire.Dialect300 && n.serverCaps&wire.CapMultiChannel != 0 && index >= 1 && index <= maxLockIndex
	return index - 1, number, ok
}

// lockReplayed reports whether the same request has succeeded already.
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

// lockDone records that the LOCK has succeeded, and answers it.
func (r *request) lockDone(o *Open) wire.Status {
	if i, n, ok := r.sequenced(r.op.(*lockRequest).Sequence); ok {
		o.ranges.mu.Lock()
		o.ranges.sequences[i] = n
		o.ranges.mu.Unlock()
	}
	return r.replyEmpty()
}
