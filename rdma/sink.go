package rdma

import (
	"errors"
	"fmt"

	"fileserver/internal/slab"
)

// A device with [Caps].ReadSinkNeedsRemoteWrite shows the peer, in each READ, a
// key by which it may write to where the data goes. An endpoint on such a device
// therefore reads into memory that serves no other purpose, registered in the
// connection's own protection domain, and copies the data when it has arrived. The peer
// can spoil only the data that it is sending, and none that has been checked.
const (
	// sinkSlots bounds the READs outstanding, and sinkChunk the bytes of each. Their
	// product is the memory of such a connection. It is four times the product of
	// bandwidth and delay of a fast network.
	sinkSlots = 16
	sinkChunk = 64 << 10
)

// sink is that memory. There is a slot for each READ credit. The endpoint's lock guards it.
type sink struct {
	buf   *slab.Buf
	mr    MR
	free  []int
	reads [sinkSlots]sinkRead
}

// sinkRead is where the data of a slot's READ goes: n bytes of buf from off.
type sinkRead struct {
	buf    *slab.Buf
	off, n int
}

// newSink takes and registers the memory for n READs. It does not wait.
func newSink(m *Memory, n int) (*sink, error) {
	buf, ok := m.pool.TryGet(n * sinkChunk)
	if !ok {
		return nil, fmt.Errorf("%w: %d bytes to read into", ErrNoMemory, n*sinkChunk)
	}
	mem := buf.Arena().Mem[buf.Offset():][: n*sinkChunk : n*sinkChunk]
	mr, err := m.pd.RegMR(mem, AccessLocalWrite|AccessRemoteWrite)
	if err != nil {
		buf.Release()
		return nil, fmt.Errorf("rdma: cannot register memory to read into: %w", err)
	}
	s := &sink{buf: buf, mr: mr}
	for i := range n {
		s.free = append(s.free, n-1-i)
	}
	return s, nil
}

// take gives a READ of n bytes for buf, from off, its slot.
func (s *sink) take(buf *slab.Buf, off, n int) (slot int, to SGE) {
	slot = s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.reads[slot] = sinkRead{buf, off, n}
	return slot, SGE{Addr: s.mr.Addr() + uint64(slot*sinkChunk), Length: uint32(n), LKey: s.mr.LKey()}
}

// put frees the slot.
func (s *sink) put(slot int) {
	s.reads[slot] = sinkRead{}
	s.free = append(s.free, slot)
}

// copy copies the data of the slot's READ to its buffer.
func (r *sinkRead) copy(s *sink, slot int) {
	from := s.buf.Arena().Mem[s.buf.Offset()+slot*sinkChunk:][:r.n]
	copy(r.buf.Arena().Mem[r.buf.Offset()+r.off:][:r.n], from)
}

// close releases the memory. No READ may be outstanding.
func (s *sink) close() error {
	err := s.mr.Deregister()
	s.buf.Release()
	return err
}

// sinkOf returns the sink of an endpoint, or nil if READs go straight into the buffers.
func sinkOf(dev Device, caps *Caps, cfg *EndpointConfig) (*sink, error) {
	if !caps.ReadSinkNeedsRemoteWrite || cfg.Memory.access&AccessRemoteWrite != 0 || cfg.ReadDepth == 0 {
		return nil, nil
	}
	if !cfg.Memory.own {
		return nil, errors.New("rdma: device " + dev.Name() + " wants a protection domain for each connection that reads, or memory registered for remote writing")
	}
	cfg.ReadDepth = min(cfg.ReadDepth, sinkSlots)
	return newSink(cfg.Memory, cfg.ReadDepth)
}
