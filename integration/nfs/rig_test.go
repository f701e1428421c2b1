package nfs

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
)

// programs builds the programs that the tests run, once: the server, and work, which has the same path in the guest.
var programs = workload.Programs{Packages: []string{workload.Work, workload.Server}}

// knfsd reports whether the workloads run against the kernel's server, to compare: FILESERVER_GUEST_SERVER=knfsd.
func knfsd() bool { return os.Getenv("FILESERVER_GUEST_SERVER") == "knfsd" }

func TestMain(m *testing.M) {
	status := m.Run()
	programs.Remove()
	os.Exit(status)
}

// rig is a server with an empty share, and the parameters of its mount.
type rig struct {
	*workload.Rig
	mount Mount
}

// newRig starts a server for one test.
func newRig(ctx context.Context, t *testing.T, vers string) *rig {
	t.Helper()
	r := &rig{Rig: workload.NewRig(t)}
	bin, err := programs.Dir()
	if err != nil {
		t.Fatal(err)
	}
	r.mount = Mount{
		Server: r.Host.Addr(), Export: "/data", Vers: vers, Proto: workload.Proto(), MountPort: 2049,
		Work: filepath.Join(bin, "work"),
	}
	if knfsd() {
		r.serveKernel(ctx, t)
		return r
	}
	r.Share(t) // writable by all, because root is squashed
	r.Serve(ctx, t, "2049", filepath.Join(bin, "fileserver"), "serve", "--share", "data="+r.Dir,
		"--listen", r.Host.Listen(), "--allow", r.Host.Clients(), "--state-dir", t.TempDir())
	return r
}

// serveKernel boots a guest with the kernel's server.
func (r *rig) serveKernel(ctx context.Context, t *testing.T) {
	t.Helper()
	if r.Host.Kind() != guest.UML {
		t.Fatal("FILESERVER_GUEST_SERVER=knfsd needs User Mode Linux, which needs root")
	}
	script, err := scripts.ReadFile("scripts/knfsd.sh")
	if err != nil {
		t.Fatal(err)
	}
	g := r.Host.BootForTest(t, guest.Config{Script: string(script), MemMiB: 4096})
	if _, err := g.Mark(ctx, "serving"); err != nil {
		res, _ := g.Wait(ctx)
		t.Fatalf("%v\n%s", err, res.Output)
	}
	r.mount.Server, r.mount.MountPort = "198.18.1.2", 2050
	if r.mount.Vers != "3" {
		r.mount.Export = "/" // knfsd's pseudo file system would need a root that can be exported
	}
}

// boot starts a client that runs a workload.
func (r *rig) boot(t *testing.T, name string, cfg guest.Config) *guest.Guest {
	t.Helper()
	return r.Boot(t, scripts, name, r.mount.Env(), cfg)
}
