package wire

// LeaseState says what a lease allows the client to cache (MS-SMB2 2.2.13.2.8).
type LeaseState uint32

// Bits of LeaseState.
const (
	LeaseReadCaching   LeaseState = 0x01
	LeaseHandleCaching LeaseState = 0x02
	LeaseWriteCaching  LeaseState = 0x04
)

// LeaseKey identifies a lease of a client (MS-SMB2 2.2.13.2.8).
type LeaseKey [16]byte

// Flags of leases (MS-SMB2 2.2.13.2.8, 2.2.13.2.10).
const (
	LeaseFlagBreakInProgress   uint32 = 0x00000002
	LeaseFlagParentLeaseKeySet uint32 = 0x00000004
)

// Lease is RqLs of either version, in requests and responses (MS-SMB2 2.2.13.2.8,
// 2.2.13.2.10, 2.2.14.2.10, 2.2.14.2.11).
type Lease struct {
	Version   int // 1 or 2
	Key       LeaseKey
	State     LeaseState
	Flags     uint32
	ParentKey LeaseKey // version 2
	Epoch     uint16   // version 2
}

// ParseLease reads the data of RqLs. Its length says which version it is.
func ParseLease(d []byte) (l Lease, err error) {
	switch len(d) {
	case 32:
		l.Version = 1
	case 52:
		l.Version = 2
		copy(l.ParentKey[:], d[32:])
		l.Epoch = le.Uint16(d[48:])
	default:
		return l, malformed("RqLs of %d bytes", len(d))
	}
	copy(l.Key[:], d)
	l.State = LeaseState(le.Uint32(d[16:]))
	l.Flags = le.Uint32(d[20:])
	return l, nil
}

// Append appends the data of RqLs.
func (l *Lease) Append(b []byte) []byte {
	b = append(b, l.Key[:]...)
	b = le.AppendUint32(b, uint32(l.State))
	b = le.AppendUint32(b, l.Flags)
	b = zeros(b, 8)
	if l.Version == 2 {
		b = append(b, l.ParentKey[:]...)
		b = le.AppendUint16(b, l.Epoch)
		b = append(b, 0, 0)
	}
	return b
}
