package xdr

import (
	"encoding/binary"
	"errors"
	"fmt"

	"fileserver/internal/slab"
)

// Errors of decoding.
var (
	ErrShort    = errors.New("xdr: message ends early")
	ErrTooLong  = errors.New("xdr: item is longer than allowed")
	ErrBadValue = errors.New("xdr: value out of range")
	ErrTrailing = errors.New("xdr: bytes behind the end of the message")
	ErrChunk    = errors.New("xdr: chunk where no data item is eligible for it")
)

// Chunk is a data item that came beside the stream (RFC 8166 3.4.5).
type Chunk struct {
	Pos  uint32    // offset in the stream as if nothing had been taken out
	Data []byte    // the item without its pad; may carry the pad as well
	Buf  *slab.Buf // what Data lies in; the message owns the reference
}

// Payload is bulk data, in place: of the message, or of a chunk.
type Payload struct {
	Data []byte
	Buf  *slab.Buf // what Data lies in, or nil; Retain it to keep the data beyond the call
}

// Decoder consumes a message. The zero value is an empty one.
type Decoder struct {
	b      []byte // what is left of the inline part
	buf    *slab.Buf
	pos    uint32 // position in the whole stream
	chunks []Chunk
	err    error
}

// NewDecoder decodes b.
func NewDecoder(b []byte) Decoder { return Decoder{b: b} }

// NewChunkedDecoder decodes a stream of which the chunks, in ascending order of
// position, were taken out. buf, which may be nil, is what b lies in.
func NewChunkedDecoder(b []byte, buf *slab.Buf, chunks []Chunk) Decoder {
	return Decoder{b: b, buf: buf, chunks: chunks}
}

// Err is the first error, or nil.
func (d *Decoder) Err() error { return d.err }

// Fail records an error, unless there is one already.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err = err
		d.b = nil
	}
}

// Pos is the position in the whole stream, bytes.
func (d *Decoder) Pos() uint32 { return d.pos }

// Len is how many inline bytes are left.
func (d *Decoder) Len() int { return len(d.b) }

// Rest returns what is left of the inline part, without consuming it.
func (d *Decoder) Rest() []byte { return d.b }

// Chunks are the chunks not consumed yet. They must not be changed.
func (d *Decoder) Chunks() []Chunk { return d.chunks }

// Finish ends decoding: everything must have been consumed.
func (d *Decoder) Finish() error {
	if d.err == nil {
		switch {
		case len(d.chunks) > 0:
			d.err = ErrChunk
		case len(d.b) > 0:
			d.err = ErrTrailing
		}
	}
	return d.err
}

func (d *Decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.b) || (len(d.chunks) > 0 && d.pos+uint32(n) > d.chunks[0].Pos) {
		if n > len(d.b) {
			d.Fail(ErrShort)
		} else {
			d.Fail(ErrChunk)
		}
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	d.pos += uint32(n)
	return v
}

// Uint32 consumes an unsigned integer (RFC 4506 4.2).
func (d *Decoder) Uint32() uint32 {
	if v := d.take(4); v != nil {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

// Uint64 consumes an unsigned hyper integer (RFC 4506 4.5).
func (d *Decoder) Uint64() uint64 {
	if v := d.take(8); v != nil {
		return binary.BigEndian.Uint64(v)
	}
	return 0
}

// Bool consumes a boolean; only 0 and 1 are (RFC 4506 4.4).
func (d *Decoder) Bool() bool {
	v := d.Uint32()
	if v > 1 {
		d.Fail(fmt.Errorf("%w: boolean %d", ErrBadValue, v))
	}
	return v == 1
}

// Fixed consumes n bytes of fixed-length opaque data and their pad. The result aliases the message.
func (d *Decoder) Fixed(n int) []byte {
	if n == 0 {
		return nil
	}
	if n < 0 || n > len(d.b) {
		d.Fail(ErrShort)
		return nil
	}
	v := d.take(n + Pad(n))
	if v == nil {
		return nil
	}
	return v[:n:n]
}

// Opaque consumes variable-length opaque data of at most limit bytes. The result aliases the message.
func (d *Decoder) Opaque(limit int) []byte {
	n := d.Uint32()
	if int64(n) > int64(limit) {
		d.Fail(fmt.Errorf("%w: %d bytes of at most %d", ErrTooLong, n, limit))
		return nil
	}
	return d.Fixed(int(n))
}

// String consumes a string of at most limit bytes. Nothing is said about its encoding.
func (d *Decoder) String(limit int) string { return string(d.Opaque(limit)) }

// Count consumes the length of an array of at most limit elements, each of at
// least size bytes on the wire: more than the message can hold is an error before anything is allocated.
func (d *Decoder) Count(limit, size int) int {
	n := d.Uint32()
	if int64(n) > int64(limit) {
		d.Fail(fmt.Errorf("%w: %d elements of at most %d", ErrTooLong, n, limit))
		return 0
	}
	if int64(n)*int64(size) > int64(len(d.b)) {
		d.Fail(ErrShort)
		return 0
	}
	return int(n)
}

// Payload consumes variable-length opaque data that is eligible for direct
// placement (RFC 8267), of at most limit bytes, inline or from a chunk.
func (d *Decoder) Payload(limit int) Payload {
	n := d.Uint32()
	if d.err != nil {
		return Payload{}
	}
	if int64(n) > int64(limit) {
		d.Fail(fmt.Errorf("%w: %d bytes of at most %d", ErrTooLong, n, limit))
		return Payload{}
	}
	if len(d.chunks) > 0 && d.chunks[0].Pos == d.pos && n > 0 {
		c := d.chunks[0]
		if len(c.Data) != int(n) && len(c.Data) != int(n)+Pad(int(n)) {
			d.Fail(fmt.Errorf("%w: chunk of %d bytes for an item of %d", ErrChunk, len(c.Data), n))
			return Payload{}
		}
		d.chunks = d.chunks[1:]
		d.pos += n + uint32(Pad(int(n)))
		return Payload{Data: c.Data[:n:n], Buf: c.Buf}
	}
	return Payload{Data: d.Fixed(int(n)), Buf: d.buf}
}
