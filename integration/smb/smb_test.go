package smb

import (
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
)

// TestWorkloads runs what users do on a mount whose transport the script asserts.
func TestWorkloads(t *testing.T) {
	workloads := []struct {
		name  string
		mtu   string                     // Ethernet's where every length meets the edges of FPDUs
		opts  []string                   // of the mount
		after func(t *testing.T, r *rig) // looks at the share from the server's side
	}{
		{name: "files"},
		{name: "small"},
		{name: "lengths", mtu: "1500"},
		{name: "mmap"},
		{name: "locks"},
		{name: "fio"},
		{name: "git"},
		{name: "sqlite", opts: []string{"nobrl"}},
		{name: "tree", after: func(t *testing.T, r *rig) { r.SameTree(t) }},
	}
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			ctx := workload.Within(t, 6*time.Minute)
			r := newRig(ctx, t)
			r.mount.MTU, r.mount.Options = w.mtu, append(r.mount.Options, w.opts...)
			res := r.boot(t, w.name, guest.Config{}).Check(ctx, t)
			t.Logf("%v; %s", res.Took.Round(time.Millisecond), strings.ReplaceAll(strings.TrimSpace(res.Output), "\n", "; "))
			if w.after != nil && !t.Failed() {
				w.after(t, r)
			}
		})
	}
}
