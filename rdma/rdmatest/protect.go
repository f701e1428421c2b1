package rdmatest

import (
	"fmt"
	"math"

	"fileserver/rdma"
)

// denied waits until the connection has ended over a request that to refuses. A
// SEND or WRITE may have completed before; a READ, or any request where
// completions are the remote side's, must not have.
func denied(from, to *end, id uint64) {
	from.t.Helper()
	wc := from.wait(id) // on InfiniBand only the completion tells the requesting side
	from.ended()
	to.ended()
	if wc.Status == rdma.StatusSuccess && (wc.Opcode == rdma.OpRead || from.caps.WriteCompletionIsRemote) {
		from.t.Errorf("a %v that the other side refuses succeeded", wc.Opcode)
	}
}

func testProtection(r *rig) {
	const n = 4096
	cases := []struct {
		name   string
		op     rdma.Opcode
		access rdma.Access
		mangle func(wr *rdma.SendWR)
	}{
		{"write/unknown key", rdma.OpWrite, remote, func(wr *rdma.SendWR) { wr.RKey ^= 0x5a00_0000 }},
		{"write/other consumer key", rdma.OpWrite, remote, func(wr *rdma.SendWR) { wr.RKey ^= 1 }},
		{"write/key zero", rdma.OpWrite, remote, func(wr *rdma.SendWR) { wr.RKey = 0 }},
		{"write/read only", rdma.OpWrite, local | rdma.AccessRemoteRead, nil},
		{"write/before", rdma.OpWrite, remote, func(wr *rdma.SendWR) { wr.RemoteAddr-- }},
		{"write/beyond", rdma.OpWrite, remote, func(wr *rdma.SendWR) { wr.RemoteAddr += n - 99 }},
		{"write/far beyond", rdma.OpWrite, remote, func(wr *rdma.SendWR) { wr.RemoteAddr += 1 << 40 }},
		{"write/wraps", rdma.OpWrite, remote, func(wr *rdma.SendWR) { wr.RemoteAddr = math.MaxUint64 - 10 }},
		{"read/unknown key", rdma.OpRead, remote, func(wr *rdma.SendWR) { wr.RKey ^= 0x5a00_0000 }},
		{"read/other consumer key", rdma.OpRead, remote, func(wr *rdma.SendWR) { wr.RKey ^= 1 }},
		{"read/key zero", rdma.OpRead, remote, func(wr *rdma.SendWR) { wr.RKey = 0 }},
		{"read/write only", rdma.OpRead, local | rdma.AccessRemoteWrite, nil},
		{"read/before", rdma.OpRead, remote, func(wr *rdma.SendWR) { wr.RemoteAddr-- }},
		{"read/beyond", rdma.OpRead, remote, func(wr *rdma.SendWR) { wr.RemoteAddr += n - 99 }},
		{"read/wraps", rdma.OpRead, remote, func(wr *rdma.SendWR) { wr.RemoteAddr = math.MaxUint64 - 10 }},
	}
	for i, c := range cases {
		for _, otherPD := range []bool{false, true} {
			if otherPD && c.mangle != nil {
				continue // the other domain is offence enough
			}
			from, to := r.connect(options{})
			talk(from, to)
			if i%2 == 1 {
				from, to = to, from
			}
			if c.op == rdma.OpRead && c.access&rdma.AccessRemoteRead == 0 && !otherPD && to.h.LaxReads {
				continue
			}
			pd, access, name := to.pd, c.access, c.name
			if otherPD {
				var err error
				if pd, err = to.dev.AllocPD(); err != nil {
					r.t.Fatal(err)
				}
				access, name = remote, fmt.Sprintf("%v/other domain", c.op)
			}
			target, mine := to.regionIn(pd, n, access), from.region(n, from.sink())
			before := patterned(n, i)
			copy(target.mem, before)
			pattern(mine.mem, i+1)
			wr := rdma.SendWR{ID: 1, Opcode: c.op, Flags: rdma.SendSignaled, SGL: []rdma.SGE{mine.sge(0, 100)}, RemoteAddr: target.mr.Addr(), RKey: target.mr.RKey()}
			if !otherPD && c.mangle != nil {
				c.mangle(&wr)
			}
			from.post(wr)
			denied(from, to, 1)
			same(r.t, name+": the memory there", target.mem, before)
			same(r.t, name+": the memory here", mine.mem, patterned(n, i+1))
			if otherPD {
				from.check(target.mr.Deregister())
				target.gone = true
				from.check(pd.Dealloc())
			}
			if r.t.Failed() {
				r.t.Log("in case " + name)
				return
			}
		}
	}
}

// testLocalProtection: the own side's keys are checked, too.
func testLocalProtection(r *rig) {
	for _, c := range []struct {
		name   string
		op     rdma.Opcode
		access rdma.Access
		sge    func(reg *region) rdma.SGE
	}{
		{"unknown key", rdma.OpSend, local, func(g *region) rdma.SGE { s := g.sge(0, 10); s.LKey ^= 0x5a00_0000; return s }},
		{"beyond", rdma.OpSend, local, func(g *region) rdma.SGE { return g.sge(4090, 10) }},
		{"before", rdma.OpWrite, local, func(g *region) rdma.SGE { s := g.sge(0, 10); s.Addr--; return s }},
		{"sink not writable", rdma.OpRead, 0, func(g *region) rdma.SGE { return g.sge(0, 10) }},
		{"sink unknown", rdma.OpRead, local, func(g *region) rdma.SGE { s := g.sge(0, 10); s.LKey ^= 0x5a00_0000; return s }},
		{"sink beyond", rdma.OpRead, local, func(g *region) rdma.SGE { return g.sge(4090, 10) }},
	} {
		client, server := r.connect(options{})
		talk(client, server)
		mine, target, msg := client.region(4096, c.access), server.region(4096, remote), server.region(64, local)
		pattern(target.mem, 1)
		server.recv(1, msg.sge(0, 64))
		err := client.qp.PostSend([]rdma.SendWR{{ID: 1, Opcode: c.op, Flags: rdma.SendSignaled, SGL: []rdma.SGE{c.sge(mine)},
			RemoteAddr: target.mr.Addr(), RKey: target.mr.RKey()}})
		if err == nil {
			if wc := client.wait(1); wc.Status == rdma.StatusSuccess {
				r.t.Errorf("%s: a %v succeeded", c.name, c.op)
			}
			client.ended()
			server.ended()
		}
		same(r.t, c.name+": the memory there", target.mem, patterned(4096, 1))
		same(r.t, c.name+": the memory here", mine.mem, make([]byte, 4096))
	}
}

// testTooLong: a message longer than the receive it meets ends the connection,
// and is not placed beyond it.
func testTooLong(r *rig) {
	for _, n := range []int{65, 5000, 100_000} {
		client, server := r.connect(options{})
		talk(client, server)
		src, dst := client.region(n, local), server.region(1<<20, local)
		pattern(src.mem, 1)
		server.recv(1, dst.sge(100, 64))
		server.recv(2, dst.sge(1000, 64))
		client.post(rdma.SendWR{ID: 1, Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: []rdma.SGE{src.sge(0, n)}})
		denied(client, server, 1)
		for _, id := range []uint64{1, 2} {
			if wc := server.wait(id); wc.Status == rdma.StatusSuccess {
				r.t.Errorf("receive %d: %+v", id, wc)
			}
		}
		same(r.t, "memory behind the receive", dst.mem[164:], make([]byte, 1<<20-164))
	}
}

func testDeregistered(r *rig) {
	for _, op := range []rdma.Opcode{rdma.OpWrite, rdma.OpRead} {
		client, server := r.connect(options{})
		talk(client, server)
		mine, target := client.region(64, client.sink()), server.region(64, remote)
		before := patterned(64, 3)
		copy(target.mem, before)
		pattern(mine.mem, 9)
		server.check(target.mr.Deregister())
		target.gone = true
		client.post(rdma.SendWR{ID: 1, Opcode: op, Flags: rdma.SendSignaled, SGL: []rdma.SGE{mine.sge(0, 64)}, RemoteAddr: target.mr.Addr(), RKey: target.mr.RKey()})
		denied(client, server, 1)
		same(r.t, "the memory there", target.mem, before)
		same(r.t, "the memory here", mine.mem, patterned(64, 9))
	}
}

// testNoReceive: a SEND that meets no RECV waits for one, or ends the connection.
func testNoReceive(r *rig) {
	client, server := r.connect(options{})
	talk(client, server)
	src, dst := client.region(64, local), server.region(64, local)
	pattern(src.mem, 1)
	client.post(rdma.SendWR{ID: 1, Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: []rdma.SGE{src.sge(0, 64)}})
	if !r.bothCan(func(c rdma.Caps) bool { return c.RNR }) {
		denied(client, server, 1)
		return
	}
	server.recv(1, dst.sge(0, 64))
	client.ok(1, rdma.OpSend)
	server.ok(1, rdma.OpRecv)
	same(r.t, "message", dst.mem, src.mem)

	// Without a retry it ends the connection.
	none := params(4)
	none.RNRRetry = 0
	client, server = r.connect(options{server: none})
	talk(client, server)
	src = client.region(64, local)
	client.post(rdma.SendWR{ID: 1, Opcode: rdma.OpSend, Flags: rdma.SendSignaled, SGL: []rdma.SGE{src.sge(0, 64)}})
	if wc := client.wait(1); wc.Status != rdma.StatusRNRRetryExcErr {
		r.t.Errorf("a SEND that may not be retried: %v", wc.Status)
	}
	client.ended()
	server.ended()
}
