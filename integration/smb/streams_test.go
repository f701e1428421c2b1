package smb

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/integration/workload"
)

// TestSmbclientStreams has smbclient, which addresses streams only by name, copy and list streams, and checks the extended attributes
// that hold them.
func TestSmbclientStreams(t *testing.T) {
	smbclient := sambaProgram(t, "smbclient")
	ctx := workload.Within(t, time.Minute)
	l := newLocal(ctx, t)
	here := t.TempDir()
	data := make([]byte, 3000) // ext4 holds at most 4 KiB
	workload.Fill(data, 1, 0)
	for name, d := range map[string][]byte{"data": data, "large": make([]byte, 64<<10), "small": []byte("small")} {
		if err := os.WriteFile(filepath.Join(here, name), d, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	try := func(commands ...string) (string, error) {
		cmd := exec.CommandContext(ctx, smbclient, "--configfile=/dev/null", "-p", l.Port, "-U", User+"%"+Password, "//127.0.0.1/data", "-c", strings.Join(commands, "; "))
		cmd.Dir = here
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	use := func(commands ...string) string {
		t.Helper()
		out, err := try(commands...)
		if err != nil {
			t.Errorf("smbclient %q: %v\n%s", commands, err, out)
		}
		return out
	}
	out := use("mkdir dir", "put small file", `put data "file:Some Stream"`, `put small "file:tiny:$DATA"`, "put small dir:stream", "put small new:stream", "allinfo file", "allinfo dir", "allinfo new")
	for _, want := range []string{"[::$DATA], 5 bytes", "[:Some Stream:$DATA], 3000 bytes", "[:tiny:$DATA], 5 bytes", "[:stream:$DATA], 5 bytes", "[::$DATA], 0 bytes"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	use(`get "FILE:some stream" back`)
	if got, err := os.ReadFile(filepath.Join(here, "back")); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back, or wrong ones: %v", len(got), err)
	}
	if out, err := try("put large file:large"); err == nil || !strings.Contains(out, "NT_STATUS_DISK_FULL") {
		t.Errorf("a stream that is larger than any extended attribute was not refused with NT_STATUS_DISK_FULL:\n%s", out)
	}
	// The format is that of Samba's streams_xattr, so that Samba finds the stream.
	v := make([]byte, 4<<10)
	n, err := unix.Getxattr(filepath.Join(l.Dir, "file"), "user.DosStream.Some Stream:$DATA", v)
	if err != nil || !bytes.Equal(v[:n], slices.Concat(data, []byte{0})) {
		t.Errorf("an extended attribute of %d bytes: %v", n, err)
	}
	if err := unix.Setxattr(filepath.Join(l.Dir, "new"), "user.DosStream.theirs:$DATA", []byte("of Samba\x00"), 0); err != nil {
		t.Fatal(err)
	}
	use("get new:theirs back", "rename new file2", "get file2:Theirs back2")
	for _, name := range []string{"back", "back2"} {
		if got, err := os.ReadFile(filepath.Join(here, name)); err != nil || string(got) != "of Samba" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
