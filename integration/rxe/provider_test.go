package rxe

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
	_ "fileserver/rdma/rdmatest" // so that go test does not use a cached result when the program built below changes
	_ "fileserver/rdma/verbs"
)

//go:embed scripts/provider.sh
var providerScript string

// mustPass are the tests that need a device. The suite must have at least suiteTests
// tests, too.
var mustPass = []string{"TestSuite", "TestAllocations", "TestRemoval", "TestIdleRemoval", "TestListenRemoval", "TestListFailure", "TestDisconnectSends", "TestFlushAll"}

const suiteTests = 2 * 34

var (
	verdict = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+)`)
	cost    = regexp.MustCompile(`(?m)^Benchmark\S+\s.* ns/.*$`)
)

// TestProvider runs the tests of rdma/verbs that need a device on the kernel's rxe and
// siw. Among them are the suite for all providers and the removal of the device under
// load. It logs the cost of a work request.
func TestProvider(t *testing.T) {
	if testing.Short() {
		t.Skip("-short skips the guest tests")
	}
	bin := providerTests(t)
	for _, kind := range []string{"rxe", "siw"} {
		t.Run(kind, func(t *testing.T) {
			host := guest.ForTest(t)
			g := host.BootForTest(t, guest.Config{Script: providerScript, Args: []string{kind, bin}, MemMiB: 3072})
			out := strings.ReplaceAll(g.Check(workload.Within(t, 5*time.Minute), t).Output, "\r", "")
			got := map[string]string{}
			suite := 0
			for _, m := range verdict.FindAllStringSubmatch(out, -1) {
				if got[m[2]] != "FAIL" { // each test runs twice
					got[m[2]] = m[1]
				}
				if strings.HasPrefix(m[2], "TestSuite/") && m[1] == "PASS" {
					suite++
				}
			}
			for name, v := range got {
				t.Run(name, func(t *testing.T) {
					if v != "PASS" {
						t.Errorf("%s failed in the guest; see the output above", v)
					}
				})
			}
			for _, name := range mustPass {
				if got[name] == "" {
					t.Errorf("%s did not run to its end", name)
				}
			}
			if suite < suiteTests {
				t.Errorf("%d tests of the suite passed, want at least %d", suite, suiteTests)
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
			for _, line := range cost.FindAllString(out, -1) {
				t.Log(line)
			}
		})
	}
}

// providerTests builds the test binary of rdma/verbs with the provider and returns its path.
func providerTests(t *testing.T) string {
	t.Helper()
	const install = "as root type: apt-get install -y gcc libibverbs-dev librdmacm-dev rdma-core ibverbs-providers"
	for _, header := range []string{"infiniband/verbs.h", "rdma/rdma_cma.h"} {
		if _, err := os.Stat("/usr/include/" + header); err != nil {
			t.Fatalf("%v: %s", err, install)
		}
	}
	if _, err := exec.LookPath("rdma"); err != nil {
		t.Fatalf("%v: as root type: apt-get install -y iproute2", err)
	}
	bin := filepath.Join(t.TempDir(), "verbs.test")
	cmd := exec.Command("go", "test", "-c", "-tags", "rdmacore", "-o", bin, "fileserver/rdma/verbs")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, install, out)
	}
	return bin
}
