package rdma

import (
	"errors"
	"fmt"

	"fileserver/internal/slab"
)

// A device with [Caps].ReadSinkNeedsRemoteWrite shows the peer, in each READ, a
// key by which it may write to where the data goes. An endpoint on such a device
// therefore reads into memory that it keeps for nothing else, registered in the
// connection's own protection domain, and copies what has arrived: the peer can
// spoil no more than what it is just sending, and nothing that has been looked at.
const (
	// sinkSlots bounds the READs outstanding there, and sinkChunk is the most that
	// one of them brings, bytes. Together they are what such a connection costs; the
	// product of the bandwidth and the delay of a fast network is a quarter of it.
	sinkSlots = 16
	sinkChunk = 64 << 10
)

// sink is that memory. Each READ outstanding has a slot, so that whoever has a
// credit has a slot. The endpoint's lock guards it.
type sink struct {
	buf   *slab.Buf
	mr    MR
	free  []int
	reads [sinkSlots]sinkRead
}

// sinkRead says what a slot's READ brings: n bytes for buf, from off.
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

// put takes the slot back.
func (s *sink) put(slot int) {
	s.reads[slot] = sinkRead{}
	s.free = append(s.free, slot)
}

// copy brings the data of the slot's READ to where it belongs.
func (r *sinkRead) copy(s *sink, slot int) {
	from := s.buf.Arena().Mem[s.buf.Offset()+slot*sinkChunk:][:r.n]
	copy(r.buf.Arena().Mem[r.buf.Offset()+r.off:][:r.n], from)
}

// close gives the memory back; nothing is outstanding.
func (s *sink) close() error {
	err := s.mr.Deregister()
	s.buf.Release()
	return err
}

// sinkOf decides how an endpoint reads: nil is straight into its users' buffers.
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
