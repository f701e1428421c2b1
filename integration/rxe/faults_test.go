package rxe

import (
	"context"
	"os"
	"path/filepath"
	"slices"
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

// each runs a test for both protocols.
func each(t *testing.T, d time.Duration, place workload.Place, f func(ctx context.Context, t *testing.T, r *rig, service string) (died bool)) {
	for service := range services {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			workload.Repeat(t, func(t *testing.T) bool {
				ctx, r := newRigIn(t, d, place, "rxe")
				return f(ctx, t, r, service)
			})
		})
	}
}

// TestCrash kills the server with SIGKILL while a client in the same guest writes, and starts it again.
func TestCrash(t *testing.T) {
	each(t, 10*time.Minute, workload.Same, func(ctx context.Context, t *testing.T, r *rig, service string) bool {
		return r.Crash(ctx, t, services[service](r, t, "crash"))
	})
}

// TestDeleted deletes the server's device while a client writes, and makes it again. The connections end with the device, a mount over
// TCP goes on all the time, and the others when there is a device again.
func TestDeleted(t *testing.T) {
	each(t, 10*time.Minute, workload.Beside, func(ctx context.Context, t *testing.T, r *rig, service string) bool {
		connections := map[string]string{"nfs": `connections{protocol="nfs",transport="roce"}`, "smb": `smb_connections{transport="rdma"}`}[service]
		return r.Hurt(ctx, t, services[service](r, t, "crash", "BESIDE=yes"), workload.Harm{
			Cause: r.do("delete"), Cure: r.do("add"),
			Meanwhile: func(ctx context.Context) error {
				before := r.beside()
				return r.until(ctx, t, "the connections are gone, and ten more files went by TCP", func(m map[string]float64) bool {
					return m[connections] == 0 && r.beside() >= before+10
				})
			},
		})
	})
}

// TestAddress takes the server's address away while a client writes, and gives it back. Without an address the server cannot say that a
// connection has ended. A client that waits for answers learns it from a request that is not acknowledged, and the next of cifs may be its
// echo, 60 seconds later unless told otherwise.
func TestAddress(t *testing.T) {
	each(t, 10*time.Minute, workload.Beside, func(ctx context.Context, t *testing.T, r *rig, service string) bool {
		r.smb.Options = []string{"echo_interval=5"}
		return r.Hurt(ctx, t, services[service](r, t, "crash"), workload.Harm{
			Cause: r.do("unaddress"), Cure: r.do("address"),
			Meanwhile: func(ctx context.Context) error {
				return r.until(ctx, t, "the server does not listen any more", func(m map[string]float64) bool { return listeners(m, service) == 0 })
			},
		})
	})
}

// TestLoss has a client and the server lose and reorder 1 % of all packets, and makes sure that they did. rxe gives a connection up
// when one operation has needed more than seven retries, and so transfers of a megabyte, 256 packets, never succeed. What else rxe does not
// cope with is that a client registers memory behind a SEND that is not acknowledged yet: when it has to repeat that, it registers the
// memory again, refuses, and ends the connection. NFS goes on with a new one; cifs may die of it (workload.Rig.Hurt), and so has one
// request at a time on each connection.
func TestLoss(t *testing.T) {
	workloads := map[string][]string{
		"nfs": {"fio-depth", "SIZE=1m", "BS=64k"},
		"smb": {"lossy"},
	}
	each(t, 5*time.Minute, workload.Beside, func(ctx context.Context, t *testing.T, r *rig, service string) bool {
		if err := r.Inside.Do(ctx, "lossy"); err != nil {
			t.Fatal(err)
		}
		r.nfs.Options = "rsize=65536,wsize=65536"
		w := workloads[service]
		r.check(ctx, t, services[service](r, t, w[0], append(w[1:], "LOSSY=yes")...))
		r.lost(ctx, t)
		r.movedAtLeast(t, service, "roce", map[string]moves{"nfs": {4e6, 8e6, 200}, "smb": {18e6, 16e6, 600}}[service])
		return false
	})
}

// lost makes sure that data was lost in both directions: what the server read, so that it had to ask again (completer_retry_err), and what
// it wrote, so that the client said so (rcvd_seq_err).
func (r *rig) lost(ctx context.Context, t *testing.T) {
	t.Helper()
	var counts []float64
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Second) { // the server looks at its devices now and then
		if err := r.Inside.Do(ctx, "metrics"); err != nil {
			t.Fatal(err)
		}
		counts = nil
		for _, c := range []string{"completer_retry_err", "rcvd_seq_err"} {
			counts = append(counts, r.Inside.Metrics(t)[`rdma_port_counter_total{counter="`+c+`",device="rxe0",port="1"}`])
		}
		if slices.Min(counts) > 0 {
			t.Logf("lost: %v", counts)
			return
		}
	}
	t.Errorf("nothing was lost: %v", counts)
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
