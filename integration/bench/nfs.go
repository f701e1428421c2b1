package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/nfs/rpc/rpcclient"
	"fileserver/nfsrdma"
)

// load is a kind of work.
type load struct {
	what  string
	size  uint32
	depth int // READs at once
	n     int // READs of one measurement, for a scale of 1
}

var loads = []load{
	{"NFS READ 1 MiB, depth 8", 1 << 20, 8, 200},
	{"NFS random READ 4 KiB, depth 16", 4 << 10, 16, 5000},
	{"NFS random READ 4 KiB, depth 1", 4 << 10, 1, 1500},
}

// figures are what one measurement gives.
type figures struct {
	rate    float64 // READs per second
	cpu     float64 // of the server, microseconds per READ
	mallocs float64 // of the server, per READ
}

// run makes n READs with all readers.
func (r *rig) run(ctx context.Context, rs []reader, size uint32, n int) (f figures, err error) {
	// To look allocates, too: how much, the second look tells.
	first, err := r.metric("go_memstats_mallocs_total")
	if err != nil {
		return f, err
	}
	mallocs, err := r.metric("go_memstats_mallocs_total")
	if err != nil {
		return f, err
	}
	look := mallocs - first
	cpu, err := r.cpu()
	if err != nil {
		return f, err
	}
	var left atomic.Int64
	left.Store(int64(n))
	errs := make([]error, len(rs))
	var wg sync.WaitGroup
	start := time.Now()
	for i, rd := range rs {
		wg.Go(func() {
			for left.Add(-1) >= 0 && errs[i] == nil {
				errs[i] = rd.read(ctx, uint64(rand.IntN(fileSize/int(size)))*uint64(size), size)
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	if err := errors.Join(errs...); err != nil {
		return f, err
	}
	cpu2, err := r.cpu()
	if err != nil {
		return f, err
	}
	mallocs2, err := r.metric("go_memstats_mallocs_total")
	if err != nil {
		return f, err
	}
	return figures{
		rate: float64(n) / took.Seconds(), cpu: float64((cpu2 - cpu).Microseconds()) / float64(n),
		mallocs: max(0, mallocs2-mallocs-look) / float64(n),
	}, nil
}

// rows measures the same server over RDMA and over TCP, in turn.
func (r *rig) rows(ctx context.Context, rounds, scale int) ([]row, error) {
	file, err := r.lookup(ctx)
	if err != nil {
		return nil, err
	}
	tcp, err := rpcclient.Dial(ctx, r.tcp.String(), 0, 0)
	if err != nil {
		return nil, err
	}
	defer tcp.Close()
	conn, err := r.dialRDMA(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	rows := []row{{what: "NFS over RDMA (iWARP in Go) beside TCP"}}
	for _, l := range loads {
		sides := make([][]reader, 2) // RDMA, TCP
		for range l.depth {
			o, err := r.rdmaReader(ctx, conn, file, int(l.size))
			if err != nil {
				return nil, err
			}
			sides[0] = append(sides[0], o)
			sides[1] = append(sides[1], r.tcpReader(tcp, file, int(l.size)))
		}
		var rate, cpu [2][]float64
		var mallocs []float64
		for i := range rounds + 1 {
			for side, rs := range sides {
				f, err := r.run(ctx, rs, l.size, l.n*scale)
				if err != nil {
					return nil, err
				}
				if i == 0 { // warm up
					continue
				}
				rate[side], cpu[side] = append(rate[side], f.rate), append(cpu[side], f.cpu)
				if side == 0 {
					mallocs = append(mallocs, f.mallocs)
				}
			}
		}
		for _, rd := range sides[0] {
			rd.close()
		}
		rows = append(rows, compareCost(l.what, int(l.size), series{rate[0], cpu[0]}, series{rate[1], cpu[1]}))
		// What the runtime does beside the READs (timers, the collector) shows as hundredths.
		rows = append(rows, row{what: l.what + ", server's allocations", unit: "/op", ours: median(mallocs), aim: "0", met: median(mallocs) < 0.5})
	}
	return rows, nil
}

// idleRows measures what the server's process grows by for a connection that does nothing.
func (r *rig) idleRows(ctx context.Context) ([]row, error) {
	const n = 100
	grow := func(dial func() (func(), error)) (perConn float64, err error) {
		before, err := r.metric("process_resident_memory_bytes")
		if err != nil {
			return 0, err
		}
		for range n {
			closeConn, err := dial()
			if err != nil {
				return 0, err
			}
			defer closeConn()
		}
		time.Sleep(time.Second)
		after, err := r.metric("process_resident_memory_bytes")
		return (after - before) / n / 1024, err
	}
	var d net.Dialer
	tcp, err := grow(func() (func(), error) {
		c, err := d.DialContext(ctx, "tcp", r.tcp.String())
		if err != nil {
			return nil, err
		}
		return func() { c.Close() }, nil
	})
	if err != nil {
		return nil, err
	}
	rdma, err := grow(func() (func(), error) {
		c, err := nfsrdma.Dial(ctx, r.provider, r.iwarp, nfsrdma.ClientConfig{Memory: r.memory, Credits: 4})
		if err != nil {
			return nil, fmt.Errorf("RDMA: %w", err)
		}
		return func() { c.Close() }, nil
	})
	if err != nil {
		return nil, err
	}
	return []row{
		{what: "resident memory of an idle connection over RDMA", unit: "KiB", ours: rdma},
		{what: "resident memory of an idle connection over TCP", unit: "KiB", ours: tcp},
	}, nil
}
