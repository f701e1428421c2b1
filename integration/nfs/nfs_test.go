package nfs

import (
	"os"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
)

var versions = []string{"3", "4.1", "4.2"}

// TestWorkloads runs what users do, in every version, on a mount whose transport the script asserts.
func TestWorkloads(t *testing.T) {
	workloads := []struct {
		name  string
		mtu   string                     // Ethernet's where every length meets the edges of FPDUs
		after func(t *testing.T, r *rig) // looks at the share from the server's side
	}{
		{name: "files"},
		{name: "owners"},
		{name: "small"},
		{name: "lengths", mtu: "1500"},
		{name: "mmap"},
		{name: "locks"},
		{name: "fio"},
		{name: "git"},
		{name: "tree", after: func(t *testing.T, r *rig) { r.SameTree(t, "") }},
	}
	for _, vers := range versions {
		for _, w := range workloads {
			t.Run(vers+"/"+w.name, func(t *testing.T) {
				if w.name == "owners" && os.Geteuid() != 0 {
					t.Skip("only a server that is root can give files to their owners")
				}
				ctx := workload.Within(t, 15*time.Minute)
				r := newRig(ctx, t, vers)
				r.mount.MTU = w.mtu
				res := r.boot(t, w.name, guest.Config{}).Check(ctx, t)
				t.Logf("%v; %s", res.Took.Round(time.Millisecond), strings.ReplaceAll(strings.TrimSpace(res.Output), "\n", "; "))
				if w.after != nil && r.Dir != "" && !t.Failed() {
					w.after(t, r)
				}
			})
		}
	}
}
