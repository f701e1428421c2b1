package iwarp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"fileserver/rdma"
)

func fill(b []byte, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// modes are the kinds of connection the transfer tests run on.
var modes = map[string][2]Config{
	"default":   {},
	"siw":       {{NoPeerToPeer: true}, {}},
	"crc":       {{CRC: CRCAlways}, {}},
	"v1":        {{MPARevision: 1}, {CRC: CRCAlways}},
	"mtu":       {{MaxFPDU: 1448}, {MaxFPDU: 1448}},
	"mtu crc":   {{MaxFPDU: 1448, CRC: CRCAlways}, {MaxFPDU: 1448}},
	"odd":       {{MaxFPDU: 131}, {MaxFPDU: 130}},
	"large":     {{MaxFPDU: maxFPDU}, {MaxFPDU: maxFPDU}},
	"large crc": {{MaxFPDU: maxFPDU}, {MaxFPDU: maxFPDU, CRC: CRCAlways}},
}

func TestTransfer(t *testing.T) {
	for name, m := range modes {
		t.Run(name, func(t *testing.T) {
			c, s := connect(t, m[0], m[1])
			for i, n := range []int{0, 1, 2, 3, 4, 5, 127, 1024, 1447, 4096, 8191, 65519, 65536, 70001, 1 << 20} {
				t.Run(fmt.Sprint(n), func(t *testing.T) { roundTrip(t, c, s, n, i%7, uint64(i)) })
			}
		})
	}
}

// roundTrip does a SEND, a WRITE with a SEND behind it, and a READ, both ways.
func roundTrip(t *testing.T, c, s *end, n, shift int, seed uint64) {
	for _, e := range [][2]*end{{c, s}, {s, c}} {
		a, b := e[0], e[1]
		const src, dst = 0, 4 << 20
		fill(a.mem[src:src+n+8], seed)
		clear(b.mem[dst : dst+n+16])
		check := func(what string) {
			t.Helper()
			if !bytes.Equal(a.mem[src+shift:src+shift+n], b.mem[dst:dst+n]) {
				t.Fatalf("%s of %d bytes: wrong data", what, n)
			}
			if !bytes.Equal(b.mem[dst+n:dst+n+16], make([]byte, 16)) {
				t.Fatalf("%s of %d bytes: data behind the end", what, n)
			}
			clear(b.mem[dst : dst+n])
		}
		b.recv(1, dst, n)
		a.post(rdma.SendWR{ID: 2, Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: a.sgl(src+shift, n)})
		a.want(2, rdma.OpSend, rdma.StatusSuccess)
		if wc := b.want(1, rdma.OpRecv, rdma.StatusSuccess); wc.ByteLen != uint32(n) {
			t.Fatalf("received %d bytes, want %d", wc.ByteLen, n)
		}
		check("SEND")

		b.recv(3, 0, 0)
		a.post(
			rdma.SendWR{ID: 4, Opcode: rdma.OpWrite, SGL: a.sgl(src+shift, n), RemoteAddr: b.mr.Addr() + dst, RKey: b.mr.RKey()},
			rdma.SendWR{ID: 5, Opcode: rdma.OpSend, Flags: rdma.SendSignaled | rdma.SendSolicited},
		)
		a.want(5, rdma.OpSend, rdma.StatusSuccess)
		b.want(3, rdma.OpRecv, rdma.StatusSuccess)
		check("WRITE")

		b.post(rdma.SendWR{
			ID: 6, Opcode: rdma.OpRead, Flags: rdma.SendSignaled, SGL: b.sgl(dst, n),
			RemoteAddr: a.mr.Addr() + src + uint64(shift), RKey: a.mr.RKey(),
		})
		if wc := b.want(6, rdma.OpRead, rdma.StatusSuccess); wc.ByteLen != uint32(n) {
			t.Fatalf("read %d bytes, want %d", wc.ByteLen, n)
		}
		check("READ")
	}
}
