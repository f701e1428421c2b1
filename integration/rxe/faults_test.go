package rxe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
)

// services are the protocols, NFS by its newest version, and how a client of each is booted.
var services = map[string]func(r *rig, t *testing.T, name string, env ...string) *guest.Guest{
	"nfs": func(r *rig, t *testing.T, name string, env ...string) *guest.Guest {
		return r.mountNFS(t, "4.2", name, env...)
	},
	"smb": (*rig).mountSMB,
}

// each runs a test for protocols.
func each(t *testing.T, d time.Duration, place workload.Place, names []string, f func(ctx context.Context, t *testing.T, r *rig, service string)) {
	for _, service := range names {
		t.Run(service, func(t *testing.T) {
			ctx, r := newRig(t, d, place, "rxe")
			f(ctx, t, r, service)
		})
	}
}

// TestCrash kills the server with SIGKILL while a client in the same guest writes, and starts it again.
func TestCrash(t *testing.T) {
	each(t, 10*time.Minute, workload.Same, []string{"nfs", "smb"}, func(ctx context.Context, t *testing.T, r *rig, service string) {
		r.Crash(ctx, t, services[service](r, t, "crash"))
	})
}

// TestDeleted deletes the server's device while a client writes, and makes it again. The connections end with the device, a mount over
// TCP goes on all the time, and the others when there is a device again.
func TestDeleted(t *testing.T) {
	each(t, 10*time.Minute, workload.Beside, []string{"nfs", "smb"}, func(ctx context.Context, t *testing.T, r *rig, service string) {
		connections := map[string]string{"nfs": `connections{protocol="nfs",transport="roce"}`, "smb": `smb_connections{transport="rdma"}`}[service]
		r.Hurt(ctx, t, services[service](r, t, "crash", "BESIDE=yes"), workload.Harm{
			Cause: r.do("delete"), Cure: r.do("add"),
			Meanwhile: func(ctx context.Context) error {
				before := r.beside()
				for {
					if err := r.Inside.Do(ctx, "metrics"); err != nil {
						return err
					}
					if n := r.Inside.Metrics(t)[connections]; n == 0 && r.beside() >= before+10 {
						return nil
					} else if ctx.Err() != nil {
						return fmt.Errorf("%v connections are left, and %d files went by TCP", n, r.beside()-before)
					}
					time.Sleep(100 * time.Millisecond)
				}
			},
		})
	})
}

// TestAddress takes the server's address away while a client writes, and gives it back.
func TestAddress(t *testing.T) {
	each(t, 10*time.Minute, workload.Beside, []string{"nfs", "smb"}, func(ctx context.Context, t *testing.T, r *rig, service string) {
		r.Hurt(ctx, t, services[service](r, t, "crash"), workload.Harm{
			Cause: r.do("unaddress"), Cure: r.do("address"),
			Meanwhile: func(context.Context) error { time.Sleep(5 * time.Second); return nil }, // the server looks every two seconds
		})
	})
}

// TestLoss has a client and the server lose and reorder 1 % of all packets, and makes sure that they did. rxe gives a connection up when one
// operation has needed more than seven retries, and so transfers of a megabyte, 256 packets, never succeed.
func TestLoss(t *testing.T) {
	each(t, 5*time.Minute, workload.Beside, []string{"nfs"}, func(ctx context.Context, t *testing.T, r *rig, service string) {
		if err := r.Inside.Do(ctx, "lossy"); err != nil {
			t.Fatal(err)
		}
		r.nfs.Options = "rsize=65536,wsize=65536"
		r.check(ctx, t, services[service](r, t, "fio-depth", "LOSSY=yes", "SIZE=1m", "BS=64k"))
		if err := r.Inside.Do(ctx, "metrics"); err != nil {
			t.Fatal(err)
		}
		m := r.Inside.Metrics(t)
		for _, c := range []string{"out_of_seq_request", "rcvd_seq_err"} {
			n := m[`rdma_port_counter_total{counter="`+c+`",device="rxe0",port="1"}`]
			t.Logf("%s: %v", c, n)
			if n < 1 {
				t.Errorf("nothing was lost: %s is %v", c, n)
			}
		}
		r.moved(t, service, "roce")
	})
}

// do is a step that the server's guest takes.
func (r *rig) do(name string) func(context.Context) error {
	return func(ctx context.Context) error { return r.Inside.Do(ctx, name) }
}

// beside is how many files the client has written over TCP.
func (r *rig) beside() int {
	text, _ := os.ReadFile(filepath.Join(r.Out, "beside")) // nothing yet is none
	return strings.Count(string(text), "\n")
}
