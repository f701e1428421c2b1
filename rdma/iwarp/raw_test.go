package iwarp

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"fileserver/rdma"
)

// rawPeer speaks to a provider byte by byte.
type rawPeer struct {
	t   testing.TB
	c   *net.TCPConn
	crc bool
}

func dialRaw(t testing.TB, l rdma.Listener) *rawPeer {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	t.Cleanup(func() { _ = c.Close() })
	return &rawPeer{t: t, c: c.(*net.TCPConn)}
}

func (r *rawPeer) write(b []byte) {
	r.t.Helper()
	if _, err := r.c.Write(b); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rawPeer) fpdu(ulpdu []byte) { r.write(appendFPDU(nil, ulpdu, r.crc)) }

// read reads one FPDU and returns its ULPDU; nil at the end of the stream.
func (r *rawPeer) read() []byte {
	r.t.Helper()
	var l [2]byte
	if _, err := io.ReadFull(r.c, l[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		r.t.Fatal(err)
	}
	n := int(binary.BigEndian.Uint16(l[:]))
	b := make([]byte, fpduLen(n))
	copy(b, l[:])
	if _, err := io.ReadFull(r.c, b[2:]); err != nil {
		r.t.Fatal(err)
	}
	if r.crc && !checkCRC(b, n) {
		r.t.Fatal("FPDU with a wrong CRC")
	}
	return b[2 : 2+n]
}

// segment reads one segment.
func (r *rawPeer) segment() (segment, []byte) {
	r.t.Helper()
	b := r.read()
	if b == nil {
		r.t.Fatal("the stream ended")
	}
	var s segment
	if reason := s.parse(b, len(b)); reason != 0 {
		r.t.Fatalf("bad segment: %v", reason)
	}
	return s, b[s.headerLen():]
}

// wantTerminate reads up to the Terminate and the end of the stream.
func (r *rawPeer) wantTerminate(want TerminateCode) terminate {
	r.t.Helper()
	for {
		s, payload := r.segment()
		if s.op != opTerminate {
			continue
		}
		if s.qn != queueTerminate || s.msn != 1 || s.mo != 0 || !s.last {
			r.t.Fatalf("Terminate with header %+v", s)
		}
		term, err := parseTerminate(payload)
		if err != nil {
			r.t.Fatal(err)
		}
		if term.TerminateCode != want {
			r.t.Fatalf("Terminate %v, want %v", term.TerminateCode, want)
		}
		if b := r.read(); b != nil {
			r.t.Fatalf("%d bytes behind the Terminate", len(b))
		}
		return term
	}
}

func ulpdu(s segment, payload []byte) []byte {
	b := make([]byte, s.headerLen())
	s.put(b)
	return append(b, payload...)
}

func sendSeg(msn, mo uint32, last bool, payload []byte) []byte {
	return ulpdu(segment{op: opSend, qn: queueSend, msn: msn, mo: mo, last: last}, payload)
}

func readSeg(msn uint32, req readRequest) []byte {
	var b [readReqLen]byte
	req.put(b[:])
	return ulpdu(segment{op: opReadRequest, qn: queueRead, msn: msn, last: true}, b[:])
}

// siwRequest is what Linux siw sends for an NFS mount (7.2, captured), with its private data.
var siwRequest = []byte("MPA ID Req Frame\x10\x02\x00\x0c\x00\x80\x00\x00\xf6\xab\x0e\x18\x01\x01\x03\x03")

// listenRaw makes a provider that listens.
func listenRaw(t testing.TB, cfg Config) (*Provider, rdma.Listener) {
	t.Helper()
	p := testProvider(t, cfg)
	l, err := p.Listen(context.Background(), loopback)
	if err != nil {
		t.Fatal(err)
	}
	return p, l
}

func acceptID(t testing.TB, l rdma.Listener) rdma.ID {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	id, err := l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// attachRaw connects a raw peer to an accepting end. The request is siw's unless given.
func attachRaw(t testing.TB, cfg Config, req []byte, prepare func(*end)) (*rawPeer, *end, mpaFrame) {
	t.Helper()
	p, l := listenRaw(t, cfg)
	r := dialRaw(t, l)
	if req == nil {
		req = siwRequest
	}
	r.write(req)
	e := newEnd(t, p, acceptID(t, l))
	if prepare != nil {
		prepare(e)
	}
	if err := e.id.Accept(testParams); err != nil {
		t.Fatal(err)
	}
	reply, err := readFrame(r.c, true)
	if err != nil {
		t.Fatal(err)
	}
	r.crc = reply.CRC
	return r, e, reply
}

// reasonCounted waits until the provider has counted the reason once.
func reasonCounted(t testing.TB, p *Provider, r Reason) {
	t.Helper()
	for range 1000 {
		if p.Stats().Reasons[r.String()] == 1 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("reason %v was not counted: %v", r, p.Stats().Reasons)
}
