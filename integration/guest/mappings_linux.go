package guest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// crowded names the processes of a group that have as many mappings as a process may have. A program in User Mode Linux has one for each
// run of pages that lie together in the guest's memory, and where the machine refuses it the next it runs for ever.
func crowded(pgid int) string {
	text, err := os.ReadFile("/proc/sys/vm/max_map_count")
	if err != nil {
		return ""
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return ""
	}
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range procs {
		pid, err := strconv.Atoi(filepath.Base(p))
		if err != nil {
			continue
		}
		if group, err := syscall.Getpgid(pid); err != nil || group != pgid {
			continue
		}
		maps, err := os.ReadFile(filepath.Join(p, "maps"))
		if n := bytes.Count(maps, []byte("\n")); err == nil && n >= limit {
			fmt.Fprintf(&b, "process %d of the machine has %d mappings, and vm.max_map_count is %d: the guest's program touches too much memory, page by page\n", pid, n, limit)
		}
	}
	return b.String()
}
