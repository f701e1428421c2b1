package nfs

import (
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
)

// TestCrash kills the server with SIGKILL while a client writes, and starts it again (workload.Rig.Crash).
func TestCrash(t *testing.T) {
	for _, vers := range Versions {
		t.Run(vers, func(t *testing.T) {
			ctx := workload.Within(t, 15*time.Minute)
			r := newRig(ctx, t, vers)
			if r.Server == nil {
				t.Fatal("the kernel's server is not a process that can be killed")
			}
			r.Crash(ctx, t, r.boot(t, "crash", guest.Config{}))
		})
	}
}
