package nfs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
)

// TestCapture lets tshark decode the traffic of a mount, a write and a read. In the first pass it decodes up to RPC-over-RDMA: no frame
// may be malformed, and every FPDU's CRC must be right. In the second pass it decodes NFS, and the test only looks for the operations,
// because tshark 4.0 calls READ replies malformed: it does not put the data that RDMA WRITEs placed back into the reply.
func TestCapture(t *testing.T) {
	workload.NeedTshark(t)
	for _, vers := range Versions {
		t.Run(vers, func(t *testing.T) {
			ctx := workload.Within(t, 10*time.Minute)
			r := newRig(ctx, t, vers)
			r.mount.MTU = "1500"
			pcap := filepath.Join(r.Out, "pcap")
			r.boot(t, "capture", guest.Config{Pcap: pcap}).Check(ctx, t)

			below := workload.Tshark(ctx, t, pcap, "--disable-protocol", "rpc",
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
			calls := strings.Join(workload.Tshark(ctx, t, pcap, "-Y", "nfs && rpcordma"), "\n")
			for _, want := range []string{"Call", "Reply", "WRITE", "READ", "GETATTR"} {
				if !regexp.MustCompile(`\b` + want + `\b`).MatchString(calls) {
					t.Errorf("no %s among the NFS frames:\n%s", want, calls)
				}
			}
			workload.KeepCapture(t, pcap, vers)
		})
	}
}
