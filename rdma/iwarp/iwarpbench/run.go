package iwarpbench

import (
	"context"
	"errors"
	"slices"
	"time"

	"fileserver/rdma/iwarp"
)

// Options size a run.
type Options struct {
	Rounds int           // measurements of each kind, interleaved; 0: 5
	Blocks int           // blocks of 1 MiB in one measurement; 0: 512
	Pings  int           // exchanges in one measurement; 0: 10000
	Config iwarp.Config  // of the provider
	Pause  time.Duration // between measurements
}

// Ratio compares a figure of the provider with the same of TCP. Each is the
// median over the rounds; Ratio is the median of the rounds' ratios.
type Ratio struct {
	Name       string
	IWARP, TCP float64
	Unit       string
	Ratio      float64
}

type series struct{ time, cpu []float64 }

func (s *series) add(x Sample) {
	gb := float64(x.Bytes) / 1e9
	s.time = append(s.time, gb/x.Time.Seconds())
	s.cpu = append(s.cpu, x.CPU.Seconds()/gb)
}

// Run measures throughput and CPU of WRITEs and READs of 1 MiB, and the time of a
// 4 KiB SEND there and one back, each against TCP.
func Run(ctx context.Context, o Options) (out []Ratio, err error) {
	o.Rounds, o.Blocks, o.Pings = or(o.Rounds, 5), or(o.Blocks, 512), or(o.Pings, 10000)
	k, err := connect(ctx, o.Config)
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
		{int64(o.Blocks) * block, func(n int) error { return t.stream(n, k.c.mem, k.s.mem) }, o.Blocks},
		{int64(o.Blocks) * block, func(n int) error { return k.write(ctx, n) }, o.Blocks},
		{int64(o.Blocks) * block, func(n int) error { return k.read(ctx, n) }, o.Blocks},
		{int64(o.Pings) * 2 * pingLen, func(n int) error { return t.ping(n, k.c.mem, k.s.mem) }, o.Pings},
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
			x, err := sample(kind.bytes, func() error { return kind.f(kind.n) })
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
	return []Ratio{
		compare("WRITE 1 MiB throughput", "GB/s", write.time, tcp.time),
		compare("WRITE 1 MiB CPU", "s/GB", write.cpu, tcp.cpu),
		compare("READ 1 MiB throughput", "GB/s", read.time, tcp.time),
		compare("READ 1 MiB CPU", "s/GB", read.cpu, tcp.cpu),
		compare("SEND 4 KiB ping-pong", "us", trip(ping), trip(tping)),
		compare("SEND 4 KiB CPU", "s/GB", ping.cpu, tping.cpu),
	}, nil
}

func or(v, d int) int {
	if v == 0 {
		return d
	}
	return v
}

func compare(name, unit string, a, b []float64) Ratio {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return Ratio{Name: name, Unit: unit, IWARP: median(a), TCP: median(b), Ratio: median(r)}
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}
