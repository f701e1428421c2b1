package nfsrdma

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"fileserver/nfs/xdr"
	"fileserver/rdma"
)

// build writes call headers, also bad ones.
type build struct{ b []byte }

func hdr(proc uint32) *build { return &build{appendFixed(nil, 0x1234, 128, proc)} }

func (w *build) read(pos uint32, s rdma.Segment) *build {
	w.b = appendSegment(xdr.AppendUint32(xdr.AppendUint32(w.b, 1), pos), s)
	return w
}

func (w *build) end() *build { w.b = xdr.AppendUint32(w.b, 0); return w }

func (w *build) array(segs ...rdma.Segment) *build {
	w.b = xdr.AppendUint32(xdr.AppendUint32(w.b, 1), uint32(len(segs)))
	for _, s := range segs {
		w.b = appendSegment(w.b, s)
	}
	return w
}

func (w *build) inline(n int) []byte { return append(w.b, make([]byte, n)...) }

func seg(key, n uint32, addr uint64) rdma.Segment {
	return rdma.Segment{Addr: addr, Length: n, RKey: key}
}

func full() []byte {
	return hdr(procMsg).
		read(96, seg(1, 4096, 0x1000)).read(96, seg(2, 100, 0x9000)).read(4296, seg(3, 8, 0)).end().
		array(seg(4, 10, 1), seg(5, 20, 2)).array(seg(6, 30, 3)).end().
		array(seg(7, 1<<20, 1<<60)).inline(200)
}

func TestParse(t *testing.T) {
	var h header
	for range 2 { // the second time with storage in use
		rest, err := h.parse(full(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if len(rest) != 200 || h.xid != 0x1234 || h.credit != 128 {
			t.Fatalf("rest %d, xid %#x, credit %d", len(rest), h.xid, h.credit)
		}
		if len(h.reads) != 2 || h.reads[0].length != 4196 || h.reads[1].pos != 4296 ||
			!slices.Equal(h.reads[0].segs, []rdma.Segment{seg(1, 4096, 0x1000), seg(2, 100, 0x9000)}) ||
			!slices.Equal(h.reads[1].segs, []rdma.Segment{seg(3, 8, 0)}) || h.readLen != 4204 {
			t.Fatalf("reads %+v", h.reads)
		}
		if len(h.writes) != 2 || h.writes[0].length != 30 || !slices.Equal(h.writes[1].segs, []rdma.Segment{seg(6, 30, 3)}) {
			t.Fatalf("writes %+v", h.writes)
		}
		if !h.hasReply || h.reply.length != 1<<20 || h.keys != 2 {
			t.Fatalf("reply %+v, keys %d", h.reply, h.keys)
		}
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	var h header
	b := full()
	if n := testing.AllocsPerRun(100, func() {
		if _, err := h.parse(b, 1<<20); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestParsePrefixes(t *testing.T) {
	b := full()
	n := len(b) - 200
	for i := range n {
		var h header
		_, err := h.parse(b[:i], 1<<20)
		if err == nil {
			t.Fatalf("a header of %d bytes was accepted when cut to %d", n, i)
		}
		if (i < fixedHeader) != errors.Is(err, errShortHeader) {
			t.Fatalf("cut to %d: %v", i, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	s := seg(1, 8, 0)
	many := hdr(procMsg)
	for i := range uint32(maxChunks + 1) {
		many.read(4+8*i, seg(1, 8, 0))
	}
	manyWrites := hdr(procMsg).end()
	for range maxChunks + 1 {
		manyWrites.array(s)
	}
	for name, b := range map[string][]byte{
		"unknown procedure":            hdr(9).end().end().end().inline(40),
		"RDMA_MSGP":                    hdr(procMsgP).end().end().end().inline(40),
		"position not a multiple of 4": hdr(procMsg).read(6, s).end().end().end().inline(40),
		"position behind the message":  hdr(procMsg).read(44, s).end().end().end().inline(40),
		"position inside a chunk":      hdr(procMsg).read(8, s).read(12, s).end().end().end().inline(40),
		"descending positions":         hdr(procMsg).read(16, s).read(8, s).end().end().end().inline(40),
		"position zero inline":         hdr(procMsg).read(0, s).end().end().end().inline(40),
		"no message, no chunk":         hdr(procNoMsg).end().end().end().inline(0),
		"no message, inline bytes":     hdr(procNoMsg).read(0, s).end().end().end().inline(4),
		"Write chunk without segments": hdr(procMsg).end().array().end().end().inline(40),
		"Reply chunk without segments": hdr(procMsg).end().end().array().inline(40),
		"segment that wraps":           hdr(procMsg).read(8, seg(1, 2, 1<<64-1)).end().end().end().inline(40),
		"too much to read":             hdr(procMsg).read(8, seg(1, 1<<20, 0)).read(8, seg(1, 1, 0)).end().end().end().inline(40),
		"Write chunk of 4 GiB":         hdr(procMsg).end().array(seg(1, 1<<31, 0), seg(1, 1<<31, 0)).end().end().inline(40),
		"too many Read chunks":         many.end().end().end().inline(2000),
		"too many Write chunks":        manyWrites.end().end().inline(40),
		"boolean of 2":                 append(hdr(procMsg).b, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0),
	} {
		var h header
		if _, err := h.parse(b, 1<<20); !errors.Is(err, errHeader) {
			t.Errorf("%s: %v, want errHeader", name, err)
		}
		if h.xid != 0x1234 {
			t.Errorf("%s: the XID was lost", name)
		}
	}
	var h header
	b := hdr(procMsg).end().end().end().inline(0)
	binary.BigEndian.PutUint32(b[4:], 2)
	if _, err := h.parse(b, 0); err != errVersion {
		t.Errorf("version 2: %v", err)
	}
}

func TestOneKey(t *testing.T) {
	var h header
	b := hdr(procMsg).end().array(seg(7, 10, 0), seg(7, 10, 10)).end().end().inline(40)
	if _, err := h.parse(b, 0); err != nil || h.keys != 1 || h.key != 7 {
		t.Fatalf("%v: %d keys, %d", err, h.keys, h.key)
	}
	// The pad segment of a Linux client has a key of its own.
	b = hdr(procMsg).end().array(seg(7, 10, 0), seg(8, 2, 10)).end().end().inline(40)
	if _, err := h.parse(b, 0); err != nil || h.keys != 2 {
		t.Fatalf("%v: %d keys", err, h.keys)
	}
}

func TestReplyHeader(t *testing.T) {
	var h header
	if _, err := h.parse(full(), 1<<20); err != nil {
		t.Fatal(err)
	}
	h.writes[0].written = 15
	b := h.appendReply(nil, 64, procMsg)
	if len(b) != h.replyHeaderLen() {
		t.Fatalf("%d bytes, said %d", len(b), h.replyHeaderLen())
	}
	var r header // a reply's header parses as a call's
	if _, err := r.parse(b, 0); err != nil {
		t.Fatal(err)
	}
	if r.credit != 64 || len(r.reads) != 0 || len(r.writes) != 2 ||
		!slices.Equal(r.writes[0].segs, []rdma.Segment{seg(4, 10, 1), seg(5, 5, 2)}) ||
		r.writes[1].length != 0 || !r.hasReply || r.reply.length != 0 {
		t.Fatalf("%+v", r)
	}
}

func TestErrors(t *testing.T) {
	if b := appendErrVers(nil, 1, 2); len(b) != errorVers {
		t.Errorf("ERR_VERS of %d bytes", len(b))
	}
	if b := appendErrChunk(nil, 1, 2); len(b) != errorChunk {
		t.Errorf("ERR_CHUNK of %d bytes", len(b))
	}
}

func TestPrivateData(t *testing.T) {
	// What a Linux client says: 4096 bytes both ways, keys may be invalidated.
	linux := []byte{0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3}
	want := privateData{invalidate: true, sendSize: 4096, recvSize: 4096}
	if got := parsePrivate(linux); got != want {
		t.Errorf("%+v", got)
	}
	if got := want.append(nil); !slices.Equal(got, linux) {
		t.Errorf("% x", got)
	}
	if got := parsePrivate(append(linux, make([]byte, 48)...)); got != want {
		t.Errorf("padded: %+v", got)
	}
	none := privateData{sendSize: 1024, recvSize: 1024}
	for i := range linux {
		if got := parsePrivate(linux[:i]); got != none {
			t.Errorf("%d bytes: %+v", i, got)
		}
	}
	if got := parsePrivate([]byte{0xf6, 0xab, 0x0e, 0x18, 2, 1, 3, 3}); got != none {
		t.Errorf("version 2: %+v", got)
	}
	if b := (privateData{sendSize: 1 << 20, recvSize: 0}).append(nil); b[6] != 255 || b[7] != 0 {
		t.Errorf("sizes out of range: % x", b)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(full())
	f.Add(hdr(procNoMsg).read(0, seg(1, 100, 0)).read(96, seg(1, 100, 0)).end().end().end().inline(0))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h header
		rest, err := h.parse(b, 1<<20)
		if err != nil || h.proc == procDone || h.proc == procError {
			return
		}
		if len(rest) > len(b)-minHeader {
			t.Fatalf("%d bytes left of %d", len(rest), len(b))
		}
		var sum uint64
		for i, c := range h.reads {
			if i > 0 && c.pos <= h.reads[i-1].pos {
				t.Fatal("positions do not ascend")
			}
			for _, s := range c.segs {
				sum += uint64(s.Length)
			}
		}
		if sum != h.readLen || sum > 1<<20 {
			t.Fatalf("Read chunks of %d bytes, said %d", sum, h.readLen)
		}
		for i := range h.writes {
			h.writes[i].written = h.writes[i].length
		}
		h.reply.written = h.reply.length
		out := h.appendReply(nil, h.credit, procMsg)
		if len(out) != h.replyHeaderLen() {
			t.Fatal("length of the reply's header")
		}
		var r header
		if _, err := r.parse(out, 0); err != nil || len(r.writes) != len(h.writes) || r.reply.length != h.reply.length {
			t.Fatalf("reply: %v", err)
		}
	})
}
