package nfs

import (
	"os"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
)

// TestWorkloads runs the workloads in every version, each on a mount whose transport the script checks.
func TestWorkloads(t *testing.T) {
	for _, vers := range Versions {
		for _, w := range Workloads {
			t.Run(vers+"/"+w.Name, func(t *testing.T) {
				if w.Root && os.Geteuid() != 0 {
					t.Skip("the server needs root to give files to their owners")
				}
				ctx := workload.Within(t, 15*time.Minute)
				r := newRig(ctx, t, vers)
				r.mount.MTU = w.MTU
				res := r.boot(t, w.Name, guest.Config{}).Check(ctx, t)
				t.Logf("%v; %s", res.Took.Round(time.Millisecond), strings.ReplaceAll(strings.TrimSpace(res.Output), "\n", "; "))
				if w.Tree != "" && r.Dir != "" && !t.Failed() {
					r.SameTree(t, w.Tree)
				}
			})
		}
	}
}
