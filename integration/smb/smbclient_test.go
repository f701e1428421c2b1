package smb

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fileserver/integration/workload"
)

// sambaProgram returns the path of one of Samba's programs.
func sambaProgram(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short skips the tests with real clients")
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v: as root type: make packages", err)
	}
	return path
}

// TestSmbclient runs smbclient's usual commands against one server, in all dialects, signed and encrypted.
func TestSmbclient(t *testing.T) {
	smbclient := sambaProgram(t, "smbclient")
	ctx := workload.Within(t, 4*time.Minute)
	l := newLocal(ctx, t)
	here := t.TempDir()
	data := make([]byte, 3<<20+1)
	workload.Fill(data, 1, 0)
	tree := map[string][]byte{"tree/empty": nil, "tree/small file": data[:100], "tree/sub/deep/Ünïcode €": data[:70000], "data": data}
	for name, d := range tree {
		path := filepath.Join(here, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, d, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// use runs commands in a session and returns smbclient's output.
	use := func(t *testing.T, dir string, args []string, commands ...string) string {
		t.Helper()
		args = append([]string{"--configfile=/dev/null", "-p", l.Port, "-U", User + "%" + Password, "//127.0.0.1/data",
			"-c", strings.Join(commands, "; ")}, args...)
		cmd := exec.CommandContext(ctx, smbclient, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C.UTF-8")
		out, err := cmd.CombinedOutput()
		if err != nil || bytes.Contains(out, []byte("NT_STATUS")) {
			t.Errorf("smbclient %q: %v\n%s", commands, err, out)
		}
		return string(out)
	}
	for _, dialect := range []string{"SMB2_02", "SMB2_10", "SMB3_00", "SMB3_02", "SMB3_11"} {
		for _, protection := range []string{"off", "sign", "encrypt"} {
			if protection == "encrypt" && dialect < "SMB3" {
				continue
			}
			t.Run(dialect+"/"+protection, func(t *testing.T) {
				args := []string{"-m", dialect, "--option=client min protocol=" + dialect, "--client-protection=" + protection}
				there, back := dialect+protection, t.TempDir()
				use(t, here, args, "mkdir "+there, "cd "+there, "put data", "recurse on", "prompt off", "mput tree")
				listing := use(t, back, args, "cd "+there, "ls", "rename data renamed", "recurse on", "ls", "recurse off", "du", "allinfo renamed")
				for _, want := range []string{fmt.Sprintf(`(?m)^  data +A +%d `, len(data)), `(?m)^  tree +D `, `(?m)^  Ünïcode € +A +70000 `, `(?m)^  small file +A +100 `, `create_time: `} {
					if !regexp.MustCompile(want).MatchString(listing) {
						t.Errorf("no %s in\n%s", want, listing)
					}
				}
				use(t, back, args, "cd "+there, "get renamed data", "recurse on", "prompt off", "mget tree")
				for name, d := range tree {
					if got, err := os.ReadFile(filepath.Join(back, name)); err != nil || !bytes.Equal(got, d) {
						t.Errorf("%s came back with %d bytes of %d, or wrong ones: %v", name, len(got), len(d), err)
					}
				}
				if got, err := os.ReadFile(filepath.Join(l.Dir, there, "renamed")); err != nil || !bytes.Equal(got, data) {
					t.Errorf("the server's file has %d bytes, or wrong ones: %v", len(got), err)
				}
				use(t, back, args, "cd "+there, "scopy renamed copied", "del renamed", "del copied", "deltree tree", "cd ..", "rmdir "+there)
				if left, err := os.ReadDir(l.Dir); err != nil || len(left) > 0 {
					t.Errorf("left: %v, %v", left, err)
				}
			})
		}
	}
}

// TestSmbclientRefused wants a wrong password and an unknown share refused. Otherwise the tests above would prove nothing.
func TestSmbclientRefused(t *testing.T) {
	smbclient := sambaProgram(t, "smbclient")
	ctx := workload.Within(t, time.Minute)
	l := newLocal(ctx, t)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"NT_STATUS_LOGON_FAILURE", []string{"-U", User + "%wrong", "//127.0.0.1/data"}},
		{"NT_STATUS_LOGON_FAILURE", []string{"-N", "//127.0.0.1/data"}},
		{"NT_STATUS_BAD_NETWORK_NAME", []string{"-U", User + "%" + Password, "//127.0.0.1/other"}},
	} {
		out, err := exec.CommandContext(ctx, smbclient, append([]string{"--configfile=/dev/null", "-p", l.Port, "-c", "ls"}, c.args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("want %s: %v\n%s", c.want, err, out)
		}
	}
}

// TestSmbget downloads a tree and resumes a partly downloaded file.
func TestSmbget(t *testing.T) {
	smbget := sambaProgram(t, "smbget")
	ctx := workload.Within(t, time.Minute)
	l := newLocal(ctx, t)
	data := make([]byte, 5<<20+3)
	workload.Fill(data, 1, 0)
	for name, n := range map[string]int{"dir/sub/small": 10, "dir/large": len(data)} {
		path := filepath.Join(l.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data[:n], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	get := func(ctx context.Context, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, smbget, append([]string{"--rcfile=/dev/null", "-q", "-U", User + "%" + Password}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	url := "smb://127.0.0.1:" + l.Port + "/data/dir"
	get(ctx, "-R", url)
	check := func(name string, n int) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, data[:n]) {
			t.Errorf("%s has %d bytes of %d, or wrong ones: %v", name, len(got), n, err)
		}
	}
	check("sub/small", 10)
	check("large", len(data))
	if err := os.WriteFile(filepath.Join(dir, "large"), data[:1<<20], 0o644); err != nil {
		t.Fatal(err)
	}
	get(ctx, "-r", url+"/large")
	check("large", len(data))
}
