package smb_test

import (
	"bytes"
	"testing"

	"fileserver/rdma"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// The tests of this file and of rdma_invalidate_test.go and rdma_multichannel_test.go carry the names of the cases of Microsoft's
// MS-SMBD test suite that they stand for: those in which SMB2 meets SMB Direct. Those of the transport alone are in package smbdirect.

// newest is the dialect of cases in which that makes no difference.
var newest = []wire.Dialect{wire.Dialect311}

func TestBVT_Smb2OverRdmaChannel_ReadLargeFile(t *testing.T) { readOverRDMA(t, 1) }

func TestSmb2OverRdmaChannel_ReadMultipleOperation(t *testing.T) { readOverRDMA(t, 64) }

func TestBVT_Smb2OverRdmaChannel_WriteLargeFile(t *testing.T) { writeOverRDMA(t, 1) }

func TestSmb2OverRdmaChannel_WriteMultipleOperation(t *testing.T) { writeOverRDMA(t, 64) }

// readOverRDMA reads a file as large as the largest READ in so many operations, each into memory of its own.
func readOverRDMA(t *testing.T, operations int) {
	overRDMA(t, all3x, func(t *testing.T, _ *world, _ string, p *peer) {
		size := int(p.Negotiate.MaxReadSize)
		id, want := p.create("large"), noise(size)
		from := p.register(t, size, rdma.AccessRemoteRead)
		copy(from.bytes(), want)
		p.write(id, 0, size, wire.ChannelRDMAV1, from.at)
		for i, n := 0, size/operations; i < operations; i++ {
			into := p.register(t, n, rdma.AccessRemoteWrite)
			p.read(id, uint64(i*n), n, wire.ChannelRDMAV1, into.at)
			if !bytes.Equal(into.bytes(), want[i*n:][:n]) {
				t.Fatalf("operation %d brings other bytes", i)
			}
		}
		p.closeFile(id)
	})
}

// writeOverRDMA writes as much as the largest WRITE takes in so many operations, all with the same bytes, and reads them back.
func writeOverRDMA(t *testing.T, operations int) {
	overRDMA(t, all3x, func(t *testing.T, _ *world, _ string, p *peer) {
		n := int(p.Negotiate.MaxWriteSize) / operations
		id, want := p.create("written"), noise(n)
		for i := range operations {
			from := p.register(t, n, rdma.AccessRemoteRead)
			copy(from.bytes(), want)
			p.write(id, uint64(i*n), n, wire.ChannelRDMAV1, from.at)
		}
		into := p.register(t, n, rdma.AccessRemoteWrite)
		for i := range operations {
			clear(into.bytes())
			p.read(id, uint64(i*n), n, wire.ChannelRDMAV1, into.at)
			if !bytes.Equal(into.bytes(), want) {
				t.Fatalf("other bytes at %d", i*n)
			}
		}
		p.closeFile(id)
	})
}

// As many descriptors as a request can name, each of a key of its own; the last ones are cut, or not needed.
func TestSmb2OverRdmaChannel_ReadWriteMultipleBufferDescriptorList(t *testing.T) {
	overRDMA(t, newest, func(t *testing.T, _ *world, _ string, p *peer) {
		size := int(min(p.Negotiate.MaxReadSize, p.Negotiate.MaxWriteSize))
		each := size/wire.MaxDescriptors + 1
		register := func(a rdma.Access) (mem []byte, list []transport.Descriptor, done func()) {
			buf := p.lease(t, each*wire.MaxDescriptors)
			var regions []*region
			for i := range wire.MaxDescriptors {
				r := p.registerIn(t, buf, i*each, each, a)
				regions, list = append(regions, r), append(list, r.at)
			}
			return buf.Bytes(), list, func() {
				for _, r := range regions {
					r.close(t)
				}
			}
		}
		id, want := p.create("list"), noise(size)
		mem, from, done := register(rdma.AccessRemoteRead)
		copy(mem, want)
		p.write(id, 0, size, wire.ChannelRDMAV1, from...)
		done()
		mem, into, done := register(rdma.AccessRemoteWrite)
		clear(mem)
		p.read(id, 0, size, wire.ChannelRDMAV1, into...)
		done()
		if !bytes.Equal(mem[:size], want) || !bytes.Equal(mem[size:each*wire.MaxDescriptors], make([]byte, each*wire.MaxDescriptors-size)) {
			t.Error("other bytes came back")
		}
		p.closeFile(id)
	})
}

// badDescriptor has the server use a descriptor that change has spoiled, for READ and for WRITE. The device refuses, and that is the end
// of the connection; the server goes on.
func badDescriptor(t *testing.T, change func(t *testing.T, r *region, d *transport.Descriptor)) {
	overRDMA(t, newest, func(t *testing.T, w *world, provider string, p *peer) {
		size := int(p.Negotiate.MaxReadSize)
		id := p.create("large")
		from := p.register(t, size, rdma.AccessRemoteRead)
		p.write(id, 0, size, wire.ChannelRDMAV1, from.at)
		into := p.register(t, size-1, rdma.AccessRemoteWrite)
		d := into.at
		change(t, into, &d)
		p.ends(readRequest(id, 0, min(size, int(d.Length)), wire.ChannelRDMAV1, d))

		p = w.newPeer(t, provider, p.Dialect)
		id = p.create("large")
		from = p.register(t, size-1, rdma.AccessRemoteRead)
		d = from.at
		change(t, from, &d)
		p.refuses(writeRequest(id, 0, min(size, int(d.Length)), wire.ChannelRDMAV1, d))

		p = w.newPeer(t, provider, p.Dialect)
		p.closeFile(p.create("large"))
	})
}

func TestSmb2OverRdmaChannel_InvalidBufferDescriptor_Offset(t *testing.T) {
	badDescriptor(t, func(_ *testing.T, r *region, d *transport.Descriptor) { d.Offset += uint64(r.n) + 1 })
}

func TestSmb2OverRdmaChannel_InvalidBufferDescriptor_Length(t *testing.T) {
	badDescriptor(t, func(_ *testing.T, _ *region, d *transport.Descriptor) { d.Length++ })
}

func TestSmb2OverRdmaChannel_InvalidBufferDescriptor_Token(t *testing.T) {
	badDescriptor(t, func(_ *testing.T, _ *region, d *transport.Descriptor) { d.Token++ })
}

func TestSmb2OverRdmaChannel_InvalidBufferDescriptor_DeregisteredBuffer(t *testing.T) {
	badDescriptor(t, func(t *testing.T, r *region, _ *transport.Descriptor) { r.close(t) })
}
