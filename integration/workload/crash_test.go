package workload

import (
	"testing"

	"fileserver/integration/guest"
)

// TestDiedOfKnownBug wants the crashes by the known bug recognized, and no others.
func TestDiedOfKnownBug(t *testing.T) {
	const (
		bug   = "BUG: failure at fs/netfs/write_collect.c:458/netfs_write_subrequest_terminated()!; Kernel panic - not syncing: BUG!"
		fault = "Kernel panic - not syncing: Kernel mode fault at addr 0x8, ip 0x6052758f"
		trace = fault + "\nCPU: 0\nStack:\n 60fa27e0 00000400\nCall Trace:\n [<60528760>] ? cifs_call_async+0x210/0x3a0\n"
	)
	for _, c := range []struct {
		panic, output string
		want          bool
	}{
		{bug, bug, true}, {fault, trace, true}, {"", trace, false}, {fault, fault, false},
		{fault, "Call Trace:\n [<60528760>] ? other+0x1/0x2\n [<60528760>] ? cifs_call_async+0x210/0x3a0\n", false},
		{"BUG: failure at fs/netfs/write_collect.c:1/other()!; Kernel panic - not syncing: BUG!", bug, false},
		{"Kernel panic - not syncing: BUG!", bug, false},
	} {
		if got := diedOfKnownBug(guest.Result{Panic: c.panic, Output: c.output}); got != c.want {
			t.Errorf("%q, %q: %v", c.panic, c.output, got)
		}
	}
}
