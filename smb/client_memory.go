package smb

import (
	"fileserver/internal/slab"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// clientMemory is the part of a READ or WRITE that concerns the client's memory.
type clientMemory struct {
	into     []transport.Descriptor // empty: the data is in the messages. The slice's storage is reused
	token    uint32                 // to be invalidated with the response
	hasToken bool
	place    transport.Piece // data to be written there before the client sees the response
	data     *slab.Buf       // data that was read from there
}

// remoteMemory checks the channel and the channel info of a READ or WRITE, and stores the client's memory that they
// describe in r.into. Without RDMA r.into stays empty (MS-SMB2 3.3.5.12, 3.3.5.13).
func (r *request) remoteMemory() wire.Status {
	r.into = r.into[:0]
	ch, d := r.needs.channel, r.conn.dialect()
	switch {
	case d < wire.Dialect300 || ch == wire.ChannelNone:
		return wire.StatusSuccess
	case r.conn.placer == nil || !ch.RDMA() || ch == wire.ChannelRDMATransform:
		return wire.StatusInvalidParameter
	case ch == wire.ChannelRDMAV1Invalidate && d < wire.Dialect302:
		return wire.StatusInvalidParameter
	case r.encrypted():
		return wire.StatusAccessDenied // the data would be sent unencrypted
	}
	list, err := wire.ParseDescriptors(r.needs.info)
	if err != nil {
		return wire.StatusInvalidParameter
	}
	for i := range list.Len() {
		var t transport.Descriptor
		t.Offset, t.Token, t.Length = list.At(i)
		r.into = append(r.into, t)
	}
	return wire.StatusSuccess
}

// noteToken stores the token that the response has to invalidate (MS-SMB2 3.3.4.1). It runs before anything can fail,
// because every final response invalidates the token.
func (r *request) noteToken() {
	if r.needs.channel != wire.ChannelRDMAV1Invalidate || r.conn.placer == nil || r.conn.dialect() < wire.Dialect302 {
		return
	}
	if list, err := wire.ParseDescriptors(r.needs.info); err == nil {
		_, r.token, _ = list.At(0)
		r.hasToken = true
	}
}

// pull begins to read n bytes of the client's memory, r.into, into r.data, and makes the request wait for them.
func (r *request) pull(n int) wire.Status {
	var err error
	if r.data, err = r.conn.memory(n); err != nil {
		return statusDrop
	}
	r.beginWait()
	if err := r.conn.placer.Read(r.data, 0, n, r.into, r); err != nil {
		r.conn.log.Debug("smb: RDMA READ refused", "err", err)
		r.wait = nil
		return wire.StatusInvalidParameter
	}
	return statusParked
}

// Completed implements [transport.Completion] for pull.
func (r *request) Completed(err error) {
	st := wire.StatusSuccess
	if err != nil {
		r.conn.log.Debug("smb: RDMA READ failed", "err", err)
		st = wire.StatusInvalidParameter
	}
	r.ownWait.end(st)
}

// placeInto arranges that n bytes of buf, from off on, are written to the client's memory, r.into, before the client
// sees the response. It takes over the reference to buf.
func (r *clientMemory) placeInto(buf *slab.Buf, off, n int) {
	r.place = transport.Piece{Buf: buf, Off: off, Len: n}
}

// intoLen returns the size, in bytes, of the client's memory that the request names.
func (r *clientMemory) intoLen() uint64 {
	n := uint64(0)
	for i := range r.into {
		n += uint64(r.into[i].Length)
	}
	return n
}
