package budget

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// AvailableThreads returns how many threads of the process may be blocked in file systems: half of the limits of its control
// group and its user, and less than the limit of the Go runtime.
func AvailableThreads() int {
	n := maxThreads
	if limit, ok := groupLimit("/proc/self/cgroup", "/sys/fs/cgroup"); ok {
		n = min(n, limit/2)
	}
	var r unix.Rlimit
	if unix.Geteuid() != 0 && unix.Getrlimit(unix.RLIMIT_NPROC, &r) == nil {
		n = int(min(uint64(n), r.Cur/2))
	}
	return max(n, minShareThreads)
}

// groupLimit returns the smallest pids.max of the process's control group and of the groups above it (cgroup v2). ok is false if
// there is no limit.
func groupLimit(self, mount string) (limit int, ok bool) {
	b, err := os.ReadFile(self)
	if err != nil {
		return 0, false
	}
	var path string
	for line := range strings.Lines(string(b)) {
		if p, unified := strings.CutPrefix(strings.TrimSpace(line), "0::"); unified {
			path = filepath.Clean("/" + p)
		}
	}
	if path == "" {
		return 0, false
	}
	for ; ; path = filepath.Dir(path) {
		if b, err := os.ReadFile(filepath.Join(mount, path, "pids.max")); err == nil {
			if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && (!ok || n < limit) {
				limit, ok = n, true
			}
		}
		if path == "/" {
			return limit, ok
		}
	}
}

// Descriptors returns how many descriptors the process may have: the soft limit of RLIMIT_NOFILE, which package os has raised
// to the hard limit.
func Descriptors() int {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 1024
	}
	return int(min(r.Cur, 1<<30))
}
