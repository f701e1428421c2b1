package interop

import (
	"encoding/binary"
	"fmt"
)

// Lengths of the messages on perftest's control connection. The client SENDs, and the
// server answers with as many bytes.
const (
	keysSize   = 56 // keys
	numberSize = 8  // a result, at the end of a bandwidth test
)

// keys describe a side's buffer (perftest's struct pingpong_dest, big endian, with the
// padding of 64-bit ABIs). The fields for InfiniBand and the peer's address are not
// kept, because rdma_cm makes the connection.
type keys struct {
	outReads uint32 // most READs outstanding
	qpn      uint32
	rkey     uint32
	addr     uint64
}

func (k keys) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, 0) // lid
	b = binary.BigEndian.AppendUint32(b, k.outReads)
	b = binary.BigEndian.AppendUint32(b, k.qpn)
	b = binary.BigEndian.AppendUint32(b, 0) // psn
	b = binary.BigEndian.AppendUint32(b, k.rkey)
	b = binary.BigEndian.AppendUint32(b, 0) // padding
	b = binary.BigEndian.AppendUint64(b, k.addr)
	return append(b, make([]byte, 24)...) // gid, srqn, gid_index
}

func parseKeys(b []byte) (keys, error) {
	if len(b) != keysSize {
		return keys{}, fmt.Errorf("interop: perftest: keys of %d bytes, not %d", len(b), keysSize)
	}
	return keys{
		outReads: binary.BigEndian.Uint32(b[4:]),
		qpn:      binary.BigEndian.Uint32(b[8:]),
		rkey:     binary.BigEndian.Uint32(b[16:]),
		addr:     binary.BigEndian.Uint64(b[24:]),
	}, nil
}
