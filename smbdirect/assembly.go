package smbdirect

import (
	"errors"

	"fileserver/internal/slab"
)

const (
	// tailroom is the room behind a message in its buffer, for a cipher's tag ([transport.Handler]).
	tailroom = 16
	// earlyAssembly is the memory, bytes, that a message gets with its first fragment before the peer is authenticated.
	// It gets more as its data arrives.
	earlyAssembly = 2<<10 - tailroom
)

var errAssembly = errors.New("smbdirect: no memory for a message of a peer that is not authenticated yet")

// assembly is the message that is being reassembled from fragments. The zero value holds no message.
type assembly struct {
	buf  *slab.Buf
	got  int // bytes of the message that have arrived
	size int // bytes that the message will have
}

// firstSize is the memory, bytes, that a message gets with its first fragment: enough for all of it, or, before the
// peer is authenticated, for little more than what has arrived.
func firstSize(f fragment, early bool) int {
	if !early {
		return f.total
	}
	return min(f.total, max(earlyAssembly, len(f.data)))
}

// begin starts the message whose first fragment is f. buf has room for n bytes and the tailroom.
func (a *assembly) begin(buf *slab.Buf, n int, f fragment) {
	buf.SetLen(n)
	*a = assembly{buf: buf, size: f.total}
}

// add appends the fragment's data, and returns the message if it is complete. It fails only when the message
// needs more memory and the pool has none.
func (a *assembly) add(f fragment, pool *slab.Pool) (whole *slab.Buf, err error) {
	if len(f.data) > 0 {
		if err := a.grow(len(f.data), pool); err != nil {
			return nil, err
		}
		a.got += copy(a.buf.Bytes()[a.got:], f.data)
	}
	if !f.last {
		return nil, nil
	}
	whole = a.buf
	*a = assembly{}
	return whole, nil
}

// grow makes room for the next n bytes.
func (a *assembly) grow(n int, pool *slab.Pool) error {
	if a.got+n <= a.buf.Len() {
		return nil
	}
	size := min(max(2*a.buf.Len(), a.got+n), a.size)
	b, ok := pool.TryGet(size + tailroom)
	if !ok {
		return errAssembly
	}
	b.SetLen(size)
	copy(b.Bytes(), a.buf.Bytes()[:a.got])
	a.buf.Release()
	a.buf = b
	return nil
}

// drop releases an incomplete message.
func (a *assembly) drop() {
	if a.buf != nil {
		a.buf.Release()
	}
	*a = assembly{}
}
