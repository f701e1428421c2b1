package wire

// OplockBreak is an oplock break. Notification, acknowledgment and response have the same layout (MS-SMB2 2.2.23.1,
// 2.2.24.1, 2.2.25.1).
type OplockBreak struct {
	Level  uint8
	FileID FileID
}

// LeaseBreakAck is a lease break acknowledgment or the response to it (MS-SMB2 2.2.24.2, 2.2.25.2).
type LeaseBreakAck struct {
	Flags uint32
	Key   LeaseKey
	State LeaseState
}

// LeaseBreakAckRequired is the flag of a LeaseBreak that waits for an acknowledgment (MS-SMB2 2.2.23.2).
const LeaseBreakAckRequired uint32 = 0x00000001

// LeaseBreak is a lease break notification (MS-SMB2 2.2.23.2).
type LeaseBreak struct {
	NewEpoch     uint16
	Flags        uint32
	Key          LeaseKey
	CurrentState LeaseState
	NewState     LeaseState
}

const (
	oplockBreakLen   = 24
	leaseBreakAckLen = 36
	leaseBreakLen    = 44
)

// IsLeaseBreak reports whether msg, whose command is OPLOCK_BREAK, is about a lease. The structure size tells the two
// kinds apart.
func IsLeaseBreak(msg []byte) bool {
	return len(msg) >= HeaderLen+2 && le.Uint16(msg[HeaderLen:]) != oplockBreakLen
}

// ParseOplockBreak reads the message msg.
func ParseOplockBreak(msg []byte) (r OplockBreak, err error) {
	b, err := body(msg, oplockBreakLen, oplockBreakLen)
	if err != nil {
		return r, err
	}
	return OplockBreak{b[2], getFileID(b[8:])}, nil
}

// Append appends the body.
func (r *OplockBreak) Append(b []byte, _ int) []byte {
	b = append(b, oplockBreakLen, 0, r.Level, 0, 0, 0, 0, 0)
	return r.FileID.append(b)
}

// ParseLeaseBreakAck reads the message msg.
func ParseLeaseBreakAck(msg []byte) (r LeaseBreakAck, err error) {
	b, err := body(msg, leaseBreakAckLen, leaseBreakAckLen)
	if err != nil {
		return r, err
	}
	return LeaseBreakAck{le.Uint32(b[4:]), LeaseKey(b[8:24]), LeaseState(le.Uint32(b[24:]))}, nil
}

// Append appends the body.
func (r *LeaseBreakAck) Append(b []byte, _ int) []byte {
	b = append(b, leaseBreakAckLen, 0, 0, 0)
	b = le.AppendUint32(b, r.Flags)
	b = append(b, r.Key[:]...)
	return zeros(le.AppendUint32(b, uint32(r.State)), 8)
}

// ParseLeaseBreak reads the notification msg.
func ParseLeaseBreak(msg []byte) (r LeaseBreak, err error) {
	b, err := body(msg, leaseBreakLen, leaseBreakLen)
	if err != nil {
		return r, err
	}
	return LeaseBreak{
		NewEpoch: le.Uint16(b[2:]), Flags: le.Uint32(b[4:]), Key: LeaseKey(b[8:24]),
		CurrentState: LeaseState(le.Uint32(b[24:])), NewState: LeaseState(le.Uint32(b[28:])),
	}, nil
}

// Append appends the body.
func (r *LeaseBreak) Append(b []byte, _ int) []byte {
	b = append(b, leaseBreakLen, 0)
	b = le.AppendUint16(b, r.NewEpoch)
	b = le.AppendUint32(b, r.Flags)
	b = append(b, r.Key[:]...)
	b = le.AppendUint32(b, uint32(r.CurrentState))
	b = le.AppendUint32(b, uint32(r.NewState))
	return zeros(b, 12)
}
