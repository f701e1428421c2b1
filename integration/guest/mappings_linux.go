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

// outOfMappings returns a line for each process of a group that has all the mappings that vm.max_map_count allows. A program in User
// Mode Linux has one mapping for each run of pages that are contiguous in the guest's memory. If the machine refuses the next
// mapping, the program repeats the page fault for ever.
func outOfMappings(pgid int) string {
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
