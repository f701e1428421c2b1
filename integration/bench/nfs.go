package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"fileserver/integration/bench/stats"
	"fileserver/internal/app/bench"
	"fileserver/nfsrdma"
)

var nfsLoads = []load{
	{"NFS READ 1 MiB, depth 8", false, 1 << 20, 8, 200},
	{"NFS random READ 4 KiB, depth 16", false, 4 << 10, 16, 5000},
	{"NFS random READ 4 KiB, depth 1", false, 4 << 10, 1, 1500},
}

// nfsRows measures the same server over RDMA and over TCP alternately.
func (r *rig) nfsRows(ctx context.Context, rounds, scale int) ([]row, error) {
	rdma, err := r.dial(ctx, "RDMA", "nfs", "iwarp", r.iwarp, bench.SMBOptions{})
	if err != nil {
		return nil, err
	}
	defer rdma.close()
	tcp, err := r.dial(ctx, "TCP", "nfs", "tcp", r.tcp, bench.SMBOptions{})
	if err != nil {
		return nil, err
	}
	defer tcp.close()
	rows := []row{{what: "NFS over RDMA (iWARP in Go) beside TCP"}}
	for _, l := range nfsLoads {
		f, err := r.inTurn(ctx, []*side{rdma, tcp}, l, rounds, scale)
		if err != nil {
			return nil, err
		}
		rows = append(rows, compareCost(l.what, l.size, f[0].series, f[1].series))
		// The runtime's own allocations (timers, the collector) add hundredths.
		mallocs := stats.Median(f[0].mallocs)
		rows = append(rows, row{what: l.what + ", server's allocations", unit: "/op", ours: mallocs, aim: "0", met: mallocs < 0.5})
	}
	return rows, nil
}

// idleRows measures by how much the server's process grows for an idle connection.
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
