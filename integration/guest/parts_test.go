package guest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKernelLog parses records of /dev/kmsg.
func TestKernelLog(t *testing.T) {
	log := parseKernelLog("6,1,0,-;Linux version 7.2\n SUBSYSTEM=x\n4,2,90000,-;WARNING: of the boot\n" +
		"4,3,400000,-;guest ready\n6,4,1500000,-;siw: connected; well\n6,5,1600000,-;other\nbroken\n4,6,x,-;broken\n6,7,1700000")
	if len(log) != 5 || log[0] != "[   0.000000] Linux version 7.2" || log[3] != "[   1.500000] siw: connected; well" {
		t.Errorf("%q", []string(log))
	}
	if c := log.Complaints(); c != "" {
		t.Errorf("a warning of the boot is a complaint: %s", c)
	}
	if got := log.Transport(); got != log[3] {
		t.Errorf("transport: %q", got)
	}
	log = append(log, "[   2.000000] BUG: unable to handle page fault")
	if c := log.Complaints(); !strings.HasSuffix(c, "page fault") {
		t.Errorf("complaint: %q", c)
	}
	if c := (KernelLog{"[   0.1] WARNING: no script"}).Complaints(); c == "" {
		t.Error("no complaint from a guest that does not reach its script")
	}
}

// TestArchive lets busybox unpack an archive for the kernel.
func TestArchive(t *testing.T) {
	var a archive
	want := map[string]string{"bin/a": "x", "bin/bc": "", "init": strings.Repeat("long ", 1001)}
	a.add("bin", 0o040755, "")
	for name, text := range want {
		a.add(name, 0o100755, text)
	}
	a.add("TRAILER!!!", 0, "")
	cmd := exec.Command("busybox", "cpio", "-idm")
	cmd.Dir, cmd.Stdin = t.TempDir(), &a.Buffer
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, text := range want {
		path := filepath.Join(cmd.Dir, name)
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o755 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestFindKernel wants the variable's kernel, then the cache's newest, then an error that says what to type.
func TestFindKernel(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("FILESERVER_GUEST_UML", "")
	if _, err := FindKernel(UML); err == nil || !strings.Contains(err.Error(), "go run ./integration/guest/cmd/guestkernel -kind uml") {
		t.Errorf("nothing anywhere: %v", err)
	}
	dir, err := CacheDir()
	if err != nil || os.MkdirAll(dir, 0o755) != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"linux-uml-6.12", "linux-uml-6.9", "bzImage-7.0"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Unix(1000-int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	for kind, want := range map[Kind]string{UML: "linux-uml-6.12", QEMU: "bzImage-7.0"} {
		t.Setenv(kind.env(), "")
		if got, err := FindKernel(kind); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%v in the cache: %s, %v", kind, got, err)
		}
	}
	for value, ok := range map[string]bool{filepath.Join(dir, "bzImage-7.0"): true, "bzImage-7.0": false, filepath.Join(dir, "none"): false} {
		t.Setenv("FILESERVER_GUEST_UML", value)
		if got, err := FindKernel(UML); (err == nil) != ok || ok && got != value {
			t.Errorf("%s: %s, %v", value, got, err)
		}
	}
}

// TestQuote passes every character through the shell.
func TestQuote(t *testing.T) {
	for _, s := range []string{"", "a b", "it's", `$HOME "x" \ ` + "`id` * \n\t;&|"} {
		out, err := exec.Command("busybox", "sh", "-c", "printf %s "+quote(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("%q becomes %q, %v", s, out, err)
		}
	}
}

// TestParseKind wants ParseKind to be the inverse of String.
func TestParseKind(t *testing.T) {
	for _, k := range []Kind{UML, QEMU} {
		if got, err := ParseKind(k.String()); err != nil || got != k {
			t.Errorf("%v: %v, %v", k, got, err)
		}
	}
	if got, err := ParseKind(""); err != nil || got != DefaultKind() {
		t.Errorf("default: %v, %v", got, err)
	}
	if _, err := ParseKind("kvm"); err == nil {
		t.Error("an unknown kind was accepted")
	}
}
