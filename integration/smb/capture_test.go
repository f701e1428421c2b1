package smb

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
)

// TestCapture lets tshark decode the traffic of a mount, a write and a read: iWARP, SMB Direct and SMB2. No frame may be malformed,
// every FPDU's CRC must be right, and the responses must invalidate the client's memory.
func TestCapture(t *testing.T) {
	workload.NeedTshark(t)
	ctx := workload.Within(t, 3*time.Minute)
	r := newRig(ctx, t)
	r.mount.MTU = "1500"
	pcap := filepath.Join(r.Out, "pcap")
	r.boot(t, "capture", guest.Config{Pcap: pcap}).Check(ctx, t)

	// tshark takes port 5445 for another protocol's. And tshark 4.0 decodes the server's side of SPNEGO, which contains hints, only on port 445.
	frames := workload.Tshark(ctx, t, pcap, "-o", "tcp.try_heuristic_first:TRUE", "--disable-protocol", "spnego", "-T", "fields", "-E", "separator=;", "-E", "occurrence=a",
		"-e", "frame.protocols", "-e", "_ws.malformed", "-e", "iwarp_mpa.crc_check", "-e", "iwarp_mpa.bad_length",
		"-e", "iwarp_rdma.opcode", "-e", "smb2.cmd", "-e", "frame.number")
	smb2, commands, opcodes := 0, map[string]int{}, map[string]int{}
	for _, frame := range frames {
		f := strings.Split(frame, ";")
		if len(f) != 7 || f[1] != "" || strings.Contains(strings.ToLower(f[2]), "bad") || f[3] != "" {
			t.Errorf("frame %s", frame)
			continue
		}
		if strings.Contains(f[0], "iwarp_ddp_rdmap:smb_direct:smb2") {
			smb2++
		}
		for _, op := range strings.Split(f[4], ",") {
			opcodes[op]++
		}
		for _, cmd := range strings.Split(f[5], ",") {
			commands[cmd]++
		}
	}
	t.Logf("%d frames, %d of SMB2; commands %v; opcodes of RDMAP %v", len(frames), smb2, commands, opcodes)
	if smb2 < 50 {
		t.Errorf("%d frames decoded as SMB2", smb2)
	}
	for _, cmd := range []string{"0", "1", "3", "5", "6", "8", "9", "14", "16"} { // NEGOTIATE to QUERY_INFO: the commands of a mount and a copy
		if commands[cmd] < 2 {
			t.Errorf("command %s has no request or no response", cmd)
		}
	}
	for name, op := range map[string]string{"WRITE": "0x00", "READ": "0x01", "SEND with invalidate": "0x04"} { // RFC 5040 4.3
		if opcodes[op] == 0 {
			t.Errorf("no RDMAP %s", name)
		}
	}
	workload.KeepCapture(t, pcap, "smb")
}
