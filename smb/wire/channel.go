package wire

// Channel says how the data of a READ or WRITE travels (MS-SMB2 2.2.19, 2.2.21).
type Channel uint32

// Channels.
const (
	ChannelNone             Channel = 0
	ChannelRDMAV1           Channel = 1
	ChannelRDMAV1Invalidate Channel = 2
	ChannelRDMATransform    Channel = 3
)

// RDMA reports whether the data travels by RDMA.
func (c Channel) RDMA() bool { return c >= ChannelRDMAV1 && c <= ChannelRDMATransform }

// channelInfo returns the channel info of a READ or WRITE. Without a channel its fields are ignored.
func channelInfo(msg []byte, c Channel, off, length uint16) ([]byte, error) {
	if !c.RDMA() {
		return nil, nil
	}
	return span(msg, uint64(off), uint64(length))
}

const descriptorLen = 16

// MaxDescriptors is the largest number of descriptors in a request: the length of the channel info has 16 bits.
const MaxDescriptors = 0xffff / descriptorLen

// Descriptors is a list of SMBDirect Buffer Descriptors V1 in wire form (MS-SMBD 2.2.3.1).
type Descriptors []byte

// ParseDescriptors checks that info is a list of descriptors and not empty.
func ParseDescriptors(info []byte) (Descriptors, error) {
	if len(info) == 0 || len(info)%descriptorLen != 0 {
		return nil, malformed("descriptors of %d bytes", len(info))
	}
	return Descriptors(info), nil
}

// Len returns the number of descriptors.
func (d Descriptors) Len() int { return len(d) / descriptorLen }

// At returns descriptor i.
func (d Descriptors) At(i int) (offset uint64, token, length uint32) {
	b := d[descriptorLen*i:]
	return le.Uint64(b), le.Uint32(b[8:]), le.Uint32(b[12:])
}

// Total returns the sum of the lengths, bytes.
func (d Descriptors) Total() uint64 {
	n := uint64(0)
	for i := range d.Len() {
		_, _, length := d.At(i)
		n += uint64(length)
	}
	return n
}

// Add appends a descriptor.
func (d *Descriptors) Add(offset uint64, token, length uint32) {
	b := le.AppendUint64(*d, offset)
	*d = le.AppendUint32(le.AppendUint32(b, token), length)
}
