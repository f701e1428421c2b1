package servers

import (
	"context"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fileserver/integration/debian"
	"fileserver/integration/guest"
	"fileserver/integration/workload"
	"fileserver/internal/app/bench"
)

//go:embed scripts/bench.sh
var benchScript string

// build builds the program and returns its path.
func build(ctx context.Context, t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "fileserver")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, "fileserver/cmd/fileserver")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// TestBench runs `fileserver bench` against the kernel's servers. It also verifies their data.
func TestBench(t *testing.T) {
	host := guest.ForTest(t)
	for _, name := range []string{"rpc.nfsd", "rpc.mountd", "exportfs", "rpcbind"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%v: as root type: apt-get install -y $(cat integration/servers/packages.txt)", err)
		}
	}
	ctx := workload.Within(t, 4*time.Minute)
	tree, err := debian.Tree(ctx, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	g := host.BootForTest(t, guest.Config{Script: benchScript, Env: []string{"FILESERVER=" + build(ctx, t), "DEBIAN=" + tree}})
	out := g.Check(ctx, t).Output
	runs := regexp.MustCompile(`(?s)begin ([^\n]+)\n(.*?)end `).FindAllStringSubmatch(out, -1)
	if len(runs) != 15 || !strings.Contains(out, "left: \n") {
		t.Errorf("%d runs, or files are left over:\n%s", len(runs), out)
	}
	for _, r := range runs {
		var res bench.Result
		if err := json.Unmarshal([]byte(r[2]), &res); err != nil {
			t.Errorf("%s: %v\n%s", r[1], err, r[2])
			continue
		}
		whole := res.Size * int64(res.Jobs)
		byRDMA := strings.HasSuffix(r[1], "iwarp") || strings.HasSuffix(r[1], "invalidate")
		byRDMA = byRDMA && res.Agreed.Signing == "" && res.Agreed.Cipher == ""
		if res.Errors != 0 || res.Total.Bytes != whole || res.VerifiedBytes < whole || (res.RDMABytes == whole) != byRDMA {
			t.Errorf("%s: %+v", r[1], res)
		}
		t.Logf("%s: %.0f MB/s, p99 %.0f µs", r[1], res.Total.MBps, res.Read.Latency.P99)
	}
}
