package rxe

import (
	"testing"
	"time"

	"fileserver/integration/workload"
)

// TestSiw serves on siw, the kernel's software iWARP, through libibverbs.
func TestSiw(t *testing.T) {
	t.Run("nfs", func(t *testing.T) {
		ctx, r := newRig(t, 5*time.Minute, workload.Same, "siw")
		r.check(ctx, t, r.mountNFS(t, "4.2", "fio"))
		r.moved(t, "nfs", "iwarp")
	})
	t.Run("smb", func(t *testing.T) {
		ctx, r := newRig(t, 5*time.Minute, workload.Same, "siw")
		r.smb.Port = "5445" // on iWARP, port 445 belongs to SMB over TCP
		r.check(ctx, t, r.mountSMB(t, "fio"))
		r.moved(t, "smb", "iwarp")
	})
}
