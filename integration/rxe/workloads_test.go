package rxe

import (
	"slices"
	"testing"
	"time"

	"fileserver/integration/nfs"
	"fileserver/integration/smb"
	"fileserver/integration/workload"
)

// nfsMoves are the least moves of each workload over NFS. Data below the inline threshold, 4 KiB with headers, goes in messages. A reply
// invalidates a key only if the call has no other. Linux registers as many pages under one key as a device has SGEs for one READ, which
// is 32 with rxe. So each call of more than 128 KiB has several keys, as do all calls that move data in fio-depth.
var nfsMoves = map[string]moves{
	"files":     {0.5e6, 0.6e6, 15},
	"owners":    {}, // attributes only
	"small":     {1.6e6, 3e6, 1200},
	"lengths":   {65e6, 120e6, 13_000},
	"mmap":      {16e6, 32e6, 300},
	"locks":     {}, // no data
	"fio":       {200e6, 400e6, 500},
	"fio-depth": {200e6, 400e6, 0},
	"git":       {10e6, 15e6, 2000},
	"tree":      {3e6, 3e6, 500},
}

// smbMoves are the least moves over SMB. Reads and writes of 4 KiB or more go by RDMA, and each invalidates one key.
var smbMoves = map[string]moves{
	"files":     {0.5e6, 0.5e6, 20},
	"small":     {7e6, 7e6, 2500},
	"lengths":   {45e6, 85e6, 18_000},
	"mmap":      {16e6, 32e6, 20},
	"locks":     {}, // no data but one page
	"fio":       {200e6, 400e6, 1000},
	"fio-depth": {200e6, 400e6, 570},
	"git":       {10e6, 22e6, 2800},
	"sqlite":    {25e6, 50e6, 12_000},
	"tree":      {40e6, 40e6, 8000},
}

// fewer returns the environment for a workload with less data. Only version 4.2, which is the slowest, runs with as much as in
// package nfs.
func fewer(vers, name string) (env []string) {
	if vers != "4.2" && slices.Contains([]string{"small", "git", "tree"}, name) {
		return []string{"LESS=yes"}
	}
	return nil
}

// TestNFS runs the workloads over NFS, with server and client in one guest.
func TestNFS(t *testing.T) {
	for _, vers := range nfs.Versions {
		for _, w := range append(nfs.Workloads, workload.Workload{Name: "fio-depth"}) {
			t.Run(vers+"/"+w.Name, func(t *testing.T) {
				want, ok := nfsMoves[w.Name]
				if !ok {
					t.Fatal("what it has to move is not known")
				}
				ctx, r := newRig(t, 15*time.Minute, workload.Same, "rxe")
				r.nfs.MTU = w.MTU
				r.check(ctx, t, r.mountNFS(t, vers, w.Name, fewer(vers, w.Name)...))
				r.movedAtLeast(t, "nfs", "roce", want)
			})
		}
	}
}

// TestSMB does the same over SMB 3.1.1.
func TestSMB(t *testing.T) {
	for _, w := range smb.Workloads {
		t.Run(w.Name, func(t *testing.T) {
			want, ok := smbMoves[w.Name]
			if !ok {
				t.Fatal("what it has to move is not known")
			}
			ctx, r := newRig(t, 15*time.Minute, workload.Same, "rxe")
			r.smb.MTU, r.smb.Options = w.MTU, w.Options
			r.check(ctx, t, r.mountSMB(t, w.Name))
			r.movedAtLeast(t, "smb", "roce", want)
		})
	}
}
