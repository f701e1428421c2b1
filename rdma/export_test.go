package rdma

// SinkSegment is what the peer could learn of where the endpoint's READs go; false: they go straight to their buffers.
func (e *Endpoint) SinkSegment() (Segment, bool) {
	if e.sink == nil {
		return Segment{}, false
	}
	return Segment{Addr: e.sink.mr.Addr(), Length: uint32(len(e.sink.mr.Bytes())), RKey: e.sink.mr.RKey()}, true
}
