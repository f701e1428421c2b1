package iwarp

import (
	"encoding/binary"
	"hash/crc32"
	"sync"

	"golang.org/x/sys/unix"
)

// Limits of one batch, which is one system call if TCP takes it whole.
const (
	batchBytes = 1 << 20
	batchHead  = 32 << 10 // headers, trailers, small payloads
	batchFPDUs = 640
	smallCopy  = 256 // payloads up to this are copied beside their header: one element instead of three
	fpduHead   = fpduLengthLen + untaggedLen + readReqLen
	fpduTail   = 3 + fpduCRCLen
)

// batch is a run of FPDUs on its way to TCP.
type batch struct {
	head   [batchHead]byte
	headN  int // used
	headAt int // start of the run not yet in iov
	iov    [maxIovec]unix.Iovec
	iovN   int
	iovAt  int // first not wholly sent
	size   int // bytes in all
	sent   int
	marks  [batchFPDUs]mark
	markN  int
	markAt int       // first not wholly sent
	pins   []*region // regions whose memory is named by iov
}

// mark is the end of an FPDU.
type mark struct {
	end int      // in bytes of the batch
	wqe *sendWQE // the request it completes, if it is the last of one
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// room reports whether one more FPDU with n elements of payload fits.
func (b *batch) room(n int) bool {
	return b.size < batchBytes && b.markN < batchFPDUs && b.iovN+n+2 <= maxIovec &&
		b.headN+fpduHead+fpduTail+smallCopy <= batchHead
}

// closeRun turns the bytes of head since the last run into an element.
func (b *batch) closeRun() {
	if b.headN > b.headAt {
		b.iov[b.iovN] = iovec(b.head[b.headAt:b.headN])
		b.iovN++
		b.headAt = b.headN
	}
}

// fpdu appends an FPDU: header s, then n bytes from src, which it advances.
func (b *batch) fpdu(s *segment, src *placement, n int, crc bool) {
	start := b.headN
	ulpdu := s.headerLen() + n
	b.header(s, ulpdu)
	if n > smallCopy {
		b.refer(src, n, ulpdu, start, crc)
		return
	}
	for left := n; left > 0; {
		k := min(left, len(src.cur))
		b.headN += copy(b.head[b.headN:], src.cur[:k])
		src.advance(k)
		left -= k
	}
	b.trailer(ulpdu, start, 0, crc)
}

// readRequest appends the FPDU of a Read Request.
func (b *batch) readRequest(s *segment, r *readRequest, crc bool) {
	start := b.headN
	b.header(s, untaggedLen+readReqLen)
	r.put(b.head[b.headN:])
	b.headN += readReqLen
	b.trailer(untaggedLen+readReqLen, start, 0, crc)
}

func (b *batch) header(s *segment, ulpdu int) {
	binary.BigEndian.PutUint16(b.head[b.headN:], uint16(ulpdu))
	b.headN += fpduLengthLen
	b.headN += s.put(b.head[b.headN:])
}

// refer appends n bytes of payload by reference, and the trailer.
func (b *batch) refer(src *placement, n, ulpdu, start int, crc bool) {
	var sum uint32
	if crc {
		sum = crc32.Update(0, castagnoli, b.head[start:b.headN])
	}
	b.closeRun()
	for n > 0 {
		k := min(n, len(src.cur))
		b.iov[b.iovN] = iovec(src.cur[:k])
		b.iovN++
		if crc {
			sum = crc32.Update(sum, castagnoli, src.cur[:k])
		}
		src.advance(k)
		n -= k
	}
	b.trailer(ulpdu, b.headN, sum, crc)
}

// trailer appends padding and CRC: sum, continued over head from start.
func (b *batch) trailer(ulpdu, start int, sum uint32, crc bool) {
	pad := fpduPad(ulpdu)
	clear(b.head[b.headN : b.headN+pad])
	b.headN += pad
	if crc {
		sum = crc32.Update(sum, castagnoli, b.head[start:b.headN])
	}
	binary.LittleEndian.PutUint32(b.head[b.headN:], sum)
	b.headN += fpduCRCLen
	b.size += fpduLen(ulpdu)
	b.marks[b.markN] = mark{end: b.size}
	b.markN++
}

// completes says which request, if any, the FPDU appended last completes.
func (b *batch) completes(e *sendWQE) { b.marks[b.markN-1].wqe = e }

// pin notes that the batch may name memory of r, which can be deregistered.
func (b *batch) pin(r *region) {
	if n := len(b.pins); n == 0 || b.pins[n-1] != r {
		b.pins = append(b.pins, r)
	}
}

// repin acquires those regions; false, and none, if one is gone.
func (b *batch) repin() bool {
	for i, r := range b.pins {
		if !r.acquire() {
			for _, r := range b.pins[:i] {
				r.release()
			}
			return false
		}
	}
	return true
}

func (b *batch) unpin() {
	for _, r := range b.pins {
		r.release()
	}
}

// pending is what TCP has not taken.
func (b *batch) pending() []unix.Iovec { return b.iov[b.iovAt:b.iovN] }

// advance notes that TCP took n bytes.
func (b *batch) advance(n int) {
	b.sent += n
	for n > 0 {
		v := &b.iov[b.iovAt]
		if k := int(v.Len); n >= k {
			n -= k
			b.iovAt++
			continue
		}
		skip(v, n)
		return
	}
}

// reset empties the batch for its next user.
func (b *batch) reset() {
	clear(b.iov[:b.iovN])
	clear(b.marks[:b.markN])
	clear(b.pins)
	b.pins = b.pins[:0]
	b.headN, b.headAt, b.iovN, b.iovAt, b.size, b.sent, b.markN, b.markAt = 0, 0, 0, 0, 0, 0, 0, 0
}
