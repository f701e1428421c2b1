package rdmatest

import (
	"errors"
	"fmt"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

// sizes are lengths around the boundaries that transports have.
var sizes = []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 255, 256, 257, 511, 512, 513,
	1408, 1409, 1447, 1448, 1449, 1460, 2047, 2048, 4095, 4096, 4097, 8191, 8933, 9000,
	16383, 16385, 65503, 65504, 65512, 65513, 65520, 65521, 65522, 65535, 65536, 65537,
	131072, 262147, 1<<20 - 1, 1 << 20, 1<<20 + 1}

// offsets are alignments: local, remote.
var offsets = [][2]int{{0, 0}, {1, 0}, {0, 1}, {3, 2}, {7, 4095}, {4093, 5}}

const canary = 64

// talk lets the connecting side speak first, so that either may from then on.
func talk(client, server *end) {
	client.t.Helper()
	r := server.region(64, local)
	server.recv(1<<40, r.sge(0, 64))
	client.post(rdma.SendWR{ID: 1 << 40, Opcode: rdma.OpSend, Flags: rdma.SendSignaled})
	client.ok(1<<40, rdma.OpSend)
	server.ok(1<<40, rdma.OpRecv)
}

func (r *rig) directions(o options, f func(from, to *end)) {
	r.t.Helper()
	client, server := r.connect(o)
	talk(client, server)
	f(client, server)
	f(server, client)
}

func testSend(r *rig) {
	r.directions(options{}, func(from, to *end) {
		src, dst := from.region(2<<20, local), to.region(2<<20, local)
		for i, n := range sizes {
			off := offsets[i%len(offsets)]
			if from.h.torn(off[0], n) {
				off[0] = 0
			}
			clear(dst.mem)
			pattern(src.mem[off[0]:off[0]+n], i)
			id := uint64(i)
			to.recv(id, dst.sge(canary+off[1], n+i%2*100))
			from.post(rdma.SendWR{ID: id, Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: []rdma.SGE{src.sge(off[0], n)}})
			from.ok(id, rdma.OpSend)
			if wc := to.ok(id, rdma.OpRecv); int(wc.ByteLen) != n || wc.Invalidated {
				r.t.Errorf("%d bytes: completion %+v", n, wc)
			}
			want := make([]byte, n+off[1]+2*canary)
			copy(want[canary+off[1]:], patterned(n, i))
			same(r.t, fmt.Sprintf("SEND of %d bytes from +%d to +%d", n, off[0], off[1]), dst.mem[:len(want)], want)
		}
	})
}

func testWrite(r *rig) {
	r.directions(options{}, func(from, to *end) {
		src, dst := from.region(2<<20, local), to.region(2<<20, remote)
		sink := to.region(64, local)
		for i, n := range sizes {
			off := offsets[i%len(offsets)]
			if from.h.torn(off[0], n) {
				off[0] = 0
			}
			clear(dst.mem)
			pattern(src.mem[off[0]:off[0]+n], i)
			id := uint64(i)
			to.recv(id, sink.sge(0, 64))
			from.post(
				rdma.SendWR{ID: id, Opcode: rdma.OpWrite, Flags: rdma.SendSignaled, SGL: []rdma.SGE{src.sge(off[0], n)},
					RemoteAddr: dst.mr.Addr() + uint64(canary+off[1]), RKey: dst.mr.RKey()},
				rdma.SendWR{ID: id + 1000, Opcode: rdma.OpSend, Flags: rdma.SendSignaled})
			from.ok(id, rdma.OpWrite)
			from.ok(id+1000, rdma.OpSend)
			to.ok(id, rdma.OpRecv)
			want := make([]byte, n+off[1]+2*canary)
			copy(want[canary+off[1]:], patterned(n, i))
			same(r.t, fmt.Sprintf("WRITE of %d bytes from +%d to +%d", n, off[0], off[1]), dst.mem[:len(want)], want)
		}
	})
}

// sink is the access a READ's local buffer needs.
func (e *end) sink() rdma.Access {
	if e.caps.ReadSinkNeedsRemoteWrite {
		return local | rdma.AccessRemoteWrite
	}
	return local
}

func testRead(r *rig) {
	r.directions(options{}, func(from, to *end) {
		dst, src := from.region(2<<20, from.sink()), to.region(2<<20, remote)
		for i, n := range sizes {
			off := offsets[i%len(offsets)]
			if to.h.torn(off[1], n) {
				off[1] = 0
			}
			clear(dst.mem)
			pattern(src.mem[off[1]:off[1]+n], i)
			id := uint64(i)
			from.post(rdma.SendWR{ID: id, Opcode: rdma.OpRead, Flags: rdma.SendSignaled, SGL: []rdma.SGE{dst.sge(canary+off[0], n)},
				RemoteAddr: src.mr.Addr() + uint64(off[1]), RKey: src.mr.RKey()})
			if wc := from.ok(id, rdma.OpRead); int(wc.ByteLen) != n {
				r.t.Errorf("READ of %d bytes: %d in the completion", n, wc.ByteLen)
			}
			want := make([]byte, n+off[0]+2*canary)
			copy(want[canary+off[0]:], patterned(n, i))
			same(r.t, fmt.Sprintf("READ of %d bytes from +%d to +%d", n, off[1], off[0]), dst.mem[:len(want)], want)
		}
	})
}

// pieces cuts n bytes of a region into k elements, of unequal length, with gaps between them.
func pieces(reg *region, n, k int) (sgl []rdma.SGE, data [][]byte) {
	off := 1
	for i := range k {
		m := n / k
		if i == k-1 {
			m = n - n/k*(k-1)
		}
		sgl = append(sgl, reg.sge(off, m))
		data = append(data, reg.mem[off:off+m])
		off += m + 3
	}
	return sgl, data
}

func testGather(r *rig) {
	sge := min(r.minCaps().MaxSGE, 16)
	r.directions(options{sge: sge}, func(from, to *end) {
		src, dst := from.region(1<<20, from.sink()), to.region(1<<20, remote)
		for k := 1; k <= sge; k++ {
			for _, n := range []int{k, 4096 + k, 200_001} {
				name := fmt.Sprintf("%d bytes of %d elements", n, k)
				id := uint64(k*1_000_000 + n)
				sgl, parts := pieces(src, n, k)
				want := patterned(n, n+k)
				rest := want
				for _, p := range parts {
					rest = rest[copy(p, rest):]
				}
				// SEND, gathered here and scattered there.
				clear(dst.mem)
				into, got := pieces(dst, n, sge+1-k)
				to.recv(id, into...)
				from.post(rdma.SendWR{ID: id, Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: sgl})
				from.ok(id, rdma.OpSend)
				to.ok(id, rdma.OpRecv)
				same(r.t, "SEND of "+name, concat(got), want)
				// WRITE.
				clear(dst.mem)
				to.recv(id, dst.sge(0, 0))
				from.post(rdma.SendWR{ID: id, Opcode: rdma.OpWrite, SGL: sgl, RemoteAddr: dst.mr.Addr() + 5, RKey: dst.mr.RKey()},
					rdma.SendWR{ID: id, Opcode: rdma.OpSend, Flags: rdma.SendSignaled})
				from.ok(id, rdma.OpSend)
				to.ok(id, rdma.OpRecv)
				same(r.t, "WRITE of "+name, dst.mem[5:5+n], want)
				// READ.
				if k <= from.caps.MaxSGERead {
					clear(src.mem)
					from.post(rdma.SendWR{ID: id, Opcode: rdma.OpRead, Flags: rdma.SendSignaled, SGL: sgl, RemoteAddr: dst.mr.Addr() + 5, RKey: dst.mr.RKey()})
					from.ok(id, rdma.OpRead)
					same(r.t, "READ of "+name, concat(parts), want)
				}
			}
		}
	})
}

func concat(parts [][]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// minCaps are the smaller limits of the two sides' first devices.
func (r *rig) minCaps() rdma.Caps {
	r.t.Helper()
	c, s := first(r, r.client), first(r, r.server)
	c.MaxSGE = min(c.MaxSGE, s.MaxSGE)
	return c
}

func first(r *rig, h Harness) rdma.Caps {
	r.t.Helper()
	devs, err := h.Provider.Devices()
	if err != nil || len(devs) == 0 {
		r.t.Fatalf("provider %s: devices %v, %v", h.Provider.Name(), devs, err)
	}
	return devs[0].Caps()
}

func testInline(r *rig) {
	r.directions(options{}, func(from, to *end) {
		most := from.caps.MaxInline
		src, dst := from.region(max(1, most), local), to.region(1<<16, local)
		for n := 0; n <= most; n += max(1, most/7) {
			pattern(src.mem[:n], n)
			to.recv(uint64(n), dst.sge(0, 1<<16))
			from.post(rdma.SendWR{ID: uint64(n), Opcode: rdma.OpSend, Flags: rdma.SendSignaled | rdma.SendInline, SGL: []rdma.SGE{src.sge(0, n)}})
			clear(src.mem) // its buffer is free at once
			from.ok(uint64(n), rdma.OpSend)
			if wc := to.ok(uint64(n), rdma.OpRecv); int(wc.ByteLen) != n {
				r.t.Errorf("%d bytes arrived, not %d", wc.ByteLen, n)
			}
			same(r.t, fmt.Sprintf("%d bytes inline", n), dst.mem[:n], patterned(n, n))
		}
		big := from.region(most+1, local)
		if err := from.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpSend, Flags: rdma.SendInline, SGL: []rdma.SGE{big.sge(0, most+1)}}}); err == nil {
			r.t.Errorf("%d bytes inline were accepted", most+1)
		}
	})
}

func testUnsupported(r *rig) {
	r.directions(options{}, func(from, to *end) {
		src := from.region(64, local)
		for op, able := range map[rdma.Opcode]bool{
			rdma.OpSendInvalidate: from.caps.SendInvalidate,
			rdma.OpSendImm:        from.caps.Immediate,
			rdma.OpWriteImm:       from.caps.Immediate,
			rdma.OpCompareSwap:    from.caps.Atomics,
			rdma.OpFetchAdd:       from.caps.Atomics,
			rdma.OpBindMW:         from.caps.MemoryWindows,
		} {
			if able {
				continue
			}
			err := from.qp.PostSend([]rdma.SendWR{
				{ID: 1, Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: []rdma.SGE{src.sge(0, 8)}},
				{ID: 2, Opcode: op, Flags: rdma.SendSignaled, SGL: []rdma.SGE{src.sge(0, 8)}},
			})
			if !errors.Is(err, rdma.ErrUnsupported) {
				r.t.Errorf("%v: %v", op, err)
			}
		}
		if err := from.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpRecv}}); err == nil {
			r.t.Error("a RECV was accepted in the send queue")
		}
		// Nothing of the refused chains was posted: the next message is the first to arrive.
		dst := to.region(64, local)
		to.recv(3, dst.sge(0, 64))
		from.post(rdma.SendWR{ID: 3, Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: []rdma.SGE{src.sge(0, 3)}})
		from.ok(3, rdma.OpSend)
		if wc := to.ok(3, rdma.OpRecv); wc.ByteLen != 3 {
			r.t.Errorf("a message of %d bytes", wc.ByteLen)
		}
	})
}

// testTooMany exceeds queues and lists.
func testTooMany(r *rig) {
	const depth = 4
	r.directions(options{sendDepth: depth, recvDepth: depth}, func(from, to *end) {
		src, dst := from.region(64, local), to.region(64, local)
		chain := make([]rdma.SendWR, depth+1)
		for i := range chain {
			chain[i] = rdma.SendWR{ID: uint64(i), Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: []rdma.SGE{src.sge(0, i)}}
		}
		if err := from.qp.PostSend(chain); !errors.Is(err, rdma.ErrQueueFull) {
			r.t.Errorf("a chain of %d into a queue of %d: %v", len(chain), depth, err)
		}
		recvs := make([]rdma.RecvWR, depth+1)
		for i := range recvs {
			recvs[i] = rdma.RecvWR{ID: uint64(i), SGL: []rdma.SGE{dst.sge(0, 64)}}
		}
		if err := to.qp.PostRecv(recvs); !errors.Is(err, rdma.ErrQueueFull) {
			r.t.Errorf("%d receives into a queue of %d: %v", len(recvs), depth, err)
		}
		if err := to.qp.PostRecv(recvs[:depth]); err != nil {
			r.t.Fatal(err)
		}
		from.post(chain[:depth]...)
		for i := range depth {
			from.ok(uint64(i), rdma.OpSend)
			if wc := to.ok(uint64(i), rdma.OpRecv); int(wc.ByteLen) != i {
				r.t.Errorf("message %d has %d bytes", i, wc.ByteLen)
			}
		}
		two := []rdma.SGE{src.sge(0, 1), src.sge(1, 1)}
		if err := from.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpSend, SGL: two}}); err == nil {
			r.t.Error("a list longer than the queue pair's was accepted")
		}
		if err := from.qp.PostRecv([]rdma.RecvWR{{SGL: two}}); err == nil {
			r.t.Error("a RECV with a list longer than the queue pair's was accepted")
		}
		if most := from.caps.MaxMsgSize; most < slab.MaxSize {
			big, there := from.region(int(most)+1, from.sink()), to.region(64, remote)
			for _, op := range []rdma.Opcode{rdma.OpSend, rdma.OpWrite, rdma.OpRead} {
				err := from.qp.PostSend([]rdma.SendWR{{Opcode: op, SGL: []rdma.SGE{big.sge(0, int(most)+1)}, RemoteAddr: there.mr.Addr(), RKey: there.mr.RKey()}})
				if err == nil {
					r.t.Errorf("a %v of %d bytes was accepted", op, most+1)
				}
			}
		}
	})
}

// testBusy: what is in use is not taken away.
func testBusy(r *rig) {
	client, server := r.connect(options{})
	talk(client, server)
	for _, e := range []*end{client, server} {
		if err := e.pd.Dealloc(); err == nil {
			r.t.Errorf("%s: a domain with a queue pair was deallocated", e.name)
		}
		if err := e.cq.Close(); err == nil {
			r.t.Errorf("%s: a completion queue with a queue pair was closed", e.name)
		}
		pd, err := e.dev.AllocPD()
		if err != nil {
			r.t.Fatal(err)
		}
		reg := e.regionIn(pd, 64, local)
		if err := pd.Dealloc(); err == nil {
			r.t.Errorf("%s: a domain with a region was deallocated", e.name)
		}
		e.check(reg.mr.Deregister())
		reg.gone = true
		e.check(pd.Dealloc())
		if _, err := e.id.CreateQP(e.pd, rdma.QPConfig{SendCQ: e.cq, RecvCQ: e.cq, SendDepth: 1, RecvDepth: 1}); err == nil {
			r.t.Errorf("%s: a second queue pair was made", e.name)
		}
	}
	talk(client, server) // nothing is broken
}
