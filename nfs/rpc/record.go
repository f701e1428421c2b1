package rpc

import (
	"errors"
	"fmt"
)

// Implementation constants of the reading side.
const (
	lastFragment = 1 << 31 // in a record mark (RFC 5531 11)

	smallMessage = 2 << 10 // up to this many bytes a message is copied out of the read buffer
	// A message gets memory for freeMessage bytes at once, and further for aheadFactor times what of it
	// has come: a peer that claims much and sends little holds little.
	freeMessage = 64 << 10
	aheadFactor = 128
)

var errTooLong = errors.New("rpc: message longer than allowed")

// records is record marking on TCP (RFC 5531 11), whatever the fragments are. It implements [stream.Framing].
type records struct {
	limit int // bytes of a message
}

// Part implements [stream.Framing].
func (r records) Part(mark uint32, have int) (n int, last bool, err error) {
	if n = int(mark &^ lastFragment); n > r.limit-have {
		return 0, false, fmt.Errorf("%w: %d bytes of at most %d", errTooLong, int64(have)+int64(n), r.limit)
	}
	return n, mark&lastFragment != 0, nil
}

// Room implements [stream.Framing].
func (r records) Room(have, want int) int {
	size := min(want, max(freeMessage, have*aheadFactor))
	return max(size, min(2*have, r.limit))
}
