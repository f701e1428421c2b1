package bench

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Schema is the version of the JSON of a [Result]: it changes when a field changes its meaning.
const Schema = 1

// Result is what a run has measured. MB are 10^6 bytes, GB 10^9.
type Result struct {
	Schema    int    `json:"schema"`
	Server    string `json:"server"` // host:port
	Proto     string `json:"proto"`
	Transport string `json:"transport"`
	Share     string `json:"share"`
	Agreed    Agreed `json:"agreed"`

	Op        string  `json:"op"`
	BlockSize int     `json:"block_bytes"`
	Depth     int     `json:"depth"`
	Requests  int     `json:"requests,omitempty"` // outstanding per connection at most, where the server allows less than depth
	Jobs      int     `json:"jobs"`
	Size      int64   `json:"size_bytes"`
	Asked     float64 `json:"time_s"` // 0: the whole files once
	Mix       int     `json:"mix_percent,omitempty"`
	Verify    string  `json:"verify"`
	Through   bool    `json:"sync"`

	Elapsed float64 `json:"elapsed_s"`
	Total   Rate    `json:"total"`
	Read    *Side   `json:"read,omitempty"`
	Write   *Side   `json:"write,omitempty"`

	FlushSeconds  float64  `json:"flush_s"`
	CPU           float64  `json:"client_cpu_s"`
	CPUPerGB      float64  `json:"client_cpu_s_per_gb"`
	RDMABytes     int64    `json:"rdma_bytes"`   // moved by RDMA READ and WRITE
	InlineBytes   int64    `json:"inline_bytes"` // moved in messages
	VerifiedBytes int64    `json:"verified_bytes"`
	Errors        int      `json:"errors"`
	Error         string   `json:"error,omitempty"` // the first
	Interrupted   bool     `json:"interrupted"`
	Left          []string `json:"left,omitempty"` // files that could not be removed

	elapsed, cpu time.Duration
}

// Rate is throughput.
type Rate struct {
	Ops   uint64  `json:"ops"`
	Bytes int64   `json:"bytes"`
	MBps  float64 `json:"mb_per_s"`
	IOPS  float64 `json:"iops"`
}

// Side is one direction.
type Side struct {
	Rate
	Latency Latency `json:"latency_us"`
}

// Latency is that of requests, microseconds.
type Latency struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
}

func newResult(r *run) *Result {
	c := r.cfg
	res := &Result{
		Schema: Schema, Server: fmt.Sprintf("%s:%d", c.Host, c.Port), Proto: c.Proto, Transport: c.Transport, Share: c.Share,
		Agreed: r.jobs[0].s.Agreed(), Op: string(c.Op), BlockSize: c.BlockSize, Depth: c.Depth, Jobs: c.Jobs, Size: c.Size,
		Asked: c.Time.Seconds(), Verify: string(c.Verify), Through: c.Through,
	}
	if c.Op == OpMixed {
		res.Mix = c.Mix
	}
	for _, j := range r.jobs {
		if n := j.s.Limits().Requests; n > 0 && n < c.Depth && (res.Requests == 0 || n < res.Requests) {
			res.Requests = n
		}
	}
	return res
}

// finish sums up what the workers have counted.
func (res *Result) finish(r *run, err error) {
	var read, write hist
	var bytesRead, bytesWrote int64
	for _, j := range r.jobs {
		for _, w := range j.workers {
			read.merge(&w.c.read)
			write.merge(&w.c.write)
			bytesRead += w.c.bytesRead
			bytesWrote += w.c.bytesWrote
			res.RDMABytes += w.c.offloaded
			res.InlineBytes += w.c.inline
			res.VerifiedBytes += w.c.checked
		}
	}
	res.Elapsed, res.CPU = res.elapsed.Seconds(), res.cpu.Seconds()
	rate := func(ops uint64, bytes int64) Rate {
		s := max(res.Elapsed, 1e-9)
		return Rate{Ops: ops, Bytes: bytes, MBps: float64(bytes) / 1e6 / s, IOPS: float64(ops) / s}
	}
	res.Total = rate(read.n+write.n, bytesRead+bytesWrote)
	if read.n > 0 {
		res.Read = &Side{rate(read.n, bytesRead), latencyOf(&read)}
	}
	if write.n > 0 {
		res.Write = &Side{rate(write.n, bytesWrote), latencyOf(&write)}
	}
	if res.Total.Bytes > 0 {
		res.CPUPerGB = res.CPU / (float64(res.Total.Bytes) / 1e9)
	}
	r.mu.Lock()
	res.Errors = r.errors
	r.mu.Unlock()
	if err != nil {
		res.Errors, res.Error = max(res.Errors, 1), err.Error()
	}
}

func latencyOf(h *hist) Latency {
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	return Latency{
		Mean: us(h.mean()), P50: us(h.quantile(0.5)), P90: us(h.quantile(0.9)), P99: us(h.quantile(0.99)), P999: us(h.quantile(0.999)),
		Max: us(time.Duration(h.max)),
	}
}

// Print writes the summary for people.
func (res *Result) Print(w io.Writer) error {
	var b strings.Builder
	name := map[string]string{"nfs": "NFS ", "smb": "SMB "}[res.Proto] + res.Agreed.Version
	how := []string{name}
	if res.Agreed.Signing != "" {
		how = append(how, "signed with "+res.Agreed.Signing)
	}
	if res.Agreed.Cipher != "" {
		how = append(how, "encrypted with "+res.Agreed.Cipher)
	}
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-11s "+format+"\n", append([]any{what}, args...)...)
	}
	line("server", "%s, share %s, over %s: %s", res.Server, res.Share, res.Transport, strings.Join(how, ", "))
	line("work", "%s of %s, depth %d, %d jobs of %s, %.1f s%s", res.Op, size(int64(res.BlockSize)), res.Depth, res.Jobs, size(res.Size), res.Elapsed,
		map[bool]string{true: ", interrupted"}[res.Interrupted])
	if res.Requests > 0 {
		line("", "the server takes %d requests at once from a connection", res.Requests)
	}
	line("throughput", "%.1f MB/s, %.0f IOPS", res.Total.MBps, res.Total.IOPS)
	for _, s := range []struct {
		name string
		*Side
	}{{"read", res.Read}, {"write", res.Write}} {
		if s.Side == nil {
			continue
		}
		if res.Read != nil && res.Write != nil {
			line(s.name, "%.1f MB/s, %.0f IOPS", s.MBps, s.IOPS)
		}
		l := s.Latency
		line("latency", "p50 %s, p90 %s, p99 %s, p99.9 %s, max %s, mean %s", us(l.P50), us(l.P90), us(l.P99), us(l.P999), us(l.Max), us(l.Mean))
	}
	if res.FlushSeconds > 0 {
		line("flush", "%.3f s", res.FlushSeconds)
	}
	line("client CPU", "%.2f s/GB", res.CPUPerGB)
	if res.Transport != "tcp" {
		line("data", "%s by RDMA, %s in messages", amount(res.RDMABytes), amount(res.InlineBytes))
	}
	if res.VerifiedBytes > 0 {
		line("checked", "%s", amount(res.VerifiedBytes))
	}
	line("errors", "%d", res.Errors)
	_, err := io.WriteString(w, b.String())
	return err
}

// us writes microseconds in the unit that suits them.
func us(v float64) string {
	switch {
	case v < 1e3:
		return fmt.Sprintf("%.0f µs", v)
	case v < 1e6:
		return fmt.Sprintf("%.2f ms", v/1e3)
	}
	return fmt.Sprintf("%.2f s", v/1e6)
}

// size writes bytes as users give them.
func size(n int64) string {
	for i, unit := range []string{"g", "m", "k"} {
		if u := int64(1) << (30 - 10*i); n >= u && n%u == 0 {
			return fmt.Sprintf("%d%s", n/u, unit)
		}
	}
	return fmt.Sprintf("%d", n)
}

// amount writes bytes in the unit that suits them.
func amount(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%d bytes", n)
}
