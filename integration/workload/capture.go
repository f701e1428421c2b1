package workload

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Tshark decodes a capture and returns a line for each frame.
func Tshark(ctx context.Context, t testing.TB, pcap string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(ctx, "tshark", append([]string{"-r", pcap, "-n"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// NeedTshark fails the test if tshark is not installed.
func NeedTshark(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short skips the guest tests")
	}
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Fatalf("%v: as root type: apt-get install -y tshark", err)
	}
}

// KeepCapture keeps the capture if the test has failed.
func KeepCapture(t testing.TB, pcap, name string) {
	t.Helper()
	if !t.Failed() {
		return
	}
	if kept := filepath.Join(os.TempDir(), "fileserver-capture-"+name+".pcap"); os.Rename(pcap, kept) == nil {
		t.Logf("the capture is kept in %s", kept)
	}
}
