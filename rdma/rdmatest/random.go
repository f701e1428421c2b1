package rdmatest

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"fileserver/rdma"
)

// A random program is a series of batches that both sides post at the same time.
// Each side has a private half of memory, source and sink of its requests, and an
// exposed half that only the other side touches; so a model that executes one
// side's batches in order knows every byte.
const (
	half     = 96 << 10
	batches  = 40
	maxBatch = 12
	msgSize  = 3000
)

type player struct {
	*end
	mem, msgs *region
	model     []byte // expected: own private half, then the other's exposed half
	rnd       *rand.Rand
	heard     int // messages received
	said      int
	failed    error
}

func testRandom(r *rig) {
	for seed := range uint64(6) {
		o := options{sendDepth: maxBatch, recvDepth: batches + 1, sge: min(4, r.minCaps().MaxSGE)}
		client, server := r.connect(o)
		talk(client, server)
		a, b := newPlayer(client, seed, o.sge), newPlayer(server, seed+1000, o.sge)
		done := make(chan struct{}, 2)
		for _, p := range [][2]*player{{a, b}, {b, a}} {
			go func() {
				defer func() { done <- struct{}{} }()
				p[0].failed = p[0].play(p[1].mem, o.sge)
			}()
		}
		<-done
		<-done
		for _, p := range [][2]*player{{a, b}, {b, a}} {
			if p[0].failed != nil {
				r.t.Fatalf("seed %d, %s: %v", seed, p[0].name, p[0].failed)
			}
			for p[0].heard < p[1].said {
				wc, ok := p[0].poll()
				if err := p[0].message(wc); !ok || err != nil {
					r.t.Fatalf("seed %d: %s misses messages: %v", seed, p[0].name, err)
				}
			}
		}
		same(r.t, "client's private half", a.mem.mem[:half], a.model[:half])
		same(r.t, "server's exposed half", b.mem.mem[half:], a.model[half:])
		same(r.t, "server's private half", b.mem.mem[:half], b.model[:half])
		same(r.t, "client's exposed half", a.mem.mem[half:], b.model[half:])
		client.close()
		server.close()
		if r.t.Failed() {
			r.t.Fatalf("seed %d", seed)
		}
	}
}

func newPlayer(e *end, seed uint64, sge int) *player {
	p := &player{end: e, rnd: rand.New(rand.NewPCG(seed, 1))}
	p.mem, p.msgs = e.region(2*half, remote), e.region((batches+1)*msgSize, local)
	pattern(p.mem.mem[:half], int(seed))
	p.model = make([]byte, 2*half)
	copy(p.model, p.mem.mem[:half])
	for i := range batches {
		e.recv(uint64(1000+i), p.msgs.sge(i*msgSize, msgSize))
	}
	return p
}

// span is a random range of up to most bytes in a half.
func (p *player) span(most int) (off, n int) {
	switch p.rnd.IntN(4) {
	case 0:
		n = p.rnd.IntN(16)
	case 1:
		n = p.rnd.IntN(1500)
	default:
		n = p.rnd.IntN(most)
	}
	return p.whole(p.rnd.IntN(half-n), n), n
}

// whole moves a range that would be sent wrong to the beginning of its page.
func (p *player) whole(off, n int) int {
	if p.h.torn(off, n) {
		off &^= 4095
	}
	return off
}

// cut makes a scatter/gather list of a range of the private half.
func (p *player) cut(off, n, most int) (sgl []rdma.SGE) {
	for k := 1 + p.rnd.IntN(most); k > 1 && n > 0; k-- {
		m := p.rnd.IntN(n + 1)
		sgl = append(sgl, p.mem.sge(off, m))
		off, n = off+m, n-m
	}
	return append(sgl, p.mem.sge(off, n))
}

func (p *player) play(other *region, sge int) error {
	exposed := other.mr.Addr() + half
	for batch := range batches {
		var chain []rdma.SendWR
		id := func() uint64 { return uint64(len(chain)) }
		signalled := 0
		flag := func(always bool) rdma.SendFlags {
			if always || p.rnd.IntN(2) == 0 {
				signalled++
				return rdma.SendSignaled
			}
			return 0
		}
		for range p.rnd.IntN(maxBatch/2 + 1) {
			off, n := p.span(half / 2)
			at := p.rnd.IntN(half - n)
			chain = append(chain, rdma.SendWR{ID: id(), Opcode: rdma.OpWrite, Flags: flag(false), SGL: p.cut(off, n, sge),
				RemoteAddr: exposed + uint64(at), RKey: other.mr.RKey()})
			copy(p.model[half+at:half+at+n], p.model[off:off+n])
		}
		// READs come after the WRITEs, which they see, and into ranges apart from each other.
		for i := range p.rnd.IntN(maxBatch/2 - 1) {
			const slice = half / (maxBatch / 2)
			n := p.rnd.IntN(slice)
			at := p.whole(p.rnd.IntN(half-n), n)
			chain = append(chain, rdma.SendWR{ID: id(), Opcode: rdma.OpRead, Flags: flag(true), SGL: p.cut(i*slice, n, min(sge, p.caps.MaxSGERead)),
				RemoteAddr: exposed + uint64(at), RKey: other.mr.RKey()})
			copy(p.model[i*slice:i*slice+n], p.model[half+at:half+at+n])
		}
		// The last batch ends with one, because a WRITE is placed for certain when what follows it is heard.
		if p.rnd.IntN(3) > 0 || batch == batches-1 {
			// A message is a range that no READ of this batch goes to: the model's last bytes.
			n := p.rnd.IntN(msgSize)
			chain = append(chain, rdma.SendWR{ID: id(), Opcode: rdma.OpSend, SGL: []rdma.SGE{p.mem.sge(half-n, n)}, Flags: flag(false)})
			p.said++
		}
		if len(chain) == 0 {
			continue
		}
		if last := &chain[len(chain)-1]; last.Flags == 0 {
			last.Flags = rdma.SendSignaled
			signalled++
		}
		if err := p.qp.PostSend(chain); err != nil {
			return fmt.Errorf("batch %d: %w", batch, err)
		}
		for signalled > 0 {
			wc, ok := p.poll()
			switch {
			case !ok:
				return fmt.Errorf("batch %d: %d completions are missing", batch, signalled)
			case wc.Status != rdma.StatusSuccess:
				return fmt.Errorf("batch %d: %+v", batch, wc)
			case wc.Opcode == rdma.OpRecv:
				if err := p.message(wc); err != nil {
					return err
				}
			case chain[wc.ID].Opcode != wc.Opcode || chain[wc.ID].Flags == 0:
				return fmt.Errorf("batch %d: completion %+v of %v", batch, wc, chain[wc.ID].Opcode)
			default:
				signalled--
			}
		}
		if i := diff(p.mem.mem[:half], p.model[:half]); i >= 0 {
			return fmt.Errorf("batch %d: byte %d is wrong", batch, i)
		}
	}
	return nil
}

// message checks a received message's place in the order; receives complete in the order posted.
func (p *player) message(wc rdma.WC) error {
	if wc.Opcode != rdma.OpRecv || wc.Status != rdma.StatusSuccess || wc.ID != uint64(1000+p.heard) {
		return fmt.Errorf("completion %+v instead of message %d", wc, p.heard)
	}
	p.heard++
	return nil
}

// diff is where a and b, of one length, first differ; -1 where they do not.
func diff(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
