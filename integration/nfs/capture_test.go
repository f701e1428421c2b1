package nfs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
)

// TestCapture lets tshark decode a mount, a write and a read as they were on the wire. Down to RPC-over-RDMA no frame may be
// malformed, and every FPDU's CRC has to be right. What is above it is decoded a second time: there tshark 4.0 calls READ replies
// malformed, because it does not put the data that RDMA WRITEs placed back into the reply, so that only their presence is looked at.
func TestCapture(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves the guest tests out")
	}
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Fatalf("%v: as root type: apt-get install -y tshark", err)
	}
	for _, vers := range versions {
		t.Run(vers, func(t *testing.T) {
			ctx := within(t, 3*time.Minute)
			r := newRig(ctx, t, vers)
			r.mount.MTU = "1500"
			pcap := filepath.Join(r.out, "pcap")
			r.boot(t, "capture", guest.Config{Pcap: pcap}).Check(ctx, t)

			below := tshark(ctx, t, pcap, "--disable-protocol", "rpc",
				"-T", "fields", "-E", "separator=;", "-e", "frame.protocols", "-e", "_ws.malformed", "-e", "iwarp_mpa.crc_check",
				"-e", "iwarp_mpa.bad_length", "-e", "rpcordma.errcode", "-e", "frame.number")
			seen := 0
			for _, frame := range below {
				if strings.Contains(frame, "rpcordma") {
					seen++
				}
				f := strings.Split(frame, ";")
				if len(f) != 6 || f[1] != "" || strings.Contains(strings.ToLower(f[2]), "bad") || f[3] != "" || f[4] != "" {
					t.Errorf("frame %s", frame)
				}
			}
			if seen < 20 {
				t.Errorf("%d frames decoded as RPC-over-RDMA", seen)
			}
			calls := strings.Join(tshark(ctx, t, pcap, "-Y", "nfs && rpcordma"), "\n")
			for _, want := range []string{"Call", "Reply", "WRITE", "READ", "GETATTR"} {
				if !regexp.MustCompile(`\b` + want + `\b`).MatchString(calls) {
					t.Errorf("no %s among the NFS frames:\n%s", want, calls)
				}
			}
			if t.Failed() {
				if kept := filepath.Join(os.TempDir(), "fileserver-capture-"+vers+".pcap"); os.Rename(pcap, kept) == nil {
					t.Logf("the capture is kept in %s", kept)
				}
			}
		})
	}
}

// tshark decodes a capture; it returns a line per frame.
func tshark(ctx context.Context, t *testing.T, pcap string, args ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(ctx, "tshark", append([]string{"-r", pcap, "-n"}, args...)...).Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
