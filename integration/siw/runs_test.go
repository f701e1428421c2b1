package siw

import (
	"fmt"
	"strconv"
	"testing"
)

// sizes of rping: its minimum, one that needs padding, one within a TCP segment, and its maximum.
var sizes = []int{23, 25, 1000, 65535}

// odd reports whether a size needs padding or more than one FPDU.
func odd(size int) bool { return size == 25 || size == 65535 }

// rpings returns runs of rping in both roles, with each size.
func rpings() (runs []run) {
	const count = 50
	check := func(t *testing.T, r run, o outcome) {
		o.expect(t, map[string]int64{"rounds": int64(r.count), "bytes": r.bytes()})
	}
	for _, size := range sizes {
		s, n := strconv.Itoa(size), strconv.Itoa(count)
		runs = append(runs, run{name: "rping." + s, telling: odd(size), size: size, count: count, check: check,
			tool: []string{"rping", "-c", "-a", "HOST", "-p", "PORT", "-C", n, "-S", s, "-V"},
			peer: []string{"rping", "--listen", "HOST:PORT"}})
	}
	for _, size := range sizes {
		s := strconv.Itoa(size)
		runs = append(runs, run{name: "rping." + s + ".server", telling: odd(size), size: size, count: count, check: check,
			tool: []string{"rping", "-s", "-a", "0.0.0.0", "-p", "PORT", "-S", s},
			peer: []string{"rping", "--connect", "HOST:PORT", "--count", strconv.Itoa(count), "--size", s}})
	}
	return runs
}

// perftests returns runs of perftest's clients. With iwarp ib_send_bw uses credits.
func perftests(iwarp bool) []run {
	perf := func(name, tool, test string, size, count, qps int, check func(t *testing.T, r run, o outcome), args ...string) run {
		// The results are not used: they are in cycles (-C) and need no clock rate (-F).
		args = append([]string{tool, "-R", "-F", "-p", "PORT", "-s", strconv.Itoa(size), "-n", strconv.Itoa(count)}, args...)
		return run{name: name, telling: test != "send_lat" && size > 4096, size: size, count: count, qps: qps, check: check, tool: append(args, "HOST"),
			peer: []string{"perftest", "--listen", "HOST:PORT", "--test", test, "--size", strconv.Itoa(size)}}
	}
	lat := func(t *testing.T, r run, o outcome) {
		o.row(t, r)
		o.expect(t, map[string]int64{"connections": 1, "received": int64(r.count), "answered": int64(r.count), "bytes": r.bytes(), "changed": 0})
	}
	send := func(t *testing.T, r run, o outcome) {
		o.row(t, r)
		o.expect(t, map[string]int64{"connections": int64(max(1, r.qps)), "received": int64(r.count * max(1, r.qps)), "bytes": r.bytes(), "changed": 0})
		if iwarp != (o.peer["credits"] > 0) {
			t.Errorf("%d credits", o.peer["credits"])
		}
	}
	// The tool does not check the data that it READs, so the test counts the bytes that arrived.
	read := func(t *testing.T, r run, o outcome) {
		o.row(t, r)
		o.expect(t, map[string]int64{"connections": int64(max(1, r.qps)), "changed": 0})
		if o.moved < r.bytes() {
			t.Errorf("%d bytes have moved, want %d", o.moved, r.bytes())
		}
	}
	readBW := func(t *testing.T, r run, o outcome) {
		read(t, r, o)
		o.expect(t, map[string]int64{"size": int64(r.size), "iterations": int64(r.count)})
	}
	// The tool writes random bytes, so few stay unchanged.
	write := func(t *testing.T, r run, o outcome) {
		o.row(t, r)
		o.expect(t, map[string]int64{"connections": int64(max(1, r.qps)), "size": int64(r.size), "iterations": int64(r.count)})
		if o.peer["changed"] < int64(r.size)*9/10 {
			t.Errorf("of %d bytes only %d have changed", r.size, o.peer["changed"])
		}
	}
	runs := []run{
		perf("send_bw", "ib_send_bw", "send_bw", 65536, 1200, 1, send),
		perf("send_bw.2", "ib_send_bw", "send_bw", 4096, 1200, 2, send, "-q", "2"),
		perf("read_bw", "ib_read_bw", "rdma", 65536, 300, 1, readBW),
		perf("read_bw.odd", "ib_read_bw", "rdma", 9001, 300, 1, readBW),
		perf("write_bw", "ib_write_bw", "rdma", 65536, 300, 1, write),
		perf("write_bw.1M", "ib_write_bw", "rdma", 1<<20, 20, 1, write),
	}
	for _, size := range []int{2, 65535} {
		runs = append(runs,
			perf(fmt.Sprintf("send_lat.%d", size), "ib_send_lat", "send_lat", size, 700, 1, lat, "-C"),
			perf(fmt.Sprintf("read_lat.%d", size), "ib_read_lat", "rdma", size, 300, 1, read, "-C"))
	}
	return runs
}
