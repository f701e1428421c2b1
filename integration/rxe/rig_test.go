package rxe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/nfs"
	"fileserver/integration/smb"
	"fileserver/integration/workload"
)

var programs = workload.Programs{Packages: []string{workload.Work, workload.Server}, RDMACore: true}

func TestMain(m *testing.M) {
	status := m.Run()
	programs.Remove()
	os.Exit(status)
}

// guestSlots limits the number of guests that run at a time.
var guestSlots = make(chan struct{}, 2)

// pairing is held while a test takes its places in guestSlots. Two tests that each held one place and wanted a second would block each
// other.
var pairing sync.Mutex

// memory is small, because User Mode Linux needs a mapping for each page that is not contiguous in the guest's memory, and the host's
// vm.max_map_count allows 65530. A process that needs one more repeats its page fault for ever.
const memory = "limits: {memory: 128MiB}\n"

// rig is a server in a guest, and the parameters of its clients' mounts.
type rig struct {
	*workload.Rig
	nfs nfs.Mount
	smb smb.Mount
}

// newRig prepares a server on a device of a kind, for a test that runs in parallel with others.
func newRig(t *testing.T, d time.Duration, place workload.Place, device string) (context.Context, *rig) {
	t.Helper()
	t.Parallel()
	return newRigIn(t, d, place, device)
}

// newRigIn does the same in a subtest of such a test.
func newRigIn(t *testing.T, d time.Duration, place workload.Place, device string) (context.Context, *rig) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short skips the guest tests")
	}
	bin, err := programs.Dir()
	if err != nil {
		t.Fatalf("%v\nas root type: apt-get install -y gcc libc6-dev $(cat integration/rxe/packages.txt)", err)
	}
	guests := 1
	if place == workload.Beside {
		guests = 2
		pairing.Lock()
		defer pairing.Unlock()
	}
	for range guests {
		guestSlots <- struct{}{}
	}
	t.Cleanup(func() {
		for range guests {
			<-guestSlots
		}
	})
	ctx := workload.Within(t, d)
	r := &rig{Rig: workload.NewRig(t)}
	address := r.Host.Inside()
	work := filepath.Join(bin, "work")
	r.nfs = nfs.Mount{Server: address, Export: "/data", Proto: "rdma", MountPort: 2049, Work: work}
	r.smb = smb.Mount{Server: address, Port: "445", Proto: "rdma", Vers: "3.1.1", User: smb.User, Work: work}
	config := "iwarp: {enabled: false}\nrdma: {devices: [" + device + "0]}\nsmb: {enabled: true}\n" + memory
	if device == "siw" && place == workload.Same {
		config += "nfs: {privileged_ports: false}\n" // Linux has no reserved port over RDMA, so the server would not believe its local client
	}
	r.ServeInside(ctx, t, workload.Inside{
		Place: place, Device: device, Program: filepath.Join(bin, "fileserver"),
		Config: config,
		Env:    []string{"LOGIN=" + smb.User, "PASSWD=" + smb.Password, "WORK=" + work},
	})
	return ctx, r
}

// mountNFS boots a client that runs a workload over NFS.
func (r *rig) mountNFS(t *testing.T, vers, name string, env ...string) *guest.Guest {
	t.Helper()
	r.nfs.Vers = vers
	return r.Boot(t, nfs.Scripts(), name, append(r.nfs.Env(), env...), guest.Config{})
}

// mountSMB boots a client that runs a workload over SMB.
func (r *rig) mountSMB(t *testing.T, name string, env ...string) *guest.Guest {
	t.Helper()
	return r.Boot(t, smb.Scripts(), name, append(r.smb.Env(), env...), guest.Config{})
}

// until waits for a state of the server's metrics.
func (r *rig) until(ctx context.Context, t *testing.T, what string, ok func(map[string]float64) bool) error {
	t.Helper()
	for {
		if err := r.Inside.Do(ctx, "metrics"); err != nil {
			return err
		}
		if ok(r.Inside.Metrics(t)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("never: %s", what)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// listeners returns the number of addresses and devices on which the server listens for a service.
func listeners(metrics map[string]float64, service string) (n int) {
	for name, v := range metrics {
		if strings.HasPrefix(name, "rdma_listener{") && strings.Contains(name, `service="`+service+`"`) && v == 1 {
			n++
		}
	}
	return n
}

// check waits for a client and checks its result.
func (r *rig) check(ctx context.Context, t *testing.T, g *guest.Guest) {
	t.Helper()
	res := g.Check(ctx, t)
	t.Logf("%v; %s", res.Took.Round(time.Millisecond), strings.ReplaceAll(strings.TrimSpace(res.Output), "\n", "; "))
}

// moves counts transfers by RDMA: bytes to the server and from it, and replies that invalidated a key of the client.
type moves struct{ in, out, keys float64 }

// moved fails the test unless the server counted bytes by RDMA in both directions, and keys that its replies invalidated.
func (r *rig) moved(t *testing.T, service, transport string) {
	t.Helper()
	r.movedAtLeast(t, service, transport, moves{1, 1, 1})
}

// movedAtLeast fails the test unless the server counted at least the moves of a workload, and no data over TCP.
func (r *rig) movedAtLeast(t *testing.T, service, transport string, want moves) {
	t.Helper()
	m := r.Inside.Metrics(t)
	bytes, tcp := "bytes_total", `bytes_total{direction=%q,path="tcp"}`
	keys := `rpcrdma_invalidates_total{transport="` + transport + `"}`
	if service == "smb" {
		bytes, tcp, keys = "smbdirect_bytes_total", `smb_tcp_bytes_total{direction=%q}`, "smbdirect_invalidates_total"
	}
	count := func(name string) float64 {
		n, ok := m[name]
		if !ok {
			t.Errorf("the server has no metric %s", name)
		}
		return n
	}
	path := func(path string) (in, out float64) {
		return count(bytes + `{direction="in",path="` + path + `"}`), count(bytes + `{direction="out",path="` + path + `"}`)
	}
	got := moves{keys: count(keys)}
	got.in, got.out = path("rdma")
	in, out := path("inline")
	t.Logf("by RDMA %.0f bytes in, %.0f out, %.0f keys invalidated; inline %.0f bytes in, %.0f out", got.in, got.out, got.keys, in, out)
	if got.in < want.in || got.out < want.out || got.keys < want.keys {
		t.Errorf("moved by RDMA: %+v, want at least %+v", got, want)
	}
	for _, direction := range []string{"in", "out"} {
		if n := count(fmt.Sprintf(tcp, direction)); n > 10_000 { // NFSv3's MOUNT, and connections that end at once
			t.Errorf("%.0f bytes went %s over TCP", n, direction)
		}
	}
}
