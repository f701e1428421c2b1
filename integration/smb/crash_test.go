package smb

import (
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
)

// TestCrash kills the server with SIGKILL while a client writes, and starts it again (workload.Rig.Crash).
func TestCrash(t *testing.T) {
	workload.Repeat(t, func(t *testing.T) bool {
		ctx := workload.Within(t, 6*time.Minute)
		r := newRig(ctx, t)
		return r.Crash(ctx, t, r.boot(t, "crash", guest.Config{}))
	})
}
