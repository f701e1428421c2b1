// Package transport is the interface between the SMB server and its transports: messages in both directions and, with
// RDMA, access to the client's memory. TCP (smb/tcp) and SMB Direct (package smbdirect) provide it.
package transport

import (
	"net/netip"

	"fileserver/internal/slab"
)

// Descriptor is an SMBDirect Buffer Descriptor V1 (MS-SMBD 2.2.3.1): a range of
// the peer's memory.
type Descriptor struct {
	Offset uint64
	Token  uint32
	Length uint32
}

// Piece is a part of a buffer, by reference. The owner of a Piece owns one reference of Buf.
type Piece struct {
	Buf      *slab.Buf
	Off, Len int
}

// Bytes is the piece's data.
func (p *Piece) Bytes() []byte { return p.Buf.Bytes()[p.Off : p.Off+p.Len] }

// Outgoing is a message to be sent, without any transport framing.
type Outgoing struct {
	// Pieces make the message, one after the other.
	Pieces []Piece
	// Place is data that the transport writes to the peer's memory, Into, before the peer sees the message. It needs a
	// connection with a Placer.
	Place []Piece
	Into  []Descriptor
	// Invalidate is the peer's token that the message invalidates, if HasInvalidate is set.
	Invalidate    uint32
	HasInvalidate bool
}

// Release gives all references back. A caller that does not send the message calls it.
func (o *Outgoing) Release() {
	for i := range o.Pieces {
		o.Pieces[i].Buf.Release()
	}
	for i := range o.Place {
		o.Place[i].Buf.Release()
	}
	o.Pieces, o.Place = o.Pieces[:0], o.Place[:0]
}

// Len is the length of the message in bytes.
func (o *Outgoing) Len() int {
	n := 0
	for i := range o.Pieces {
		n += o.Pieces[i].Len
	}
	return n
}

// Info describes a connection. It does not change.
type Info struct {
	ID         uint64 // unique in the process
	Transport  string // "tcp", "iwarp", "roce", "infiniband", "mem"
	RemoteAddr netip.AddrPort
	LocalAddr  netip.AddrPort
	// MaxMessage is the longest message the peer takes, bytes; 0: no limit of the transport's.
	MaxMessage int
	// MaxReadWrite is the most that one READ or WRITE moves by RDMA, bytes; 0 without RDMA.
	MaxReadWrite int
}

// Conn is a connection of messages.
type Conn interface {
	// Info describes the connection.
	Info() *Info
	// Send queues a message. It owns the references in o from then on, also when it fails, and does not keep o. It
	// does not block; the protocol's credits bound the queue. Messages go out in the order of the calls.
	Send(o *Outgoing) error
	// Disconnect ends the connection. If drain is set, messages that are queued go out first. Handler.Closed
	// follows. Only the first reason counts.
	Disconnect(err error, drain bool)
	// Placer reaches the peer's memory; nil without RDMA.
	Placer() Placer
}

// Authenticator is implemented by a Conn that has narrower limits until its client is authenticated. The handler then
// calls Authenticated, perhaps more than once.
type Authenticator interface{ Authenticated() }

// Busy is implemented by a Handler whose connections may be ended for being idle. Busy reports whether the connection must
// stay: a request is being answered, or the client would lose open files. It must not block.
type Busy interface{ Busy() bool }

// Placer reads the peer's memory. Writing is part of a message ([Outgoing].Place).
type Placer interface {
	// Read copies n bytes of the peer's memory into buf at off: the ranges of the descriptors in their order, up to n
	// bytes. done.Completed is called once, from a goroutine that must not be blocked; if Read fails it is not called.
	// The caller keeps its reference of buf.
	Read(buf *slab.Buf, off, n int, from []Descriptor, done Completion) error
}

// Completion receives the result of an operation.
type Completion interface{ Completed(err error) }

// Handler is the protocol's side of a connection. Its methods are called one at a time.
type Handler interface {
	// Message delivers a message. The handler owns buf, which has room for 16 bytes behind the message, so that it can
	// be decrypted in place. Message must not block, because the connection waits for it.
	Message(buf *slab.Buf)
	// Closed is called once, last.
	Closed(err error)
}
