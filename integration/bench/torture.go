package main

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// tortureLoad is one of smbtorture's benchmarks. Each runs for a fixed time.
type tortureLoad struct {
	what string
	test string // below smb2.bench
	size int    // bytes of an operation; 0: it moves no data
	ways []protection
}

// protection is a protection of the traffic, and smbtorture's option for it.
type protection struct{ name, option string }

var (
	plain     = protection{"", "--client-protection=off"}
	signed    = protection{", signed", "--option=clientsigning=required"} // AES-GMAC; --client-protection=sign signs nothing
	encrypted = protection{", encrypted", "--client-protection=encrypt"}  // AES-128-GCM
)

// tortureLoads are the benchmarks. An ECHO has no session, so it cannot be protected.
var tortureLoads = []tortureLoad{
	{"READ 1 MiB", "read", 1 << 20, []protection{plain, signed, encrypted}},
	{"WRITE 1 MiB", "write", 1 << 20, []protection{plain, signed, encrypted}},
	{"READ 4 KiB", "read", 4 << 10, []protection{plain, signed, encrypted}},
	{"WRITE 4 KiB", "write", 4 << 10, []protection{plain, signed, encrypted}},
	{"ECHO", "echo", 0, []protection{plain}},
	{"SESSION_SETUP and LOGOFF", "session-setup", 0, []protection{plain}},
}

// smbtorture is one process with one thread. It uses two connections, so that a server with a process for each connection can use two
// processors; tortureDepth is the number of requests outstanding on each.
const tortureConns, tortureDepth = 2, 4

// tortureRate matches the last progress line of a benchmark: the rate of its first operation, per second.
var tortureRate = regexp.MustCompile(`second: \w+\[num/s=([0-9,]+)[;,\]]`)

// torture runs a benchmark and returns its operations per second.
func (s *samba) torture(ctx context.Context, server netip.AddrPort, l tortureLoad, way protection, seconds int) (float64, error) {
	cmd := s.command(ctx, "smbtorture", "--configfile=/dev/null", "-p", strconv.Itoa(int(server.Port())), "-U", smbUser+"%"+smbPassword,
		way.option, "--option=torture:progress=no",
		fmt.Sprintf("--option=torture:timelimit=%d", seconds), fmt.Sprintf("--option=torture:io_size=%d", l.size),
		fmt.Sprintf("--option=torture:nprocs=%d", tortureConns), fmt.Sprintf("--option=torture:qdepth=%d", tortureDepth),
		fmt.Sprintf("//%v/data", server.Addr()), "smb2.bench."+l.test)
	out, err := cmd.CombinedOutput()
	m := tortureRate.FindSubmatch(out)
	if err != nil || m == nil {
		return 0, fmt.Errorf("smbtorture smb2.bench.%s at %v%s: %w\n%s", l.test, server, way.name, err, out)
	}
	return strconv.ParseFloat(strings.ReplaceAll(string(m[1]), ",", ""), 64)
}

// tortureRows compares our server with Samba's, both with Samba's client.
func (r *rig) tortureRows(ctx context.Context, rounds, seconds int) ([]row, error) {
	type server struct {
		addr netip.AddrPort
		cpu  func() (time.Duration, error)
	}
	servers := []server{{r.smb, r.cpu}, {r.samba.addr, r.samba.cpu}}
	rows := []row{{what: "SMB over TCP beside Samba " + r.samba.version(ctx) + ", with its smbtorture as client"}}
	for _, l := range tortureLoads {
		for _, way := range l.ways {
			var f [2]series
			for i := range rounds {
				for k := range servers {
					side := (i + k) % 2 // they take turns in going first
					before, err := servers[side].cpu()
					if err != nil {
						return nil, err
					}
					rate, err := r.samba.torture(ctx, servers[side].addr, l, way, seconds)
					if err != nil {
						return nil, err
					}
					after, err := servers[side].cpu()
					if err != nil {
						return nil, err
					}
					f[side].add(rate, int(rate)*seconds, after-before)
				}
			}
			rows = append(rows, compareCost("SMB "+l.what+way.name, l.size, f[0], f[1]))
		}
	}
	return rows, nil
}
