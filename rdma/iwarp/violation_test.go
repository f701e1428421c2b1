package iwarp

import (
	"testing"

	"fileserver/rdma"
)

// TestViolations sends everything a peer must not send, and expects the Terminate
// that the RFCs want, a counted reason, flushed queues and nothing changed in memory.
func TestViolations(t *testing.T) {
	const guard = 4096 // bytes behind the region that must stay as they are
	tests := map[string]struct {
		reason Reason
		recvs  int
		send   func(e *end, key func(rdma.Access) rdma.MR) [][]byte
	}{
		"short tagged": {ReasonShortFPDU, 1, func(e *end, _ func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opWrite, tagged: true, last: true}, nil)[:taggedLen-1]}
		}},
		"short untagged": {ReasonShortFPDU, 1, func(e *end, _ func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{sendSeg(1, 0, true, nil)[:untaggedLen-1]}
		}},
		"empty": {ReasonShortFPDU, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte { return [][]byte{{}} }},
		"DDP version": {ReasonDDPVersion, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{patch(sendSeg(1, 0, true, nil), 0, 0x42)}
		}},
		"DDP version tagged": {ReasonDDPVersionTagged, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{patch(ulpdu(segment{op: opWrite, tagged: true}, nil), 0, 0xc0)}
		}},
		"RDMAP version": {ReasonRDMAPVersion, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{patch(sendSeg(1, 0, true, nil), 1, 0x83)}
		}},
		"opcode": {ReasonOpcode, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{patch(sendSeg(1, 0, true, nil), 1, 0x48)}
		}},
		"tagged SEND": {ReasonOpcode, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opSend, tagged: true, last: true}, nil)}
		}},
		"untagged WRITE": {ReasonOpcode, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opWrite, last: true}, nil)}
		}},
		"SEND queue": {ReasonQueue, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opSend, qn: 1, msn: 1, last: true}, nil)}
		}},
		"SEND MSN 0": {ReasonMSN, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte { return [][]byte{sendSeg(0, 0, true, nil)} }},
		"SEND MSN 2": {ReasonMSN, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte { return [][]byte{sendSeg(2, 0, true, nil)} }},
		"SEND MO":    {ReasonMO, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte { return [][]byte{sendSeg(1, 4, true, nil)} }},
		"SEND MO gap": {ReasonMO, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{sendSeg(1, 0, false, make([]byte, 8)), sendSeg(1, 9, true, nil)}
		}},
		"SEND changes": {ReasonOpcode, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{sendSeg(1, 0, false, make([]byte, 8)), ulpdu(segment{op: opSendSE, msn: 1, mo: 8, last: true}, nil)}
		}},
		"no RECV":  {ReasonNoRecv, 0, func(*end, func(rdma.Access) rdma.MR) [][]byte { return [][]byte{sendSeg(1, 0, true, nil)} }},
		"too long": {ReasonRecvTooSmall, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte { return [][]byte{sendSeg(1, 0, true, make([]byte, 65))} }},
		"too long in parts": {ReasonRecvTooSmall, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{sendSeg(1, 0, false, make([]byte, 64)), sendSeg(1, 64, true, make([]byte, 1))}
		}},
		"WRITE unknown key": {ReasonSTag, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			m := key(allAcc)
			return [][]byte{write(m.RKey()^0x100, m.Addr(), 8)}
		}},
		"WRITE wrong consumer key": {ReasonSTag, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			m := key(allAcc)
			return [][]byte{write(m.RKey()^1, m.Addr(), 8)}
		}},
		"WRITE no access": {ReasonAccess, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			m := key(rdma.AccessLocalWrite | rdma.AccessRemoteRead)
			return [][]byte{write(m.RKey(), m.Addr(), 8)}
		}},
		"WRITE local key": {ReasonAccess, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			m := key(rdma.AccessLocalWrite)
			return [][]byte{write(m.LKey(), m.Addr(), 8)}
		}},
		"WRITE below": {ReasonBounds, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			m := key(allAcc)
			return [][]byte{write(m.RKey(), m.Addr()-1, 8)}
		}},
		"WRITE behind": {ReasonBounds, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			m := key(allAcc)
			return [][]byte{write(m.RKey(), m.Addr()+uint64(len(m.Bytes()))-7, 8)}
		}},
		"WRITE wrap": {ReasonWrap, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{write(key(allAcc).RKey(), ^uint64(0)-3, 8)}
		}},
		"WRITE deregistered": {ReasonSTag, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			m := key(allAcc)
			b := write(m.RKey(), m.Addr(), 8)
			_ = m.Deregister()
			return [][]byte{b}
		}},
		"WRITE other domain": {ReasonPD, 1, func(e *end, _ func(rdma.Access) rdma.MR) [][]byte {
			m := foreign(e)
			return [][]byte{write(m.RKey(), m.Addr(), 8)}
		}},
		"Read Response unasked": {ReasonReadResponseUnexpected, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			m := key(allAcc)
			return [][]byte{ulpdu(segment{op: opReadResponse, tagged: true, last: true, stag: m.RKey(), to: m.Addr()}, make([]byte, 8))}
		}},
		"READ queue": {ReasonQueue, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opReadRequest, qn: 0, msn: 1, last: true}, make([]byte, readReqLen))}
		}},
		"READ MSN": {ReasonMSN, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte { return [][]byte{readSeg(2, readRequest{})} }},
		"READ MO": {ReasonMO, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opReadRequest, qn: 1, msn: 1, mo: 1, last: true}, make([]byte, readReqLen))}
		}},
		"READ length": {ReasonReadMalformed, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opReadRequest, qn: 1, msn: 1, last: true}, make([]byte, readReqLen+1))}
		}},
		"READ not last": {ReasonReadMalformed, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opReadRequest, qn: 1, msn: 1}, make([]byte, readReqLen))}
		}},
		"READ unknown key": {ReasonReadSTag, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			m := key(allAcc)
			return [][]byte{readSeg(1, readRequest{size: 8, srcSTag: m.RKey() ^ 0x100, srcTO: m.Addr()})}
		}},
		"READ no access": {ReasonReadAccess, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			m := key(rdma.AccessRemoteWrite)
			return [][]byte{readSeg(1, readRequest{size: 8, srcSTag: m.RKey(), srcTO: m.Addr()})}
		}},
		"READ bounds": {ReasonReadBounds, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			m := key(allAcc)
			return [][]byte{readSeg(1, readRequest{size: uint32(len(m.Bytes())) + 1, srcSTag: m.RKey(), srcTO: m.Addr()})}
		}},
		"READ wrap": {ReasonReadWrap, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{readSeg(1, readRequest{size: 8, srcSTag: key(allAcc).RKey(), srcTO: ^uint64(0)})}
		}},
		"READ other domain": {ReasonReadPD, 1, func(e *end, _ func(rdma.Access) rdma.MR) [][]byte {
			m := foreign(e)
			return [][]byte{readSeg(1, readRequest{size: 8, srcSTag: m.RKey(), srcTO: m.Addr()})}
		}},
		"invalidate unknown": {ReasonInvalidateSTag, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opSendInv, stag: key(allAcc).RKey() ^ 1, msn: 1, last: true}, nil)}
		}},
		"invalidate local": {ReasonInvalidateAccess, 1, func(e *end, key func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opSendInv, stag: key(rdma.AccessLocalWrite).LKey(), msn: 1, last: true}, nil)}
		}},
		"invalidate other domain": {ReasonInvalidateSTag, 1, func(e *end, _ func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opSendSEInv, stag: foreign(e).RKey(), msn: 1, last: true}, nil)}
		}},
		"Terminate queue": {ReasonQueue, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opTerminate, qn: 0, msn: 1, last: true}, make([]byte, 4))}
		}},
		"Terminate MSN": {ReasonMSN, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opTerminate, qn: 2, msn: 2, last: true}, make([]byte, 4))}
		}},
		"Terminate MO": {ReasonMO, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opTerminate, qn: 2, msn: 1, mo: 4, last: true}, make([]byte, 4))}
		}},
		"Terminate short": {ReasonTerminateMalformed, 1, func(*end, func(rdma.Access) rdma.MR) [][]byte {
			return [][]byte{ulpdu(segment{op: opTerminate, qn: 2, msn: 1, last: true}, make([]byte, 3))}
		}},
	}
	for name, tt := range tests {
		for _, crc := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				cfg := Config{}
				if crc {
					cfg.CRC = CRCAlways
				}
				r, e, _ := attachRaw(t, cfg, nil, func(e *end) {
					for i := range tt.recvs {
						e.recv(uint64(i), 0, 64)
					}
				})
				e.wantEvent(rdma.EventEstablished)
				r.fpdu(ulpdu(segment{op: opWrite, tagged: true, last: true}, nil)) // opens the connection
				mrs := map[rdma.MR]bool{}
				key := func(a rdma.Access) rdma.MR {
					mr, err := e.pd.RegMR(e.mem[guard:2*guard], a)
					if err != nil {
						t.Fatal(err)
					}
					mrs[mr] = true
					return mr
				}
				frames := tt.send(e, key)
				for _, b := range frames {
					r.fpdu(b)
				}
				code, _ := tt.reason.terminates()
				term := r.wantTerminate(code)
				bad := frames[len(frames)-1]
				if term.length != len(bad) && len(term.offender) > 0 {
					t.Errorf("Terminate about a ULPDU of %d bytes, sent %d", term.length, len(bad))
				}
				if ev := e.wantEvent(rdma.EventFatal); ev.Err == nil {
					t.Error("EventFatal without a reason")
				}
				for i := range tt.recvs {
					want := rdma.StatusWRFlushErr
					if tt.reason == ReasonRecvTooSmall {
						want = rdma.StatusLocLenErr
					}
					e.want(uint64(i), rdma.OpRecv, want)
				}
				reasonCounted(t, e.p, tt.reason)
				for i, b := range e.mem[64 : 3*guard] {
					if b != 0 {
						t.Fatalf("byte %d has been written", 64+i)
					}
				}
				for mr := range mrs {
					if mr.Deregister() != nil && tt.reason != ReasonSTag {
						t.Error("deregistration failed")
					}
				}
			})
		}
	}
}

func patch(b []byte, i int, v byte) []byte {
	b[i] = v
	return b
}

// write is a segment of n bytes of ones.
func write(stag uint32, to uint64, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 0xff
	}
	return ulpdu(segment{op: opWrite, tagged: true, last: true, stag: stag, to: to}, b)
}

// foreign is a region of another protection domain.
func foreign(e *end) rdma.MR {
	pd, err := e.dev.AllocPD()
	if err != nil {
		e.t.Fatal(err)
	}
	mr, err := pd.RegMR(e.mem[:64], allAcc)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = mr.Deregister() })
	return mr
}
