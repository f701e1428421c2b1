package nfs

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
)

var versions = []string{"3", "4.1", "4.2"}

// within returns a context for a test that should take much less time than d under User Mode Linux; emulation gets more.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	if kind, err := guest.ParseKind(os.Getenv("FILESERVER_GUEST_KIND")); err == nil && kind == guest.QEMU {
		d *= 20
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// TestWorkloads runs what users do, in every version, on a mount whose transport the script asserts.
func TestWorkloads(t *testing.T) {
	workloads := []struct {
		name  string
		mtu   string                     // Ethernet's where every length meets the edges of FPDUs
		after func(t *testing.T, r *rig) // looks at the share from the server's side
	}{
		{name: "files"},
		{name: "owners"},
		{name: "small"},
		{name: "lengths", mtu: "1500"},
		{name: "mmap"},
		{name: "locks"},
		{name: "fio"},
		{name: "git"},
		{name: "tree", after: sameTree},
	}
	for _, vers := range versions {
		for _, w := range workloads {
			t.Run(vers+"/"+w.name, func(t *testing.T) {
				if w.name == "owners" && os.Geteuid() != 0 {
					t.Skip("only a server that is root can give files to their owners")
				}
				ctx := within(t, 6*time.Minute)
				r := newRig(ctx, t, vers)
				r.mount.MTU = w.mtu
				res := r.boot(t, w.name, guest.Config{}).Check(ctx, t)
				t.Logf("%v; %s", res.Took.Round(time.Millisecond), strings.ReplaceAll(strings.TrimSpace(res.Output), "\n", "; "))
				if w.after != nil && r.dir != "" && !t.Failed() {
					w.after(t, r)
				}
			})
		}
	}
}

// sameTree compares the Go source tree with its copy in the share, as the server's machine sees it.
func sameTree(t *testing.T, r *rig) {
	const src = "/usr/local/go/src"
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
		got, err := os.ReadFile(filepath.Join(r.dir, "src", rel))
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
