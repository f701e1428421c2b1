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

// tortureLoad is one of smbtorture's benchmarks, which run for a time.
type tortureLoad struct {
	what string
	test string // below smb2.bench
	size int    // bytes of an operation; 0: it moves no data
	ways []protection
}

// protection is what the client asks for, and how to tell smbtorture.
type protection struct{ name, option string }

var (
	plain     = protection{"", "--client-protection=off"}
	signed    = protection{", signed", "--option=clientsigning=required"} // AES-GMAC; --client-protection=sign signs nothing
	encrypted = protection{", encrypted", "--client-protection=encrypt"}  // AES-128-GCM
)

// An ECHO has no session, so there is only one way.
var tortureLoads = []tortureLoad{
	{"READ 1 MiB", "read", 1 << 20, []protection{plain, signed, encrypted}},
	{"WRITE 1 MiB", "write", 1 << 20, []protection{plain, signed, encrypted}},
	{"READ 4 KiB", "read", 4 << 10, []protection{plain, signed, encrypted}},
	{"WRITE 4 KiB", "write", 4 << 10, []protection{plain, signed, encrypted}},
	{"ECHO", "echo", 0, []protection{plain}},
	{"SESSION_SETUP and LOGOFF", "session-setup", 0, []protection{plain}},
}

// Of smbtorture, which is one process with one thread: two connections, so that a server with a process for each has work for two
// processors, and requests outstanding on each.
const tortureConns, tortureDepth = 2, 4

// tortureRate matches the last line of a benchmark's progress: how often it did the first of what it does, per second.
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

// tortureRows measures our server beside Samba's, both with Samba's client.
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
					side := (i + k) % 2 // neither is always first
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
