package iwarp

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"fileserver/rdma"
)

func randBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestMPARoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	coin := func() bool { return r.IntN(2) == 0 }
	for range 500 {
		f := mpaFrame{
			Reply: coin(), Markers: coin(), CRC: coin(), Reject: coin(), Rev: uint8(1 + r.IntN(2)),
			Private: randBytes(r, r.IntN(509)),
		}
		if f.Enhanced = f.Rev == 2 && coin(); f.Enhanced {
			f.PeerToPeer, f.RTRSend, f.RTRWrite, f.RTRRead = coin(), coin(), coin(), coin()
			f.IRD, f.ORD = uint16(r.IntN(mpaDepth+1)), uint16(r.IntN(mpaDepth+1))
		}
		b := f.append(nil)
		got, err := parseMPA(b, f.Reply)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Private, f.Private) {
			t.Fatal("private data differ")
		}
		got.Private, f.Private = nil, nil
		if got.Enhanced != f.Enhanced || got.IRD != f.IRD || got.ORD != f.ORD || got.RTRRead != f.RTRRead || got.RTRSend != f.RTRSend ||
			got.RTRWrite != f.RTRWrite || got.PeerToPeer != f.PeerToPeer || got.CRC != f.CRC || got.Markers != f.Markers || got.Reject != f.Reject || got.Rev != f.Rev {
			t.Fatalf("%+v became %+v", f, got)
		}
		for i := range b {
			if _, err := parseMPA(b[:i], f.Reply); err == nil {
				t.Fatalf("%d bytes of %d were taken for a frame", i, len(b))
			}
		}
		if _, err := parseMPA(b, !f.Reply); err == nil {
			t.Fatal("a request was taken for a reply, or the reverse")
		}
	}
}

func TestMPAGolden(t *testing.T) {
	f, err := parseMPA(siwRequest, false)
	if err != nil || !f.Enhanced || f.Rev != 2 || f.CRC || f.Markers || f.PeerToPeer || f.IRD != 128 || f.ORD != 0 || len(f.Private) != 8 {
		t.Fatalf("%+v, %v", f, err)
	}
	if b := f.append(nil); !bytes.Equal(b, siwRequest) {
		t.Errorf("% x", b)
	}
}

func TestSegmentRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for op := opWrite; op <= opTerminate; op++ {
		for range 50 {
			s := segment{op: op, tagged: op.tagged(), last: r.IntN(2) == 0, stag: r.Uint32(), length: r.IntN(100)}
			if s.tagged {
				s.to = r.Uint64()
			} else {
				s.qn, s.msn, s.mo = r.Uint32(), r.Uint32(), r.Uint32()
			}
			b := make([]byte, s.headerLen())
			if n := s.put(b); n != len(b) {
				t.Fatalf("%d bytes of %d", n, len(b))
			}
			var got segment
			if reason := got.parse(b, len(b)+s.length); reason != 0 || got != s {
				t.Fatalf("%+v became %+v, %v", s, got, reason)
			}
		}
	}
}

func TestReadRequestRoundTrip(t *testing.T) {
	req := readRequest{sinkSTag: 0x01020304, sinkTO: 0x05060708090a0b0c, size: 0x0d0e0f10, srcSTag: 0x11121314, srcTO: 0x15161718191a1b1c}
	var b [readReqLen]byte
	req.put(b[:])
	for i, v := range b {
		if int(v) != i+1 {
			t.Fatalf("byte %d is %#x", i, v)
		}
		if _, ok := parseReadRequest(b[:i]); ok {
			t.Fatalf("%d bytes were taken for a Read Request", i)
		}
	}
	if got, ok := parseReadRequest(b[:]); !ok || got != req {
		t.Fatalf("%+v, %v", got, ok)
	}
}

func TestTerminateRoundTrip(t *testing.T) {
	offenders := map[string][]byte{
		"none": nil, "tagged": write(1, 2, 30), "untagged": sendSeg(1, 2, true, make([]byte, 40)),
		"read": readSeg(3, readRequest{size: 4}), "stub": {0x41},
	}
	lengths := map[string]int{"none": 4, "tagged": 6 + taggedLen, "untagged": 6 + untaggedLen, "read": 6 + untaggedLen + readReqLen, "stub": 4}
	for name, o := range offenders {
		for r := Reason(1); r < reasonCount; r++ {
			code, ok := r.terminates()
			if !ok {
				continue
			}
			in := terminate{TerminateCode: code, offender: o, length: len(o)}
			b := in.append(nil)
			if len(b) != lengths[name] {
				t.Fatalf("%s: %d bytes, want %d", name, len(b), lengths[name])
			}
			out, err := parseTerminate(b)
			if err != nil || out.TerminateCode != code {
				t.Fatalf("%s: %+v, %v", name, out, err)
			}
			if len(b) > 4 && (out.length != len(o) || !bytes.Equal(out.offender, o[:len(out.offender)])) {
				t.Fatalf("%s: %+v", name, out)
			}
			for i := range min(len(b), 6) {
				if _, err := parseTerminate(b[:i]); err == nil && i != 4 {
					t.Fatalf("%s: %d bytes were taken for a Terminate", name, i)
				}
				if i == 4 && len(b) > 4 {
					if _, err := parseTerminate(b[:5]); err == nil {
						t.Fatalf("%s: 5 bytes were taken for a Terminate", name)
					}
				}
			}
			if code.swapped().swapped() != code {
				t.Error(code)
			}
		}
	}
}

// TestReasons: every reason has a name of its own.
func TestReasons(t *testing.T) {
	seen := map[string]Reason{}
	for r := Reason(0); r < reasonCount; r++ {
		s := r.String()
		if other, dup := seen[s]; s == "" || dup {
			t.Errorf("reason %d is %q, as is %d", r, s, other)
		}
		seen[s] = r
	}
}

func TestFPDU(t *testing.T) {
	for n := range 300 {
		u := bytes.Repeat([]byte{byte(n)}, n)
		b := appendFPDU(nil, u, true)
		if len(b)%4 != 0 || len(b) != fpduLen(n) || !checkCRC(b, n) {
			t.Fatalf("FPDU of %d bytes for a ULPDU of %d", len(b), n)
		}
	}
	// RFC 3720 B.4, the CRC32C of 32 bytes of zeros is aa 36 91 8a on the wire.
	zero := appendFPDU(nil, make([]byte, 30), true)
	clear(zero[:2])
	if checkCRC(zero, 30) {
		t.Fatal("the CRC does not cover the length")
	}
	copy(zero[32:], []byte{0xaa, 0x36, 0x91, 0x8a})
	if !checkCRC(zero, 30) {
		t.Error("CRC32C of 32 zeros")
	}
	for _, hdr := range []int{taggedLen, untaggedLen} {
		for fpdu := minFPDU; fpdu <= maxFPDU; fpdu += 1 + fpdu/50 {
			n := payloadLimit(fpdu, hdr)
			if l := fpduLen(hdr + n); n <= 0 || n%4 != 0 || l > fpdu || l+8 <= min(fpdu, maxFPDU-11) || hdr+n > maxULPDU {
				t.Errorf("%d bytes of payload behind %d in an FPDU of %d", n, hdr, fpdu)
			}
		}
	}
	if n := payloadLimit(1448, taggedLen); fpduLen(taggedLen+n) != 1448 {
		t.Errorf("an FPDU for a TCP segment of 1448 bytes has %d", fpduLen(taggedLen+n))
	}
}

func FuzzMPA(f *testing.F) {
	f.Add(siwRequest, false)
	f.Add((&mpaFrame{Reply: true, Rev: 2, Enhanced: true, PeerToPeer: true, RTRRead: true, IRD: 1, ORD: 2}).append(nil), true)
	f.Add((&mpaFrame{Rev: 1, Private: []byte("x")}).append(nil), false)
	f.Fuzz(func(t *testing.T, b []byte, reply bool) {
		fr, err := parseMPA(b, reply)
		if err != nil {
			return
		}
		again, err := parseMPA(fr.append(nil), reply)
		if err != nil || !bytes.Equal(again.append(nil), fr.append(nil)) {
			t.Fatalf("%+v became %+v, %v", fr, again, err)
		}
	})
}

func FuzzTerminate(f *testing.F) {
	f.Add((&terminate{TerminateCode: TerminateCode{1, 2, 3}, offender: sendSeg(1, 0, true, nil), length: 18}).append(nil))
	f.Add([]byte{0x10, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := parseTerminate(b)
		if err != nil {
			return
		}
		if out, err := parseTerminate(in.append(nil)); err != nil || out.TerminateCode != in.TerminateCode {
			t.Fatalf("%+v became %+v, %v", in, out, err)
		}
	})
}

// FuzzNegotiate: whatever a peer asks for, both ends of the connection conclude the same from what is answered, and nothing
// beyond what either allows. The bytes are a request as it came, and what the two programs want.
func FuzzNegotiate(f *testing.F) {
	f.Add(siwRequest, uint8(4), uint8(4), false, true)
	f.Add((&mpaFrame{Rev: 2, Enhanced: true, PeerToPeer: true, RTRRead: true, IRD: 1, ORD: 200, Private: []byte("x")}).append(nil), uint8(128), uint8(0), true, true)
	f.Add((&mpaFrame{Rev: 1, CRC: true}).append(nil), uint8(0), uint8(255), false, false)
	f.Fuzz(func(t *testing.T, b []byte, ird, ord uint8, crc, p2p bool) {
		req, err := parseMPA(b, false)
		if err != nil || checkRequest(&req) != nil {
			return
		}
		server := policy{crc: crc, p2p: p2p, rev: 2, maxIRD: 32, maxORD: 32}
		reply, ours, refused := server.answer(&req, rdma.ConnParams{IRD: int(ird), ORD: int(ord), PrivateData: req.Private})
		if refused != nil {
			return
		}
		// A peer to peer connection that opens with a READ has to have one answered.
		if ours.ird > max(32, 1) || ours.ord > 32 || ours.ird > max(int(ird), 1) || ours.ord > int(ord) {
			t.Fatalf("%+v, wanted %d and %d", ours, ird, ord)
		}
		sent, err := parseMPA(reply.append(nil), true)
		if err != nil {
			t.Fatalf("our own reply: %v", err)
		}
		if !bytes.Equal(sent.Private, req.Private) {
			t.Errorf("private data % x became % x", req.Private, sent.Private)
		}
		client := policy{crc: req.CRC, p2p: req.PeerToPeer, rev: req.Rev, maxIRD: mpaDepth, maxORD: mpaDepth}
		theirs, bad := client.conclude(&req, &sent, rdma.ConnParams{IRD: int(req.IRD), ORD: int(req.ORD)})
		if bad != nil {
			t.Fatalf("%+v is answered by %+v, and refused: %v", req, reply, bad)
		}
		if theirs.crc != ours.crc || theirs.rtr != ours.rtr {
			t.Errorf("%+v here, %+v there", ours, theirs)
		}
		if req.Enhanced && (theirs.ird < ours.ord || theirs.ord > ours.ird) {
			t.Errorf("%+v here, %+v there: more READs than are answered", ours, theirs)
		}
	})
}
