package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// load runs Load with flags, in a directory with a directory srv and a file fileserver.yaml that has the given
// contents (none: no file).
func load(t *testing.T, yaml string, args ...string) (*Config, error) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_STATE_HOME", "/state")
	if err := os.Mkdir("srv", 0o755); err != nil {
		t.Fatal(err)
	}
	if yaml != "" {
		if err := os.WriteFile("fileserver.yaml", []byte(yaml), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config=fileserver.yaml")
	}
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return Load(fs)
}

func mustLoad(t *testing.T, yaml string, args ...string) *Config {
	t.Helper()
	c, err := load(t, yaml, args...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var cmpAddr = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

func TestWithoutFile(t *testing.T) {
	c := mustLoad(t, "", "--share", "data=srv")
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	if want := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}; !slices.Equal(c.Listen, want) {
		t.Errorf("listen %v, want %v", c.Listen, want)
	}
	want := []Share{{Name: "data", Path: c.Shares[0].Path, Allow: loopback, NFS: c.Shares[0].NFS, SMB: ShareSMB{Enabled: true, Oplocks: true, FileMode: 0o644, DirectoryMode: 0o755}}}
	if d := cmp.Diff(want, c.Shares, cmpAddr); d != "" {
		t.Error(d)
	}
	if !filepath.IsAbs(c.Shares[0].Path) || filepath.Base(c.Shares[0].Path) != "srv" {
		t.Errorf("path %q", c.Shares[0].Path)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings %q", c.Warnings)
	}
	if c.NFS.Port != 2049 || c.NFS.RDMAPort != 20049 || c.NFS.Lease != 90*time.Second || c.Limits.Memory != 1<<30 {
		t.Errorf("defaults: %+v %+v", c.NFS, c.Limits)
	}
}

func TestSquashFollowsTheServersUser(t *testing.T) {
	for _, tc := range []struct {
		uid, gid int
		want     ShareNFS
	}{
		{0, 0, ShareNFS{SquashRoot, 65534, 65534, []Security{SecuritySys}}},
		{1000, 100, ShareNFS{SquashAll, 1000, 100, []Security{SecuritySys}}},
	} {
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		AddFlags(fs)
		if err := fs.Parse([]string{"--share", "data=" + t.TempDir()}); err != nil {
			t.Fatal(err)
		}
		t.Setenv("XDG_STATE_HOME", "/state")
		l := newLoader(fs)
		l.uid, l.gid = tc.uid, tc.gid
		c := l.load()
		if len(l.bad) > 0 {
			t.Fatal(l.bad)
		}
		if d := cmp.Diff(tc.want, c.Shares[0].NFS); d != "" {
			t.Error(d)
		}
	}
}

func TestSourcesOverrideEachOther(t *testing.T) {
	const file = `
listen: [10.1.1.1]
allow: [10.0.0.0/8]
nfs: {port: 1111, rdma_port: 1112, lease: 30s, grace: 45s}
log: {level: warn}
shares:
  Data: {path: srv, read_only: true}
  other: {path: srv, allow: 192.168.1.7}
`
	t.Setenv("FILESERVER_NFS_PORT", "2222")
	t.Setenv("FILESERVER_NFS_RDMA_PORT", "2223")
	t.Setenv("FILESERVER_LOG_LEVEL", "error")
	t.Setenv("FILESERVER_SHARE", "env=/usr,more=/bin")
	t.Setenv("FILESERVER_STATE_DIR", "keep")
	c := mustLoad(t, file, "--log-level=debug", "--share=Data=/etc", "--listen=0.0.0.0", "--metrics=127.0.0.1:0")
	got := map[string]string{}
	for _, s := range c.Settings() {
		got[s.Key] = s.Value
	}
	cwd, _ := os.Getwd()
	for key, want := range map[string]string{
		"listen":                "[0.0.0.0]",
		"nfs.port":              "2222",
		"nfs.rdma_port":         "2223",
		"nfs.lease":             "30s",
		"log.level":             "debug",
		"metrics.listen":        "127.0.0.1:0",
		"state_dir":             cwd + "/keep",
		"shares.Data.path":      "/etc",
		"shares.Data.read_only": "true",
		"shares.Data.allow":     "[10.0.0.0/8]",
		"shares.other.allow":    "[192.168.1.7/32]",
		"shares.other.path":     cwd + "/srv",
		"shares.env.path":       "/usr",
		"shares.more.allow":     "[10.0.0.0/8]",
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
}

func TestPathsOfTheFileAreRelativeToIt(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Join(dir, "etc", "srv"), 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "etc", "f.yaml")
	if err := os.WriteFile(name, []byte("shares: {a: {path: srv}}\nstate_dir: ../state\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FILESERVER_CONFIG", name)
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	c, err := Load(fs)
	if err != nil {
		t.Fatal(err)
	}
	if c.Shares[0].Path != dir+"/etc/srv" || c.StateDir != dir+"/state" || c.File != name {
		t.Errorf("path %s, state %s, file %s", c.Shares[0].Path, c.StateDir, c.File)
	}
}

func TestMergeKeysAndAnchors(t *testing.T) {
	c := mustLoad(t, `
shares:
  a: &a {path: srv, allow: [10.0.0.0/8], nfs: {squash: none}}
  b: {<<: *a, read_only: true}
`, "--listen=0.0.0.0")
	if b := c.Shares[1]; !b.ReadOnly || b.NFS.Squash != SquashNone || b.Allow[0].String() != "10.0.0.0/8" {
		t.Errorf("%+v", b)
	}
}

func TestEmptyFile(t *testing.T) {
	for _, text := range []string{"# nothing\n", "---\n", "{}\n"} {
		if c := mustLoad(t, text, "--share=data=srv"); c.File != "fileserver.yaml" {
			t.Errorf("%q: file %q", text, c.File)
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want []string // substrings, one for each warning
	}{
		{"closed", []string{"--listen=0.0.0.0"}, []string{"listening on 0.0.0.0, but nobody except this machine is admitted to data; to admit others type e.g. --allow "}},
		{"unreachable", []string{"--allow=10.0.0.0/8"}, []string{"type e.g. --listen 0.0.0.0"}},
		{"open", []string{"--allow=10.0.0.0/8", "--listen=0.0.0.0"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := mustLoad(t, "", append(tc.args, "--share=data=srv")...)
			if len(c.Warnings) != len(tc.want) {
				t.Fatalf("warnings %q, want %q", c.Warnings, tc.want)
			}
			for i, w := range tc.want {
				if !strings.Contains(c.Warnings[i], w) {
					t.Errorf("warning %q, want %q", c.Warnings[i], w)
				}
			}
		})
	}
	t.Run("variable", func(t *testing.T) {
		t.Setenv("FILESERVER_NFS_PROT", "1")
		t.Setenv("FILESERVER_GUEST_KERNEL", "x")
		c := mustLoad(t, "", "--share=data=srv")
		want := []string{"the environment variable FILESERVER_NFS_PROT has no meaning and is ignored; did you mean FILESERVER_NFS_PORT?"}
		if !slices.Equal(c.Warnings, want) {
			t.Errorf("warnings %q", c.Warnings)
		}
	})
}

func TestChanged(t *testing.T) {
	a := mustLoad(t, "shares: {a: {path: /usr}, b: {path: /usr}}")
	b := mustLoad(t, "shares: {a: {path: /usr, read_only: true}, c: {path: /etc}}\nnfs: {port: 1}\nlog: {level: debug}")
	got := Changed(a, b)
	for _, want := range []string{"shares.a.read_only", "shares.b.path", "shares.c.path", "nfs.port", "log.level"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing in %q", want, got)
		}
		if r := Reloadable(want); r == strings.HasPrefix(want, "nfs") {
			t.Errorf("Reloadable(%s) is %v", want, r)
		}
	}
	if slices.Contains(got, "shares.a.path") || slices.Contains(got, "nfs.rdma_port") {
		t.Errorf("unchanged keys in %q", got)
	}
	if again := Changed(a, a); len(again) > 0 {
		t.Errorf("changed against itself: %q", again)
	}
}
