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

// services are the protocols, with the function that boots a client of each. NFS has its newest version.
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

// TestDeleted deletes the server's device while a client writes, and adds it again. The connections end with the device. The mount
// over TCP works all the time, and the RDMA mount resumes once the device is back.
func TestDeleted(t *testing.T) {
	each(t, 10*time.Minute, workload.Beside, func(ctx context.Context, t *testing.T, r *rig, service string) bool {
		connections := map[string]string{"nfs": `connections{protocol="nfs",transport="roce"}`, "smb": `smb_connections{transport="rdma"}`}[service]
		return r.Interrupt(ctx, t, services[service](r, t, "crash", "BESIDE=yes"), workload.Interruption{
			Cause: r.do("delete"), Cure: r.do("add"),
			Meanwhile: func(ctx context.Context) error {
				before := r.beside()
				return r.until(ctx, t, "the connections have ended, and ten more files were written over TCP", func(m map[string]float64) bool {
					return m[connections] == 0 && r.beside() >= before+10
				})
			},
		})
	})
}

// TestAddress removes the server's address while a client writes, and adds it again. Without an address the server cannot tell clients
// that a connection has ended. A client that waits for answers notices when a request is not acknowledged. The next request of cifs may
// be its echo, which comes only after 60 seconds by default.
func TestAddress(t *testing.T) {
	each(t, 10*time.Minute, workload.Beside, func(ctx context.Context, t *testing.T, r *rig, service string) bool {
		r.smb.Options = []string{"echo_interval=5"}
		return r.Interrupt(ctx, t, services[service](r, t, "crash"), workload.Interruption{
			Cause: r.do("unaddress"), Cure: r.do("address"),
			Meanwhile: func(ctx context.Context) error {
				return r.until(ctx, t, "the server no longer listens", func(m map[string]float64) bool { return listeners(m, service) == 0 })
			},
		})
	})
}

// TestLoss drops and reorders 1 % of all packets of a client and the server, and checks that packets were lost. It avoids two weaknesses
// of rxe. First, rxe ends a connection when one operation needs more than seven retries, so transfers of a megabyte, 256 packets, never
// succeed. Second, a client may register memory behind a SEND that is not acknowledged yet. If rxe has to repeat the SEND, it repeats
// the registration, which fails, and the connection ends. NFS reconnects, but cifs may crash (workload.Rig.Interrupt), so cifs has only
// one request at a time on each connection.
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

// lost fails the test unless data was lost in both directions. completer_retry_err counts lost data that the server read and had to
// request again; rcvd_seq_err counts clients' reports of lost data that the server wrote.
func (r *rig) lost(ctx context.Context, t *testing.T) {
	t.Helper()
	var counts []float64
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Second) { // the server updates the devices' counters at intervals
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

// do returns a function that runs do_NAME of scripts/server.sh in the server's guest.
func (r *rig) do(name string) func(context.Context) error {
	return func(ctx context.Context) error { return r.Inside.Do(ctx, name) }
}

// beside returns the number of files that the client has written over TCP.
func (r *rig) beside() int {
	text, _ := os.ReadFile(filepath.Join(r.Out, "beside")) // without the file it is 0
	return strings.Count(string(text), "\n")
}
