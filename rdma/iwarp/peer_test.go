package iwarp

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"fileserver/rdma"
)

// open sends the first FPDU: nothing flows towards an initiator before it.
func (r *rawPeer) open() {
	r.t.Helper()
	r.fpdu(ulpdu(segment{op: opWrite, tagged: true, last: true, stag: 1}, nil))
}

// wantReadRequest reads one Read Request.
func (r *rawPeer) wantReadRequest(msn uint32) readRequest {
	r.t.Helper()
	s, b := r.segment()
	req, ok := parseReadRequest(b)
	if s.op != opReadRequest || s.qn != queueRead || s.msn != msn || s.mo != 0 || !s.last || !ok {
		r.t.Fatalf("segment %+v of %d bytes, want Read Request %d", s, len(b), msn)
	}
	return req
}

func response(q readRequest, off int, last bool, payload []byte) []byte {
	return ulpdu(segment{op: opReadResponse, tagged: true, last: last, stag: q.sinkSTag, to: q.sinkTO + uint64(off)}, payload)
}

func TestReadResponses(t *testing.T) {
	const n = 100
	tests := map[string]struct {
		reason Reason
		send   func(q readRequest) [][]byte
	}{
		"in parts": {0, func(q readRequest) [][]byte {
			return [][]byte{response(q, 0, false, make([]byte, 60)), response(q, 60, false, nil), response(q, 60, true, make([]byte, 40))}
		}},
		"empty last": {0, func(q readRequest) [][]byte {
			return [][]byte{response(q, 0, false, make([]byte, n)), response(q, n, true, nil)}
		}},
		"wrong key": {ReasonReadResponseSTag, func(q readRequest) [][]byte {
			q.sinkSTag++
			return [][]byte{response(q, 0, true, make([]byte, n))}
		}},
		"wrong offset": {ReasonReadResponseBounds, func(q readRequest) [][]byte { return [][]byte{response(q, 1, true, make([]byte, n-1))} }},
		"before":       {ReasonReadResponseBounds, func(q readRequest) [][]byte { return [][]byte{response(q, -1, true, make([]byte, n))} }},
		"too long":     {ReasonReadResponseBounds, func(q readRequest) [][]byte { return [][]byte{response(q, 0, true, make([]byte, n+1))} }},
		"too short":    {ReasonReadResponseBounds, func(q readRequest) [][]byte { return [][]byte{response(q, 0, true, make([]byte, n-1))} }},
		"overlap": {ReasonReadResponseBounds, func(q readRequest) [][]byte {
			return [][]byte{response(q, 0, false, make([]byte, 8)), response(q, 4, true, make([]byte, n-4))}
		}},
		"goes on": {ReasonReadResponseBounds, func(q readRequest) [][]byte {
			return [][]byte{response(q, 0, false, make([]byte, n)), response(q, n, true, make([]byte, 1))}
		}},
		"twice": {ReasonReadResponseUnexpected, func(q readRequest) [][]byte {
			return [][]byte{response(q, 0, true, make([]byte, n)), response(q, 0, true, make([]byte, n))}
		}},
		"WRITE to sink": {ReasonSTag, func(q readRequest) [][]byte { return [][]byte{write(q.sinkSTag, q.sinkTO, 8)} }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, e, _ := attachRaw(t, Config{}, nil, nil)
			e.wantEvent(rdma.EventEstablished)
			r.open()
			fill(e.mem[:n+64], 1)
			before := bytes.Clone(e.mem[:n+64])
			e.post(rdma.SendWR{ID: 7, Opcode: rdma.OpRead, Flags: rdma.SendSignaled, SGL: e.sgl(32, n), RemoteAddr: 1 << 50, RKey: 0xabcdef01})
			q := r.wantReadRequest(1)
			if q.size != n || q.srcSTag != 0xabcdef01 || q.srcTO != 1<<50 {
				t.Fatalf("Read Request %+v", q)
			}
			for _, b := range tt.send(q) {
				r.fpdu(b)
			}
			if tt.reason == 0 {
				e.want(7, rdma.OpRead, rdma.StatusSuccess)
				return
			}
			code, _ := tt.reason.terminates()
			r.wantTerminate(code)
			e.wantEvent(rdma.EventFatal)
			want := rdma.StatusWRFlushErr
			if tt.reason == ReasonReadResponseUnexpected {
				want = rdma.StatusSuccess
			}
			e.want(7, rdma.OpRead, want)
			reasonCounted(t, e.p, tt.reason)
			if !bytes.Equal(e.mem[:32], before[:32]) || !bytes.Equal(e.mem[32+n:n+64], before[32+n:]) {
				t.Error("memory outside the sink has changed")
			}
		})
	}
}

// TestPeerREADs answers READs in order, up to the negotiated depth and not one more.
func TestPeerREADs(t *testing.T) {
	r, e, reply := attachRaw(t, Config{}, nil, nil)
	if reply.IRD != 8 || reply.ORD != 0 { // siw's request said: answers 128, asks 0 ... turned around
		t.Logf("negotiated IRD %d, ORD %d", reply.IRD, reply.ORD)
	}
	e.wantEvent(rdma.EventEstablished)
	fill(e.mem[:4096], 3)
	ird, _ := e.id.Negotiated()
	if ird != 0 {
		t.Fatalf("IRD %d with a peer whose ORD is 0", ird)
	}
	r.open()
	r.fpdu(readSeg(1, readRequest{size: 8, srcSTag: e.mr.RKey(), srcTO: e.mr.Addr()}))
	code, _ := ReasonIRD.terminates()
	r.wantTerminate(code)
	reasonCounted(t, e.p, ReasonIRD)
}

func depthRequest(ird, ord uint16) []byte {
	f := mpaFrame{Rev: 2, Enhanced: true, IRD: ird, ORD: ord}
	return f.append(nil)
}

func TestPeerREADDepth(t *testing.T) {
	r, e, reply := attachRaw(t, Config{}, depthRequest(5, 4), nil)
	if reply.IRD != 4 || reply.ORD != 5 {
		t.Fatalf("reply with IRD %d, ORD %d, want 4, 5", reply.IRD, reply.ORD)
	}
	if ird, ord := e.id.Negotiated(); ird != 4 || ord != 5 {
		t.Fatalf("negotiated %d, %d, want 4, 5", ird, ord)
	}
	fill(e.mem, 3)
	read := func(msn uint32, n int) []byte {
		return readSeg(msn, readRequest{sinkSTag: msn, sinkTO: 1 << 40, size: uint32(n), srcSTag: e.mr.RKey(), srcTO: e.mr.Addr() + uint64(msn)})
	}
	msn := uint32(1)
	for round := range 3 {
		first := msn
		for i := range 4 {
			r.fpdu(read(msn, i*1000*(round*30+1)))
			msn++
		}
		for i := range 4 {
			want := i * 1000 * (round*30 + 1)
			id := first + uint32(i)
			for got := 0; ; {
				s, b := r.segment()
				if s.op != opReadResponse || s.stag != id || s.to != 1<<40+uint64(got) {
					t.Fatalf("segment %+v, want %d bytes at %d", s, want, got)
				}
				if !bytes.Equal(b, e.mem[int(id)+got:int(id)+got+len(b)]) {
					t.Fatal("wrong data")
				}
				if got += len(b); s.last {
					if got != want {
						t.Fatalf("%d bytes, want %d", got, want)
					}
					break
				}
			}
		}
	}
	// More than the peer may have outstanding, while it takes no answers.
	for range 64 {
		if _, err := r.c.Write(appendFPDU(nil, read(msn, 4<<20), false)); err != nil {
			break // the connection has ended already
		}
		msn++
	}
	reasonCounted(t, e.p, ReasonIRD)
	e.wantEvent(rdma.EventEstablished)
	e.wantEvent(rdma.EventFatal)
}

// TestSendQueueOrder: a READ holds back the completions behind it, a fence what
// is behind it, and a READ too many the whole queue.
func TestSendQueueOrder(t *testing.T) {
	r, e, _ := attachRaw(t, Config{}, depthRequest(2, 0), nil)
	r.open()
	sig := rdma.SendSignaled
	read := func(id uint64) rdma.SendWR {
		return rdma.SendWR{ID: id, Opcode: rdma.OpRead, Flags: sig, SGL: e.sgl(int(id)*64, 16), RKey: 1}
	}
	e.post(read(1), rdma.SendWR{ID: 2, Opcode: rdma.OpSend, Flags: sig}, read(3), read(4),
		rdma.SendWR{ID: 5, Opcode: rdma.OpSend, Flags: sig | rdma.SendFence}, rdma.SendWR{ID: 6, Opcode: rdma.OpWrite, Flags: sig})
	q1 := r.wantReadRequest(1)
	if s, _ := r.segment(); s.op != opSend || s.msn != 1 {
		t.Fatalf("segment %+v, want SEND 1", s)
	}
	q3 := r.wantReadRequest(2)
	quiet := func(what string) {
		t.Helper()
		_ = r.c.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
		if n, err := r.c.Read(make([]byte, 1)); err == nil {
			t.Fatalf("%d bytes while %s", n, what)
		}
		_ = r.c.SetReadDeadline(time.Now().Add(10 * time.Second))
		var wc [1]rdma.WC
		if e.cq.Poll(wc[:]) != 0 {
			t.Fatalf("completion %+v while %s", wc[0], what)
		}
	}
	quiet("two READs are outstanding, of two allowed")
	r.fpdu(response(q1, 0, true, make([]byte, 16)))
	e.want(1, rdma.OpRead, rdma.StatusSuccess)
	e.want(2, rdma.OpSend, rdma.StatusSuccess)
	q4 := r.wantReadRequest(3)
	quiet("the fence holds")
	r.fpdu(response(q3, 0, true, make([]byte, 16)))
	e.want(3, rdma.OpRead, rdma.StatusSuccess)
	quiet("the fence holds, still")
	r.fpdu(response(q4, 0, true, make([]byte, 16)))
	for id, op := range []rdma.Opcode{rdma.OpRead, rdma.OpSend, rdma.OpWrite} {
		e.want(uint64(id+4), op, rdma.StatusSuccess)
	}
	if q1.sinkSTag == q3.sinkSTag || q1.sinkSTag>>31 != 1 || q3.sinkSTag>>31 != 1 {
		t.Errorf("sink keys %#x, %#x", q1.sinkSTag, q3.sinkSTag)
	}
}

// TestMSNWrap: message numbers count modulo 2^32.
func TestMSNWrap(t *testing.T) {
	const last = ^uint32(0)
	r, e, _ := attachRaw(t, Config{}, depthRequest(2, 2), func(e *end) {
		q := e.qp.(*queuePair)
		q.tx.msn = [...]uint32{last, last}
		q.rx.in.sendMSN, q.rx.in.readMSN = last, last
		for i := range 3 {
			e.recv(uint64(i), 0, 8)
		}
	})
	for i := range uint32(3) {
		r.fpdu(sendSeg(last+i, 0, true, make([]byte, 8)))
		e.want(uint64(i), rdma.OpRecv, rdma.StatusSuccess)
		e.post(rdma.SendWR{Opcode: rdma.OpSend, SGL: e.sgl(0, 4)})
		if s, _ := r.segment(); s.msn != last+i {
			t.Fatalf("MSN %#x, want %#x", s.msn, last+i)
		}
		r.fpdu(readSeg(last+i, readRequest{sinkSTag: 9}))
		if s, _ := r.segment(); s.op != opReadResponse || s.stag != 9 || !s.last {
			t.Fatalf("segment %+v, want an empty Read Response", s)
		}
		e.post(rdma.SendWR{ID: 9, Opcode: rdma.OpRead, Flags: rdma.SendSignaled})
		r.fpdu(response(r.wantReadRequest(last+i), 0, true, nil))
		e.want(9, rdma.OpRead, rdma.StatusSuccess)
	}
}

// TestCorruption flips each bit of an FPDU in turn, where CRC protects it.
func TestCorruption(t *testing.T) {
	frame := appendFPDU(nil, sendSeg(1, 0, true, []byte("payload")), true)
	for i := 16; i < len(frame)*8; i += 5 { // not the length: that asks for other bytes
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r, e, _ := attachRaw(t, Config{CRC: CRCAlways}, nil, func(e *end) { e.recv(1, 0, 64) })
			bad := bytes.Clone(frame)
			bad[i/8] ^= 1 << (i % 8)
			r.write(bad)
			// The initiator has not spoken yet, as far as we know: no Terminate may go to it.
			if b := r.read(); b != nil {
				t.Fatalf("ULPDU % x in answer to a first FPDU that is corrupt", b)
			}
			e.want(1, rdma.OpRecv, rdma.StatusWRFlushErr)
			reasonCounted(t, e.p, ReasonCRC)
		})
	}
	r, e, _ := attachRaw(t, Config{CRC: CRCAlways}, nil, nil)
	r.open()
	frame[len(frame)-1] ^= 1
	r.write(frame)
	code, _ := ReasonCRC.terminates()
	r.wantTerminate(code)
	reasonCounted(t, e.p, ReasonCRC)
}

// TestTerminateReceived: the READ it names fails with the status it says, the rest is flushed.
func TestTerminateReceived(t *testing.T) {
	r, e, _ := attachRaw(t, Config{}, depthRequest(4, 0), func(e *end) { e.recv(8, 0, 8) })
	r.open()
	for id := range uint64(3) {
		e.post(rdma.SendWR{ID: id, Opcode: rdma.OpRead, SGL: e.sgl(0, 8), RKey: 1})
	}
	for i := range uint32(3) {
		r.wantReadRequest(i + 1)
	}
	term := terminate{TerminateCode: TerminateCode{Layer: 0, EType: 1, Code: 0}, offender: readSeg(2, readRequest{size: 8}), length: 46}
	r.fpdu(ulpdu(segment{op: opTerminate, qn: queueTerminate, msn: 1, last: true}, term.append(nil)))
	e.want(0, rdma.OpRead, rdma.StatusWRFlushErr)
	e.want(1, rdma.OpRead, rdma.StatusRemAccessErr)
	e.want(2, rdma.OpRead, rdma.StatusWRFlushErr)
	e.want(8, rdma.OpRecv, rdma.StatusWRFlushErr)
	if b := r.read(); b != nil {
		t.Fatal("an answer to a Terminate")
	}
	e.wantEvent(rdma.EventEstablished)
	ev := e.wantEvent(rdma.EventFatal)
	if err, ok := ev.Err.(*Error); !ok || err.Reason != ReasonTerminated || err.Terminate == nil || *err.Terminate != term.TerminateCode {
		t.Errorf("event with %v", ev.Err)
	}
	if s := e.p.Stats(); s.TerminatesReceived != 1 || s.TerminatesSent != 0 || s.Live != 0 {
		t.Errorf("stats %+v", s)
	}
}
