package smbdirect

import (
	"encoding/binary"

	"fileserver/rdma"
)

// legacyLen is the length of the private data that carries IRD and ORD on iWARP:
// MPA revision 1 has no fields for them (MS-SMBD 6, appendix).
const legacyLen = 8

// legacy reads the peer's IRD and ORD from that private data. Both are small; some old
// clients write them in the wrong byte order.
func legacy(b []byte) (ird, ord int, ok bool) {
	if len(b) < legacyLen {
		return 0, 0, false
	}
	for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
		i, o := order.Uint32(b), order.Uint32(b[4:])
		if i > 0 && i < 1<<16 && o < 1<<16 {
			return int(i), int(o), true
		}
	}
	return 0, 0, false
}

func appendLegacy(b []byte, ird, ord int) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(min(ird, 255)))
	return binary.BigEndian.AppendUint32(b, uint32(min(ord, 255)))
}

// acceptParams answers a request for a connection. If the wire has negotiated
// the IRD and ORD of the private data already, the reply has no private data.
func acceptParams(id rdma.ID, reads int) rdma.ConnParams {
	p := rdma.ConnParams{IRD: 0, ORD: reads, RNRRetry: 7}
	if id.Device().Caps().Transport != rdma.TransportIWARP {
		return p
	}
	remote := id.Remote()
	ird, ord, ok := legacy(remote.PrivateData)
	if !ok || ird == remote.ORD && ord == remote.IRD {
		return p
	}
	p.ORD = min(p.ORD, ird)
	p.PrivateData = appendLegacy(nil, 1, p.ORD)
	return p
}

// connectPrivate returns the private data of a client: IRD and ORD on iWARP, whatever the revision of MPA.
func connectPrivate(id rdma.ID, p rdma.ConnParams) []byte {
	if id.Device().Caps().Transport != rdma.TransportIWARP {
		return nil
	}
	return appendLegacy(nil, p.IRD, max(p.ORD, 1))
}
