package wire

// LockFlags say whether and how a range is locked, or that it is unlocked (MS-SMB2 2.2.26.1).
type LockFlags uint32

// Flags of locks.
const (
	LockFlagShared          LockFlags = 0x00000001
	LockFlagExclusive       LockFlags = 0x00000002
	LockFlagUnlock          LockFlags = 0x00000004
	LockFlagFailImmediately LockFlags = 0x00000010
)

// LockElement is an SMB2_LOCK_ELEMENT (MS-SMB2 2.2.26.1).
type LockElement struct {
	Offset, Length uint64 // bytes
	Flags          LockFlags
}

const lockElementLen = 24

// LockElements is a list of SMB2_LOCK_ELEMENTs in wire form.
type LockElements []byte

// Len returns the number of elements.
func (l LockElements) Len() int { return len(l) / lockElementLen }

// At returns element i.
func (l LockElements) At(i int) LockElement {
	b := l[lockElementLen*i:]
	return LockElement{le.Uint64(b), le.Uint64(b[8:]), LockFlags(le.Uint32(b[16:]))}
}

// Add appends an element.
func (l *LockElements) Add(e LockElement) {
	b := le.AppendUint64(*l, e.Offset)
	b = le.AppendUint64(b, e.Length)
	*l = le.AppendUint32(le.AppendUint32(b, uint32(e.Flags)), 0)
}

// LockRequest is an SMB2 LOCK Request (MS-SMB2 2.2.26). Its response is empty.
type LockRequest struct {
	// Sequence has the LockSequenceNumber in its low 4 bits and the LockSequenceIndex above them; reserved in 2.0.2.
	Sequence uint32
	FileID   FileID
	Locks    LockElements // at least one
}

// ParseLockRequest reads the request msg.
func ParseLockRequest(msg []byte) (r LockRequest, err error) {
	b, err := body(msg, 48, 48)
	if err != nil {
		return r, err
	}
	r.Sequence = le.Uint32(b[4:])
	r.FileID = getFileID(b[8:])
	n := uint64(le.Uint16(b[2:]))
	if n == 0 {
		return r, malformed("no locks")
	}
	r.Locks, err = span(msg, HeaderLen+24, n*lockElementLen)
	return r, err
}

// Append appends the body of the request.
func (r *LockRequest) Append(b []byte, _ int) []byte {
	b = le.AppendUint16(b, 48)
	b = le.AppendUint16(b, uint16(r.Locks.Len()))
	b = le.AppendUint32(b, r.Sequence)
	return append(r.FileID.append(b), r.Locks...)
}
