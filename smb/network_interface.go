package smb

import "net/netip"

// Interface is an address of the server that clients may connect to (MS-SMB2 2.2.32.5).
type Interface struct {
	Index uint32 // of the network interface; the same for all its addresses
	Addr  netip.Addr
	Speed uint64 // of the link, bit/s
	RSS   bool   // receive-side scaling: several connections to it are useful
	RDMA  bool   // SMB Direct is served there
}
