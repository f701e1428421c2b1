package provider

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"time"

	"fileserver/rdma"
	"fileserver/rdma/iwarp"
)

// Options configure a run of [IWARP].
type Options struct {
	Rounds int           // measurements of each kind, interleaved; 0: 5
	Blocks int           // blocks of 1 MiB in one measurement; 0: 512
	Pings  int           // exchanges in one measurement; 0: 10000
	Config iwarp.Config  // of the provider
	Pause  time.Duration // between measurements
}

// Figure holds a measurement of the provider and of TCP, one value for each round.
type Figure struct {
	Name, Unit string
	IWARP, TCP []float64
}

type series struct{ time, cpu []float64 }

func (s *series) add(x sample) {
	gb := float64(x.bytes) / 1e9
	s.time = append(s.time, gb/x.time.Seconds())
	s.cpu = append(s.cpu, x.cpu.Seconds()/gb)
}

// IWARP compares the iwarp provider with plain TCP: the throughput and processor time of
// WRITEs and READs of 1 MiB, and the round-trip time of SENDs of 4 KiB. Both run
// alternately over loopback in this process.
func IWARP(ctx context.Context, o Options) (out []Figure, err error) {
	o.Rounds, o.Blocks, o.Pings = cmp.Or(o.Rounds, 5), cmp.Or(o.Blocks, 512), cmp.Or(o.Pings, 10000)
	p, err := iwarp.New(o.Config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	const access = rdma.AccessLocalWrite | rdma.AccessRemoteRead | rdma.AccessRemoteWrite
	k, err := connect(ctx, p, netip.MustParseAddrPort("127.0.0.1:0"), memory, access, rdma.ConnParams{IRD: 16, ORD: 16})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	t, err := dialTCP()
	if err != nil {
		return nil, err
	}
	defer t.close()
	kinds := []struct {
		bytes int64
		f     func(n int) error
		n     int
	}{
		{int64(o.Blocks) * block, func(n int) error { return t.stream(n, k.client.mem, k.server.mem) }, o.Blocks},
		{int64(o.Blocks) * block, func(n int) error { return k.write(ctx, n) }, o.Blocks},
		{int64(o.Blocks) * block, func(n int) error { return k.read(ctx, n) }, o.Blocks},
		{int64(o.Pings) * 2 * pingLen, func(n int) error { return t.ping(n, k.client.mem, k.server.mem) }, o.Pings},
		{int64(o.Pings) * 2 * pingLen, func(n int) error { return k.ping(ctx, n) }, o.Pings},
	}
	results := make([]series, len(kinds))
	for i, kind := range kinds {
		if err := kind.f(max(1, kind.n/8)); err != nil { // warm up
			return nil, err
		}
		results[i] = series{}
	}
	for range o.Rounds {
		for i, kind := range kinds {
			x, err := take(kind.bytes, func() error { return kind.f(kind.n) })
			if err != nil {
				return nil, err
			}
			results[i].add(x)
			time.Sleep(o.Pause)
		}
	}
	tcp, write, read, tping, ping := results[0], results[1], results[2], results[3], results[4]
	trip := func(s series) []float64 { // throughput back into microseconds
		us := make([]float64, len(s.time))
		for i, v := range s.time {
			us[i] = 2 * pingLen / v / 1e3
		}
		return us
	}
	return []Figure{
		{"WRITE 1 MiB throughput", "GB/s", write.time, tcp.time},
		{"WRITE 1 MiB CPU", "s/GB", write.cpu, tcp.cpu},
		{"READ 1 MiB throughput", "GB/s", read.time, tcp.time},
		{"READ 1 MiB CPU", "s/GB", read.cpu, tcp.cpu},
		{"SEND 4 KiB ping-pong", "us", trip(ping), trip(tping)},
		{"SEND 4 KiB CPU", "s/GB", ping.cpu, tping.cpu},
	}, nil
}
