package rdmatest

import (
	"encoding/binary"
	"fmt"
	"slices"

	"fileserver/rdma"
)

func testUnsignalled(r *rig) {
	const depth, rounds = 8, 50
	r.directions(options{sendDepth: depth, recvDepth: depth}, func(from, to *end) {
		src, dst := from.region(4096, local), to.region(4096, local)
		for round := range rounds {
			var chain []rdma.SendWR
			for i := range depth {
				to.recv(uint64(i), dst.sge(i*64, 64))
				chain = append(chain, rdma.SendWR{ID: uint64(i), Opcode: rdma.OpSend, SGL: []rdma.SGE{src.sge(i*64, 1+i)}})
			}
			chain[depth-1].Flags = rdma.SendSignaled
			pattern(src.mem, round)
			from.post(chain...)
			from.ok(depth-1, rdma.OpSend)
			for i := range depth {
				to.ok(uint64(i), rdma.OpRecv)
				same(r.t, "message", dst.mem[i*64:i*64+1+i], src.mem[i*64:i*64+1+i])
			}
			if len(from.wcs) > 0 {
				r.t.Fatalf("completions nobody asked for: %+v", from.wcs)
			}
		}
	})
}

// testWriteBeforeSend: when a SEND is received the WRITEs before it are placed,
// and messages arrive in the order sent.
func testWriteBeforeSend(r *rig) {
	const rounds, window = 200, 4
	r.directions(options{sendDepth: 16, recvDepth: window}, func(from, to *end) {
		src, dst, msg := from.region(1<<20, local), to.region(1<<20, remote), to.region(window*64, local)
		for round := range rounds {
			n := 1 + round*round*31%100_000
			binary.LittleEndian.PutUint64(src.mem, uint64(round))
			pattern(src.mem[8:8+n], round)
			id := uint64(round)
			to.recv(id, msg.sge(0, 64))
			from.post(
				rdma.SendWR{ID: id, Opcode: rdma.OpWrite, SGL: []rdma.SGE{src.sge(8, n/2)}, RemoteAddr: dst.mr.Addr() + 3, RKey: dst.mr.RKey()},
				rdma.SendWR{ID: id, Opcode: rdma.OpWrite, SGL: []rdma.SGE{src.sge(8+n/2, n-n/2)}, RemoteAddr: dst.mr.Addr() + 3 + uint64(n/2), RKey: dst.mr.RKey()},
				rdma.SendWR{ID: id, Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: []rdma.SGE{src.sge(0, 8)}})
			to.ok(id, rdma.OpRecv)
			same(r.t, "number", msg.mem[:8], src.mem[:8])
			same(r.t, "data", dst.mem[3:3+n], src.mem[8:8+n])
			from.ok(id, rdma.OpSend)
			if r.t.Failed() {
				return
			}
		}
	})
}

// testDuplex has both sides send more at once than any buffer on the way holds.
func testDuplex(r *rig) {
	const n, count = 1 << 20, 12
	client, server := r.connect(options{sendDepth: count, recvDepth: count + 1})
	talk(client, server)
	done := make(chan struct{})
	ends := []*end{client, server}
	var src, dst [2]*region
	for i, e := range ends {
		src[i], dst[i] = e.region(n, local), e.region(n*count, local)
		pattern(src[i].mem, i)
		for k := range count {
			e.recv(uint64(100+k), dst[i].sge(k*n, n))
		}
	}
	for i, e := range ends {
		go func() {
			defer func() { done <- struct{}{} }()
			for k := range count {
				wr := rdma.SendWR{ID: uint64(k), Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: []rdma.SGE{src[i].sge(k, n-k)}}
				if err := e.qp.PostSend([]rdma.SendWR{wr}); err != nil {
					r.t.Error(err)
				}
			}
		}()
	}
	<-done
	<-done
	for i, e := range ends {
		for k := range count {
			e.ok(uint64(k), rdma.OpSend)
			if wc := e.ok(uint64(100+k), rdma.OpRecv); int(wc.ByteLen) != n-k {
				r.t.Errorf("message %d has %d bytes", k, wc.ByteLen)
			}
			same(r.t, fmt.Sprintf("message %d", k), dst[i].mem[k*n:k*n+n-k], src[1-i].mem[k:])
		}
	}
}

// testReadDepth posts more READs than may be outstanding: the provider holds the
// rest back, also in front of requests behind them.
func testReadDepth(r *rig) {
	const reads, n = 40, 10_000
	for _, depth := range []int{1, 2, 7} {
		o := options{sendDepth: 64, recvDepth: 4, client: params(depth), server: params(depth)}
		r.directions(o, func(from, to *end) {
			if _, ord := from.id.Negotiated(); ord != depth {
				r.t.Errorf("ORD %d negotiated, not %d", ord, depth)
			}
			src, dst, msg := to.region(reads*n, remote), from.region(reads*n, from.sink()), to.region(64, local)
			pattern(src.mem, depth)
			to.recv(7, msg.sge(0, 64))
			var chain []rdma.SendWR
			for i := range reads {
				chain = append(chain, rdma.SendWR{ID: uint64(1000 + i), Opcode: rdma.OpRead, Flags: rdma.SendSignaled,
					SGL: []rdma.SGE{dst.sge(i*n, n)}, RemoteAddr: src.mr.Addr() + uint64(i*n), RKey: src.mr.RKey()})
			}
			chain = append(chain, rdma.SendWR{ID: 7, Opcode: rdma.OpSend, Flags: rdma.SendSignaled})
			from.post(chain...)
			for i := range reads {
				from.ok(uint64(1000+i), rdma.OpRead)
			}
			from.ok(7, rdma.OpSend)
			to.ok(7, rdma.OpRecv)
			same(r.t, "data", dst.mem, src.mem)
		})
	}
}

func testReadNotNegotiated(r *rig) {
	client, server := r.connect(options{client: params(4), server: rdma.ConnParams{IRD: 0, ORD: 4, RNRRetry: 7}})
	talk(client, server)
	_, ord := client.id.Negotiated()
	if ord == 4 && r.server.GenerousIRD {
		return
	}
	if ord != 0 {
		r.t.Fatalf("ORD %d, the other side answers none", ord)
	}
	src, dst := server.region(64, remote), client.region(64, client.sink())
	pattern(src.mem, 1)
	err := client.qp.PostSend([]rdma.SendWR{{ID: 1, Opcode: rdma.OpRead, Flags: rdma.SendSignaled,
		SGL: []rdma.SGE{dst.sge(0, 64)}, RemoteAddr: src.mr.Addr(), RKey: src.mr.RKey()}})
	if err == nil {
		if wc := client.wait(1); wc.Status == rdma.StatusSuccess {
			r.t.Error("a READ that was not negotiated succeeded")
		}
	}
	same(r.t, "memory", dst.mem, make([]byte, 64))
}

// testFence: a fenced SEND leaves only after the READs before it are complete.
func testFence(r *rig) {
	const n, rounds = 300_000, 10
	r.directions(options{}, func(from, to *end) {
		src, dst, msg := to.region(n, remote), from.region(n, from.sink()), to.region(64, local)
		for round := range rounds {
			pattern(src.mem, round)
			want := slices.Clone(src.mem)
			to.recv(2, msg.sge(0, 64))
			from.post(
				rdma.SendWR{ID: 1, Opcode: rdma.OpRead, Flags: rdma.SendSignaled, SGL: []rdma.SGE{dst.sge(0, n)}, RemoteAddr: src.mr.Addr(), RKey: src.mr.RKey()},
				rdma.SendWR{ID: 2, Opcode: rdma.OpSend, Flags: rdma.SendSignaled | rdma.SendFence})
			to.ok(2, rdma.OpRecv)
			clear(src.mem) // what a server does when told that the data has been fetched
			from.ok(1, rdma.OpRead)
			from.ok(2, rdma.OpSend)
			same(r.t, "data", dst.mem, want)
		}
	})
}

func testInvalidate(r *rig) {
	if !r.bothCan(func(c rdma.Caps) bool { return c.SendInvalidate }) {
		return // testUnsupported has seen the refusal
	}
	for _, reverse := range []bool{false, true} {
		from, to := r.connect(options{})
		talk(from, to)
		if reverse {
			from, to = to, from
		}
		msg := to.region(256, local)
		src := from.region(256, from.sink())
		a, b := to.region(4096, remote), to.region(4096, remote)
		to.recv(1, msg.sge(0, 64))
		from.post(rdma.SendWR{ID: 1, Opcode: rdma.OpSendInvalidate, Flags: rdma.SendSignaled, Invalidate: a.mr.RKey(), SGL: []rdma.SGE{src.sge(0, 9)}})
		if to.h.NoInvalidation {
			if wc := to.wait(1); wc.Status == rdma.StatusSuccess {
				r.t.Errorf("completion %+v of what cannot be", wc)
			}
			from.wait(1)
			from.ended()
			to.ended()
			continue
		}
		from.ok(1, rdma.OpSendInvalidate)
		wc := to.ok(1, rdma.OpRecv)
		if wc.ByteLen != 9 || !to.h.NoRecvInvalidation && (!wc.Invalidated || wc.InvKey != a.mr.RKey()) {
			r.t.Errorf("completion %+v after the invalidation of 0x%x", wc, a.mr.RKey())
		}
		// The other key works still,
		to.recv(2, msg.sge(0, 64))
		pattern(src.mem, 5)
		from.post(rdma.SendWR{ID: 2, Opcode: rdma.OpWrite, SGL: []rdma.SGE{src.sge(0, 256)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()},
			rdma.SendWR{ID: 2, Opcode: rdma.OpSend, Flags: rdma.SendSignaled})
		from.ok(2, rdma.OpSend)
		to.ok(2, rdma.OpRecv)
		same(r.t, "memory behind the valid key", b.mem[:256], src.mem)
		// this one does not.
		from.post(rdma.SendWR{ID: 3, Opcode: rdma.OpWrite, Flags: rdma.SendSignaled, SGL: []rdma.SGE{src.sge(0, 256)}, RemoteAddr: a.mr.Addr(), RKey: a.mr.RKey()})
		denied(from, to, 3)
		same(r.t, "memory behind the invalid key", a.mem, make([]byte, 4096))
	}
}

func (r *rig) bothCan(f func(rdma.Caps) bool) bool {
	r.t.Helper()
	return f(first(r, r.client)) && f(first(r, r.server))
}
