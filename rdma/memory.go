package rdma

// Access is what a memory region allows (enum ibv_access_flags).
type Access uint8

// Access flags. Local reading is always allowed.
const (
	AccessLocalWrite Access = 1 << iota // sink of a RECV or a READ
	AccessRemoteWrite
	AccessRemoteRead
	AccessRemoteAtomic
)

// PD is a protection domain: keys made in one work with the queue pairs made in it.
type PD interface {
	// RegMR registers mem, which must lie outside the Go heap (package slab) and
	// stay mapped until [MR.Deregister].
	RegMR(mem []byte, access Access) (MR, error)
	// Dealloc releases the domain. It fails while regions or queue pairs of it exist.
	Dealloc() error
}

// MR is a registered memory region.
type MR interface {
	// Bytes is the registered memory.
	Bytes() []byte
	// Addr is the address by which work requests, local and remote, name the first byte.
	Addr() uint64
	// LKey names the region in local scatter/gather elements.
	LKey() uint32
	// RKey is the key (iWARP: STag) by which a peer names the region. Zero
	// unless a remote access was asked for.
	RKey() uint32
	// Deregister ends the region. It waits for no work request: the caller does.
	Deregister() error
}

// SGE is a scatter/gather element: length bytes at an address inside a region (struct ibv_sge).
type SGE struct {
	Addr   uint64
	Length uint32
	LKey   uint32
}

// Segment is a range of a peer's memory: an RPC-over-RDMA segment (RFC 8166
// 3.4.1) or an SMB Direct buffer descriptor (MS-SMBD 2.2.3.1).
type Segment struct {
	Addr   uint64
	Length uint32
	RKey   uint32
}
