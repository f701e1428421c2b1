package guest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// KernelLog holds the messages of a guest's kernel, one line with a time stamp for each.
type KernelLog []string

// complaint matches messages that no test may cause, whatever the server does.
var complaint = regexp.MustCompile(`BUG:|\bOops\b|WARNING:|Kernel panic|general protection fault|UBSAN:|KASAN:|` +
	`INFO: (rcu|task) |soft lockup|refcount_t:|list_(add|del) corruption|slab-use-after-free|Unable to handle`)

// known are warnings that come from bugs of Linux 7.2: their first line, and a function in their trace. Tests log them
// ([KernelLog.Known]) but do not fail.
var known = []struct{ warning, trace *regexp.Regexp }{
	// After packets were lost or a device was deleted, rxe stops a queue pair for an error that has no status, and reports the
	// request as successful.
	{regexp.MustCompile(`WARNING: drivers/infiniband/sw/rxe/rxe_comp\.c:\d+ at rxe_completer`), nil},
	// When a device is deleted, the kernel's receiver of management datagrams posts to a queue pair that no longer exists.
	{regexp.MustCompile(`WARNING: drivers/infiniband/sw/rxe/rxe_verbs\.c:\d+ at rxe_post_recv`), regexp.MustCompile(`ib_mad_recv_done`)},
	// When a connection ends under load, cifs counts a request twice: its response has come, but cifs takes its SEND for failed.
	{regexp.MustCompile(`WARNING: fs/smb/client/smb2ops\.c:\d+ at smb2_add_credits`), nil},
}

// known reports whether the complaint in line i is a known one.
func (k KernelLog) known(i int) bool {
	for _, w := range known {
		if !w.warning.MatchString(k[i]) {
			continue
		}
		if w.trace == nil {
			return true
		}
		for _, line := range k[i:min(len(k), i+60)] {
			if w.trace.MatchString(line) {
				return true
			}
			if strings.Contains(line, "---[ end trace") {
				break
			}
		}
	}
	return false
}

// transport matches messages of the network file systems and the layers below them.
var transport = regexp.MustCompile(`(?i)siw|iwarp|rpcrdma|xprtrdma|rdma|RPC:|nfs|rxe|cifs|smb`)

// Script returns the part of the log since the script was started, or all of it if none was. Tests do not check the messages
// of the boot.
func (k KernelLog) Script() KernelLog {
	for i, line := range k {
		if strings.HasSuffix(line, "] "+readyLine) {
			return k[i+1:]
		}
	}
	return k
}

// Complaints returns the first oops, warning or lock-up since the script was started, with the lines around it.
func (k KernelLog) Complaints() string {
	k = k.Script()
	for i, line := range k {
		if complaint.MatchString(line) && !k.known(i) {
			return strings.Join(k[max(0, i-5):min(len(k), i+60)], "\n")
		}
	}
	return ""
}

// Known returns the complaints that [KernelLog.Complaints] leaves out.
func (k KernelLog) Known() (lines []string) {
	k = k.Script()
	for i, line := range k {
		if complaint.MatchString(line) && k.known(i) {
			lines = append(lines, line)
		}
	}
	return lines
}

// Transport returns the messages of RDMA, RPC, NFS and SMB since the script was started.
func (k KernelLog) Transport() string {
	var lines []string
	for _, line := range k.Script() {
		if transport.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// String returns the whole log.
func (k KernelLog) String() string { return strings.Join(k, "\n") }

// parseKernelLog parses the text of /dev/kmsg: lines "priority,sequence,microseconds,flags;message", and continuation lines
// that start with a space, which it drops (Documentation/ABI/testing/dev-kmsg).
func parseKernelLog(text string) KernelLog {
	var log KernelLog
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		head, message, found := strings.Cut(line, ";")
		fields := strings.Split(head, ",")
		if !found || strings.HasPrefix(line, " ") || len(fields) < 3 {
			continue
		}
		us, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			continue
		}
		log = append(log, fmt.Sprintf("[%11.6f] %s", (time.Duration(us)*time.Microsecond).Seconds(), message))
	}
	return log
}
