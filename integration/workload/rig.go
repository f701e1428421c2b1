package workload

import (
	"context"
	"fmt"
	"io/fs"
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

// Packages for [Build].
const (
	Work   = "fileserver/integration/workload/cmd/work"
	Server = "fileserver/cmd/fileserver"
)

// Build compiles programs into a new directory, which the caller removes and guests also see. They are static, because a guest may
// have another C library, except a server with the race detector.
func Build(packages ...string) (dir string, err error) { return build(false, packages) }

// build compiles the server with the provider for RDMA devices, or without.
func build(rdmacore bool, packages []string) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "fileserver-"); err != nil {
		return "", err
	}
	for _, pkg := range packages {
		args, env := []string{"build", "-o", dir + "/"}, append(os.Environ(), "CGO_ENABLED=0")
		if rdmacore && pkg == Server {
			args, env = append(args, "-tags", "rdmacore netgo osusergo"), append(os.Environ(), "CGO_ENABLED=1")
		}
		if os.Getenv("FILESERVER_GUEST_RACE") != "" && pkg == Server {
			args, env = append(args, "-race"), append(os.Environ(), "CGO_ENABLED=1")
		}
		cmd := exec.Command("go", append(args, pkg)...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
		}
	}
	return dir, nil
}

// Programs are compiled when a test first calls Dir.
type Programs struct {
	Packages []string
	RDMACore bool // build the server with the provider for RDMA devices, which needs the headers of libibverbs and librdmacm

	once sync.Once
	dir  string
	err  error
}

// Dir returns the directory of the programs ([Build]).
func (p *Programs) Dir() (string, error) {
	p.once.Do(func() { p.dir, p.err = build(p.RDMACore, p.Packages) })
	return p.dir, p.err
}

// Remove removes the programs, if they were compiled. TestMain calls it at its end.
func (p *Programs) Remove() {
	if p.dir != "" {
		os.RemoveAll(p.dir)
	}
}

// Within returns a context that ends a test that hangs. d should be ten times what the test takes under User Mode Linux on an idle
// machine. Emulation gets more time.
func Within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	if kind, err := guest.ParseKind(os.Getenv("FILESERVER_GUEST_KIND")); err == nil && kind == guest.QEMU {
		d *= 20
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Proto returns the transport of the mounts: FILESERVER_GUEST_PROTO, or rdma.
func Proto() string {
	if p := os.Getenv("FILESERVER_GUEST_PROTO"); p != "" {
		return p
	}
	return "rdma"
}

// Rig is a host for guests and, once served, a server with an empty share.
type Rig struct {
	Host   *guest.Host
	Server *guest.Process // nil if the server is in a guest
	Inside *Inside        // a server in a guest
	Dir    string         // the share's directory; empty if the server is in a guest
	Out    string         // the clients' /out
	Others bool           // Server is another project's, and its exit status is not checked
}

// NewRig returns a host without a server.
func NewRig(t testing.TB) *Rig {
	t.Helper()
	return &Rig{Host: guest.ForTest(t), Out: t.TempDir()}
}

// Share creates an empty directory to share, writable by all. It is in FILESERVER_GUEST_SHARE, to choose the file system, or else among
// the temporary files.
func (r *Rig) Share(t testing.TB) {
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
	if err := os.Chmod(dir, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	r.Dir = dir
}

// Serve starts a server and waits until it listens on a port. The end of the test stops it.
func (r *Rig) Serve(ctx context.Context, t testing.TB, port string, argv ...string) {
	t.Helper()
	p, err := r.Host.Start(os.Environ(), argv...)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = p
	t.Cleanup(func() { r.stop(t) })
	if err := r.Host.WaitTCP(ctx, p, port); err != nil {
		t.Fatalf("%v\n%s", err, p.Output())
	}
}

// serverFault matches what a server must never print.
var serverFault = regexp.MustCompile(`(?m)^panic:|^fatal error:|WARNING: DATA RACE|runtime error|^goroutine \d+ \[`)

// stop ends the server with SIGTERM, as an administrator does, and checks its log.
func (r *Rig) stop(t testing.TB) {
	select {
	case <-r.Server.Done():
		t.Errorf("the server ended by itself")
	default:
		if err := r.Server.Stop(syscall.SIGTERM, time.Minute); err != nil && !r.Others {
			t.Errorf("the server's graceful stop: %v", err)
		}
	}
	r.checkLog(t, r.Server.Output())
}

// checkLog looks for failures in a server's output, and logs the end of the output if the test has failed.
func (r *Rig) checkLog(t testing.TB, out string) {
	if serverFault.MatchString(out) {
		t.Error("the server failed")
	}
	if t.Failed() {
		lines := strings.SplitAfter(out, "\n")
		t.Logf("the end of the server's log:\n%s", strings.Join(lines[max(0, len(lines)-100):], ""))
	}
}

// Boot starts a client that runs a workload. env is the environment of the protocol's scripts.
func (r *Rig) Boot(t testing.TB, own fs.FS, workload string, env []string, cfg guest.Config) *guest.Guest {
	t.Helper()
	script, err := Script(own, workload)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Script, cfg.Env, cfg.Out = script, append(cfg.Env, env...), r.Out
	if r.Inside != nil {
		r.Inside.add(&cfg)
	}
	g := r.Host.BootForTest(t, cfg)
	if r.Inside != nil && r.Inside.Place == Same {
		r.Inside.guest = g
	}
	return g
}

// SameTree compares the Go source tree, or a part of it, with its copy in the share on the server's side.
func (r *Rig) SameTree(t testing.TB, part string) {
	t.Helper()
	src := filepath.Join("/usr/local/go/src", part)
	files := 0
	err := filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(r.Dir, "src", rel))
		if err != nil {
			return err
		}
		if string(got) != string(want) {
			t.Errorf("%s differs", rel)
		}
		files++
		return nil
	})
	if err != nil || files < 1000 {
		t.Errorf("%d files compared, %v", files, err)
	}
}
