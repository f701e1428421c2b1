package nfsrdma

import (
	"encoding/binary"
	"errors"
	"fmt"

	"fileserver/nfs/xdr"
	"fileserver/rdma"
)

// Specification constants (RFC 8166 4, 5).
const (
	version = 1 // rpcrdma1

	procMsg   = 0 // RDMA_MSG: the RPC message follows the header
	procNoMsg = 1 // RDMA_NOMSG: the RPC message is in chunks
	procMsgP  = 2 // RDMA_MSGP: withdrawn
	procDone  = 3 // RDMA_DONE: withdrawn
	procError = 4 // RDMA_ERROR

	errVers  = 1 // ERR_VERS
	errChunk = 2 // ERR_CHUNK

	fixedHeader   = 16         // xid, vers, credit, proc
	minHeader     = 16 + 3*4   // with empty chunk lists
	wireSegment   = 16         // handle, length, offset
	wireReadEntry = 4 + 4 + 16 // discriminator, position, segment
	errorVers     = 16 + 4 + 8 // an ERR_VERS message
	errorChunk    = 16 + 4     // an ERR_CHUNK message
)

// Implementation limits.
const (
	// maxSegments bounds each list of a header. A header of the largest inline
	// size holds fewer, so nothing that fits is refused for its count alone.
	maxSegments = 4096
	// maxChunks bounds the chunks of a Write list, and the positions of a Read list.
	maxChunks = 64
)

// Errors of parsing. With errShortHeader there is not even an XID, so there is no reply.
var (
	errShortHeader = errors.New("nfsrdma: message is shorter than a transport header")
	errVersion     = errors.New("nfsrdma: unknown version of RPC-over-RDMA")
	errHeader      = errors.New("nfsrdma: bad transport header")
)

// readChunk is a chunk of the Read list: consecutive segments of one position (RFC 8166 3.4.5).
type readChunk struct {
	pos    uint32
	length uint32 // sum of the segments'
	segs   []rdma.Segment
}

// writeChunk is a chunk of the Write list, or the Reply chunk (RFC 8166 3.4.6, 3.4.7).
type writeChunk struct {
	length  uint32 // sum of the segments'
	written uint32 // how much of it the reply uses
	segs    []rdma.Segment
}

// header is the parsed transport header of a call. It is reused: its slices keep their storage.
type header struct {
	xid    uint32
	vers   uint32
	credit uint32
	proc   uint32

	reads    []readChunk // ascending positions
	writes   []writeChunk
	reply    writeChunk
	hasReply bool

	segs    []rdma.Segment // storage of all chunks
	readLen uint64         // sum of all Read chunks
	key     uint32         // the one key of the header …
	keys    int            // … if this is 1; 2 stands for more
}

// hasPositionZero reports whether the call itself is in a Read chunk (RFC 8166 3.5.3).
func (h *header) hasPositionZero() bool { return len(h.reads) > 0 && h.reads[0].pos == 0 }

func (h *header) reset() {
	h.reads, h.writes, h.segs = h.reads[:0], h.writes[:0], h.segs[:0]
	h.reply, h.hasReply = writeChunk{}, false
	h.readLen, h.key, h.keys = 0, 0, 0
}

// parse reads the header of a call and returns the bytes after it. It checks all of it:
// lengths, counts, sums, positions. limit bounds the sum of the Read chunks.
// With errVersion and errHeader the XID is valid.
func (h *header) parse(b []byte, limit uint64) (rest []byte, err error) {
	rest, err = h.parseLists(b, limit)
	if err != nil || h.proc == procDone || h.proc == procError {
		return nil, err
	}
	return rest, h.check(len(rest))
}

// parseLists is parse for calls and replies, without the rules that only calls must keep.
func (h *header) parseLists(b []byte, limit uint64) (rest []byte, err error) {
	h.reset()
	if len(b) < fixedHeader {
		return nil, errShortHeader
	}
	h.xid = binary.BigEndian.Uint32(b)
	h.vers = binary.BigEndian.Uint32(b[4:])
	h.credit = binary.BigEndian.Uint32(b[8:])
	h.proc = binary.BigEndian.Uint32(b[12:])
	if h.vers != version {
		return nil, errVersion
	}
	d := xdr.NewDecoder(b[fixedHeader:])
	switch h.proc {
	case procMsg, procNoMsg:
	case procDone, procError:
		return b[fixedHeader:], nil
	default:
		return nil, fmt.Errorf("%w: procedure %d", errHeader, h.proc)
	}
	// The storage of the segments must not move while chunks point into it: count first.
	if n := countSegments(b[fixedHeader:]); cap(h.segs) < n {
		h.segs = make([]rdma.Segment, 0, n)
	}
	if err := h.parseReads(&d, limit); err != nil {
		return nil, err
	}
	for d.Bool() {
		if len(h.writes) == maxChunks {
			return nil, fmt.Errorf("%w: more than %d Write chunks", errHeader, maxChunks)
		}
		c, err := h.parseArray(&d)
		if err != nil {
			return nil, err
		}
		h.writes = append(h.writes, c)
	}
	if d.Bool() {
		if h.reply, err = h.parseArray(&d); err != nil {
			return nil, err
		}
		h.hasReply = true
	}
	if err := d.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", errHeader, err)
	}
	return d.Rest(), nil
}

// countSegments returns an upper bound of the segments in b, the rest of a header: each
// takes 16 bytes.
func countSegments(b []byte) int { return min(len(b)/wireSegment, 3*maxSegments) }

func (h *header) segment(d *xdr.Decoder) (rdma.Segment, error) {
	var s rdma.Segment
	s.RKey = d.Uint32()
	s.Length = d.Uint32()
	s.Addr = d.Uint64()
	if s.Addr+uint64(s.Length) < s.Addr {
		return s, fmt.Errorf("%w: segment of %d bytes at %#x wraps around", errHeader, s.Length, s.Addr)
	}
	if d.Err() == nil {
		switch {
		case h.keys == 0:
			h.key, h.keys = s.RKey, 1
		case h.key != s.RKey:
			h.keys = 2
		}
	}
	return s, nil
}

func (h *header) parseReads(d *xdr.Decoder, limit uint64) error {
	for n := 0; d.Bool(); n++ {
		if n == maxSegments {
			return fmt.Errorf("%w: more than %d Read segments", errHeader, maxSegments)
		}
		pos := d.Uint32()
		s, err := h.segment(d)
		if err != nil {
			return err
		}
		if d.Err() != nil {
			break
		}
		if pos%4 != 0 {
			return fmt.Errorf("%w: Read chunk at position %d, which is not a multiple of 4", errHeader, pos)
		}
		h.readLen += uint64(s.Length)
		if h.readLen > limit {
			return fmt.Errorf("%w: Read chunks of more than %d bytes", errHeader, limit)
		}
		h.segs = append(h.segs, s)
		if last := len(h.reads) - 1; last >= 0 && h.reads[last].pos == pos {
			c := &h.reads[last]
			c.segs = h.segs[len(h.segs)-len(c.segs)-1:]
			c.length += s.Length
			continue
		} else if last >= 0 && h.reads[last].pos > pos {
			return fmt.Errorf("%w: Read chunk at position %d behind one at %d", errHeader, pos, h.reads[last].pos)
		}
		if len(h.reads) == maxChunks {
			return fmt.Errorf("%w: more than %d Read chunks", errHeader, maxChunks)
		}
		h.reads = append(h.reads, readChunk{pos: pos, length: s.Length, segs: h.segs[len(h.segs)-1:]})
	}
	return nil
}

func (h *header) parseArray(d *xdr.Decoder) (writeChunk, error) {
	var c writeChunk
	n := d.Uint32()
	if d.Err() == nil && (n == 0 || n > maxSegments) {
		return c, fmt.Errorf("%w: Write or Reply chunk of %d segments", errHeader, n)
	}
	if int64(n)*wireSegment > int64(d.Len()) {
		return c, fmt.Errorf("%w: %d segments, but %d bytes", errHeader, n, d.Len())
	}
	first := len(h.segs)
	var sum uint64
	for range n {
		s, err := h.segment(d)
		if err != nil {
			return c, err
		}
		sum += uint64(s.Length)
		h.segs = append(h.segs, s)
	}
	if sum > 1<<31 {
		return c, fmt.Errorf("%w: Write or Reply chunk of %d bytes", errHeader, sum)
	}
	c.length = uint32(sum)
	c.segs = h.segs[first:len(h.segs):len(h.segs)]
	return c, nil
}

// check verifies the lists against the message that follows the header, of inline bytes.
func (h *header) check(inline int) error {
	if h.proc == procNoMsg {
		if inline != 0 {
			return fmt.Errorf("%w: %d bytes behind an RDMA_NOMSG header", errHeader, inline)
		}
		if !h.hasPositionZero() {
			return fmt.Errorf("%w: RDMA_NOMSG without a chunk at position zero", errHeader)
		}
		inline = int(h.reads[0].length)
	} else if h.hasPositionZero() {
		return fmt.Errorf("%w: RDMA_MSG with a chunk at position zero", errHeader)
	}
	// Positions are those in the whole message: the bytes before a chunk must be
	// inline or in earlier chunks.
	var before, end uint64 // bytes of the chunks so far; where the last one ends
	for i := range h.reads {
		c := &h.reads[i]
		if c.pos == 0 {
			continue
		}
		if p := uint64(c.pos); p < end || p-before > uint64(inline) {
			return fmt.Errorf("%w: Read chunk at position %d of a message of %d inline bytes", errHeader, c.pos, inline)
		}
		n := uint64(c.length) + uint64(xdr.Pad(int(c.length)))
		before += n
		end = uint64(c.pos) + n
	}
	return nil
}

// appendFixed appends the first four words of a header.
func appendFixed(b []byte, xid, credit, proc uint32) []byte {
	b = xdr.AppendUint32(b, xid)
	b = xdr.AppendUint32(b, version)
	b = xdr.AppendUint32(b, credit)
	return xdr.AppendUint32(b, proc)
}

// replyHeaderLen returns the length of the reply's header, which returns h's Write list and Reply chunk.
func (h *header) replyHeaderLen() int {
	n := minHeader
	for i := range h.writes {
		n += 8 + wireSegment*len(h.writes[i].segs)
	}
	if h.hasReply {
		n += 4 + wireSegment*len(h.reply.segs)
	}
	return n
}

// appendReply appends the header of a reply: no Read list, the Write list and
// the Reply chunk of the call, with the lengths that were written (RFC 8166 4.4).
func (h *header) appendReply(b []byte, credit, proc uint32) []byte {
	b = appendFixed(b, h.xid, credit, proc)
	b = xdr.AppendUint32(b, 0)
	for i := range h.writes {
		b = appendArray(xdr.AppendUint32(b, 1), &h.writes[i])
	}
	b = xdr.AppendUint32(b, 0)
	if !h.hasReply {
		return xdr.AppendUint32(b, 0)
	}
	return appendArray(xdr.AppendUint32(b, 1), &h.reply)
}

func appendArray(b []byte, c *writeChunk) []byte {
	b = xdr.AppendUint32(b, uint32(len(c.segs)))
	left := c.written
	for _, s := range c.segs {
		n := min(left, s.Length)
		left -= n
		b = appendSegment(b, rdma.Segment{Addr: s.Addr, Length: n, RKey: s.RKey})
	}
	return b
}

func appendSegment(b []byte, s rdma.Segment) []byte {
	b = xdr.AppendUint32(b, s.RKey)
	b = xdr.AppendUint32(b, s.Length)
	return xdr.AppendUint64(b, s.Addr)
}

// appendErrVers appends an RDMA_ERROR that states the versions spoken (RFC 8166 4.5.1).
func appendErrVers(b []byte, xid, credit uint32) []byte {
	b = xdr.AppendUint32(appendFixed(b, xid, credit, procError), errVers)
	return xdr.AppendUint32(xdr.AppendUint32(b, version), version)
}

// appendErrChunk appends an RDMA_ERROR that refuses the header, or the reply's size (RFC 8166 4.5.2, 4.5.3).
func appendErrChunk(b []byte, xid, credit uint32) []byte {
	return xdr.AppendUint32(appendFixed(b, xid, credit, procError), errChunk)
}
