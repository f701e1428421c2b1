package smb

import (
	"fileserver/internal/slab"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// clientMemory is what a READ or WRITE has to do with the client's memory.
type clientMemory struct {
	into     []transport.Descriptor // empty: the data is in the messages; storage is kept
	token    uint32                 // to be invalidated with the response
	hasToken bool
	place    transport.Piece // to be written there before the client sees the response
	data     *slab.Buf       // what has been read from there
}

// remoteMemory checks channel and channel info of a READ or WRITE and finds the client's memory in them: r.into. Without RDMA
// that is empty (MS-SMB2 3.3.5.12, 3.3.5.13).
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
		return wire.StatusAccessDenied // the data would travel in the clear
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

// noteToken finds the token that the response has to invalidate (MS-SMB2 3.3.4.1): before
// anything can fail, because every final response does.
func (r *request) noteToken() {
	if r.needs.channel != wire.ChannelRDMAV1Invalidate || r.conn.placer == nil || r.conn.dialect() < wire.Dialect302 {
		return
	}
	if list, err := wire.ParseDescriptors(r.needs.info); err == nil {
		_, r.token, _ = list.At(0)
		r.hasToken = true
	}
}

// pull has n bytes of the client's memory, r.into, be read into r.data, and waits for them.
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

// placeInto has n bytes of buf from off placed in the client's memory, r.into, before it sees
// the response. It takes over the reference.
func (r *clientMemory) placeInto(buf *slab.Buf, off, n int) {
	r.place = transport.Piece{Buf: buf, Off: off, Len: n}
}

// intoLen is how much of the client's memory the request names, bytes.
func (r *clientMemory) intoLen() uint64 {
	n := uint64(0)
	for i := range r.into {
		n += uint64(r.into[i].Length)
	}
	return n
}
