package nfs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fileserver/integration/guest"
)

// programs builds what the tests run, once: nfswork, which the guest finds under the same path, and the server.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "nfs-")
	if err != nil {
		return "", err
	}
	if err := build(dir, "./cmd/nfswork"); err != nil || knfsd() {
		return dir, err
	}
	return dir, build(dir, "fileserver/cmd/fileserver")
})

// build puts a program into dir; static, because the guest may have another C library.
func build(dir, pkg string) error {
	args := []string{"build", "-o", dir + "/"}
	env := append(os.Environ(), "CGO_ENABLED=0")
	if os.Getenv("FILESERVER_GUEST_RACE") != "" && pkg != "./cmd/nfswork" {
		args, env = append(args, "-race"), os.Environ()
	}
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// knfsd reports whether the workloads run against the kernel's own server, to compare: FILESERVER_GUEST_SERVER=knfsd.
func knfsd() bool { return os.Getenv("FILESERVER_GUEST_SERVER") == "knfsd" }

func TestMain(m *testing.M) {
	status := m.Run()
	if dir, err := programs(); err == nil && dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

// rig is a server with an empty share, ready for guests.
type rig struct {
	host   *guest.Host
	server *guest.Process // nil for the kernel's
	dir    string         // what is shared; not for the kernel's
	out    string         // the clients' /out
	mount  Mount
}

// newRig starts a server for one test.
func newRig(ctx context.Context, t *testing.T, vers string) *rig {
	t.Helper()
	r := &rig{host: guest.ForTest(t), out: t.TempDir()}
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	r.mount = Mount{
		Server: r.host.Addr(), Export: "/data", Vers: vers, Proto: "rdma", MountPort: 2049,
		Work: filepath.Join(bin, "nfswork"),
	}
	if p := os.Getenv("FILESERVER_GUEST_PROTO"); p != "" {
		r.mount.Proto = p
	}
	if knfsd() {
		r.serveKernel(ctx, t)
		return r
	}
	r.dir = shareDir(t)
	if err := os.Chmod(r.dir, os.ModeSticky|0o777); err != nil { // root is squashed
		t.Fatal(err)
	}
	r.server, err = r.host.Start(os.Environ(), filepath.Join(bin, "fileserver"), "serve", "--share", "data="+r.dir,
		"--listen", r.host.Listen(), "--allow", r.host.Clients(), "--state-dir", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.stop(t) })
	if err := r.host.WaitTCP(ctx, r.server, "2049"); err != nil {
		t.Fatalf("%v\n%s", err, r.server.Output())
	}
	return r
}

// shareDir makes an empty directory to share: in FILESERVER_GUEST_SHARE, which may be on a file system of interest, or among the
// temporary files.
func shareDir(t *testing.T) string {
	t.Helper()
	parent := os.Getenv("FILESERVER_GUEST_SHARE")
	if parent == "" {
		parent = t.TempDir()
	}
	dir, err := os.MkdirTemp(parent, "share-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serverFault matches what a server must never print.
var serverFault = regexp.MustCompile(`(?m)^panic:|^fatal error:|WARNING: DATA RACE|runtime error|^goroutine \d+ \[`)

// stop ends the server as an administrator would, and tells what it said when the test has failed.
func (r *rig) stop(t *testing.T) {
	select {
	case <-r.server.Done():
		t.Errorf("the server ended by itself")
	default:
		if err := r.server.Stop(syscall.SIGTERM, 15*time.Second); err != nil {
			t.Errorf("the server's graceful stop: %v", err)
		}
	}
	out := r.server.Output()
	if serverFault.MatchString(out) {
		t.Error("the server failed")
	}
	if t.Failed() {
		lines := strings.SplitAfter(out, "\n")
		t.Logf("the server's last words:\n%s", strings.Join(lines[max(0, len(lines)-100):], ""))
	}
}

// serveKernel boots a guest with the kernel's server.
func (r *rig) serveKernel(ctx context.Context, t *testing.T) {
	t.Helper()
	if r.host.Kind() != guest.UML {
		t.Fatal("the kernel's server to compare with needs User Mode Linux")
	}
	script, err := scripts.ReadFile("scripts/knfsd.sh")
	if err != nil {
		t.Fatal(err)
	}
	g := r.host.BootForTest(t, guest.Config{Script: string(script), MemMiB: 4096})
	if _, err := g.Mark(ctx, "serving"); err != nil {
		res, _ := g.Wait(ctx)
		t.Fatalf("%v\n%s", err, res.Output)
	}
	r.mount.Server, r.mount.MountPort = "198.18.1.2", 2050
	if r.mount.Vers != "3" {
		r.mount.Export = "/" // its pseudo file system would need a root that can be exported
	}
}

// boot starts a client that runs a workload.
func (r *rig) boot(t *testing.T, workload string, cfg guest.Config) *guest.Guest {
	t.Helper()
	script, err := Script(workload)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Script, cfg.Env, cfg.Out = script, r.mount.Env(), r.out
	return r.host.BootForTest(t, cfg)
}
