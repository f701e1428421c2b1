package rxe

import (
	"slices"
	"testing"
	"time"

	"fileserver/integration/nfs"
	"fileserver/integration/smb"
	"fileserver/integration/workload"
)

// TestNFS runs what users do over NFS, server and client in one guest.
func TestNFS(t *testing.T) {
	for _, vers := range nfs.Versions {
		for _, w := range append(nfs.Workloads, workload.Workload{Name: "fio-depth"}) {
			if vers == "4.1" && slices.Contains([]string{"git", "small", "tree", "lengths", "mmap"}, w.Name) {
				continue // to save time: below, and in what they use, 4.2 is the same
			}
			t.Run(vers+"/"+w.Name, func(t *testing.T) {
				ctx, r := newRig(t, 10*time.Minute, workload.Same, "rxe")
				r.nfs.MTU = w.MTU
				r.check(ctx, t, r.mountNFS(t, vers, w.Name))
				if w.Name == "fio" { // data of all lengths
					r.moved(t, "nfs", "roce")
				}
			})
		}
	}
}

// TestSMB does the same over SMB 3.1.1.
func TestSMB(t *testing.T) {
	for _, w := range smb.Workloads {
		t.Run(w.Name, func(t *testing.T) {
			ctx, r := newRig(t, 10*time.Minute, workload.Same, "rxe")
			r.smb.MTU, r.smb.Options = w.MTU, w.Options
			r.check(ctx, t, r.mountSMB(t, w.Name))
			if w.Name == "fio" {
				r.moved(t, "smb", "roce")
			}
		})
	}
}
