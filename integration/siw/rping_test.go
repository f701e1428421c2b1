package siw

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
	_ "fileserver/rdma/iwarp" // so that go test does not take an old result for the program built below
)

// rping connects for each size; each round of it is two SENDs, a READ and a WRITE
// each way, compared by the client (-V). 7174 is rping's own port.
const rping = `
dev=vec0; [ -e /sys/class/net/vec0 ] || dev=eth0
rdma link add siw0 type siw netdev $dev || exit 1
for try in 1 2 3; do rping -c -a "$1" -p 7174 -C 1 -S 64 -V >/dev/null 2>&1 && break; sleep 1; done # the link needs a moment
for size in 23 24 25 26 1000 4096 65535; do
  rping -c -a "$1" -p 7174 -C 100 -S $size -V >/tmp/out 2>&1 || { echo "size $size:"; cat /tmp/out; dmesg | tail; exit 1; }
  echo "ok $size"
done
`

// TestRping runs with CRC left to the peer, which wants none, and asked for; with
// FPDUs as the peer takes them, and of one TCP segment.
func TestRping(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves the guest tests out")
	}
	bin := filepath.Join(t.TempDir(), "rpingd")
	build := exec.Command("go", "build", "-o", bin, "fileserver/rdma/iwarp/rpingd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, args := range map[string][]string{"plain": nil, "crc": {"-crc"}, "segments": {"-fpdu", "1448"}, "tiny": {"-crc", "-fpdu", "128"}} {
		t.Run(name, func(t *testing.T) {
			host := guest.ForTest(t)
			if _, err := exec.LookPath("rping"); err != nil {
				t.Fatalf("%v: as root type: apt-get install -y rdmacm-utils", err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			server, err := host.Start(nil, append([]string{bin, "-listen", host.Listen() + ":7174"}, args...)...)
			if err != nil {
				t.Fatal(err)
			}
			if err := host.WaitTCP(ctx, server, "7174"); err != nil {
				t.Fatal(err)
			}
			r := host.BootForTest(t, guest.Config{Script: rping, Args: []string{host.Addr()}}).Check(ctx, t)
			if strings.Count(r.Output, "ok ") != 7 {
				t.Error(r.Output)
			}
		})
	}
}
