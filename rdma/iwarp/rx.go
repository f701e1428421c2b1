package iwarp

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Sizes of reading. Small FPDUs are read in bulk and copied to where they belong;
// the payload of large ones is read straight into place, behind it only as much
// as the next header needs.
const (
	rxBuffer  = 256 << 10
	largeFPDU = 24 << 10
	directMin = 4 << 10 // what is missing of a large FPDU's payload and worth an element of its own
	largeRun  = 8       // small FPDUs in a row after which reading is in bulk again
	largeTail = 2 << 10
	stashMax  = 4 << 10 // a part of an FPDU up to this is set aside while idle
)

var rxBuffers = sync.Pool{New: func() any { return new([rxBuffer]byte) }}

// receiver reads the stream. Its goroutine ends the connection, too.
type receiver struct {
	qp    *queuePair
	s     stream
	in    inbound
	buf   *[rxBuffer]byte // nil while idle
	r, w  int             // what of buf is read but not consumed
	stash []byte
	iov   [maxDirect + 1]unix.Iovec
	end   *Error
	fault Reason
}

const maxDirect = 31

func (x *receiver) init(qp *queuePair) {
	x.qp = qp
	x.in.init(qp)
	x.s.h = &x.in
}

// run receives until the connection ends, for whatever reason.
func (x *receiver) run() {
	err := x.qp.tx.raw.Read(x.step)
	if x.end == nil {
		x.end = x.qp.cause.Load()
	}
	if x.end == nil {
		x.end = x.qp.tx.cause(err)
	}
	x.qp.fail(x.end)
	if x.buf != nil {
		x.putBuffer()
	}
}

// step is called when there may be something to read; true ends run. It reads
// until there is no more, not until a read is short: behind the bytes of a short
// read there may be the end of the stream, of which the poller, edge-triggered,
// has told already.
func (x *receiver) step(fd uintptr) bool {
	for {
		if x.qp.cause.Load() != nil {
			return true
		}
		if !x.fill(fd) {
			return x.end != nil
		}
		if x.fault != 0 {
			x.end = x.explain(x.fault)
			return true
		}
	}
}

// fill reads once and works on what it got. It says whether there was anything;
// if not, end is set if there will not be either.
func (x *receiver) fill(fd uintptr) bool {
	iov, direct := x.iov[:0], 0
	guard := x.s.dst.guard
	if x.s.inSeg && x.s.ulpdu >= largeFPDU && x.s.left >= directMin && x.r == x.w && !x.s.crc {
		if guard != nil && !guard.acquire() {
			x.end = x.explain(ReasonSTag)
			return false
		}
		iov, direct = x.direct(iov)
	} else {
		guard = nil
	}
	if x.buf == nil {
		x.getBuffer()
	}
	tail := x.buf[x.w:]
	if x.s.large > 0 && !x.s.crc {
		tail = tail[:min(len(tail), x.s.left-direct+largeTail)]
	}
	iov = append(iov, iovec(tail))
	n, err := readv(fd, iov)
	if guard != nil {
		guard.release()
	}
	switch {
	case err == unix.EAGAIN:
		x.idle()
		return false
	case err != nil:
		x.end = socketError(err)
		return false
	case n == 0:
		x.end = x.eof()
		return false
	}
	d := min(n, direct)
	x.s.skip(d)
	x.w += n - d
	x.work(n)
	return true
}

// direct names the destination of the payload that is missing.
func (x *receiver) direct(iov []unix.Iovec) ([]unix.Iovec, int) {
	left, n := x.s.left, 0
	cur, rest := x.s.dst.cur, x.s.dst.rest
	for len(iov) < maxDirect {
		k := min(len(cur), left-n)
		if k > 0 {
			iov = append(iov, iovec(cur[:k]))
			n += k
		}
		if n == left || len(rest) == 0 {
			break
		}
		cur, rest = rest[0], rest[1:]
	}
	return iov, n
}

// work consumes what has been read.
func (x *receiver) work(n int) {
	fpdus := x.s.fpdus
	k, fault := x.s.consume(x.buf[x.r:x.w])
	x.fault = fault
	if x.r += k; x.r == x.w {
		x.r, x.w = 0, 0
	} else if x.r > 0 {
		x.w = copy(x.buf[:], x.buf[x.r:x.w])
		x.r = 0
	}
	x.qp.stats.rxBytes.Add(uint64(n))
	x.qp.stats.rxFPDUs.Add(x.s.fpdus - fpdus)
}

// idle gives the buffer up while there is nothing to read.
func (x *receiver) idle() {
	if x.buf == nil || x.w-x.r > stashMax {
		return
	}
	x.stash = append(x.stash[:0], x.buf[x.r:x.w]...)
	x.putBuffer()
}

func (x *receiver) getBuffer() {
	x.buf = rxBuffers.Get().(*[rxBuffer]byte)
	x.r, x.w = 0, copy(x.buf[:], x.stash)
	x.stash = x.stash[:0]
}

func (x *receiver) putBuffer() {
	rxBuffers.Put(x.buf)
	x.buf, x.r, x.w = nil, 0, 0
}

// eof is why the connection ends when the peer's stream does.
func (x *receiver) eof() *Error {
	if x.s.inSeg || x.w > x.r || len(x.stash) > 0 {
		return errorf(ReasonTruncated, "the peer closed in the middle of an FPDU")
	}
	return &Error{Reason: ReasonPeerClosed}
}

// explain makes an error of a fault of the stream.
func (x *receiver) explain(r Reason) *Error {
	e := &Error{Reason: r}
	if r == ReasonTerminated {
		t := x.in.termSeen
		e.Terminate = &t.TerminateCode
		e.Detail = "the peer sent a Terminate; were it Linux siw, its code is " + t.swapped().String()
		return e
	}
	s := &x.s.seg
	if s.tagged {
		e.Detail = describeTagged(s)
	} else {
		e.Detail = describeUntagged(s)
	}
	return e
}

var past = time.Unix(1, 0)
