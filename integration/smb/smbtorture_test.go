package smb

import (
	"encoding/csv"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fileserver/integration/workload"
)

// tortureSuites are the suites of Samba's smbtorture that the test runs, all below smb2. Each has its own server.
var tortureSuites = []string{
	"connect", "read", "rw", "compound", "compound_find", "credits", "dir", "mkdir", "maxfid", "tcon", "session-id", "getinfo", "streams", "fileid",
	"session", "session-require-signing", "multichannel", "notify", "rename", "compound_async", "lock",
	"timestamps",
}

// tortureConfig holds the settings of the section smb that a suite needs, by suite.
var tortureConfig = map[string]string{
	"session":                 ", guest: " + second, // some of its tests authenticate without a name
	"session-require-signing": ", signing: required",
}

// tortureFile lists the result of each test: green, xfail (it fails, for the reason given), or skip (the test decides that it does not
// apply).
const tortureFile = "testdata/smbtorture.csv"

// tortureResult matches the line at a test's end. The reason follows if the test did not succeed.
var tortureResult = regexp.MustCompile(`(?m)^(success|failure|error|skip): (\S+)(?: \[\n(.*))?`)

// TestSmbtorture runs Samba's own tests over TCP and compares their results with tortureFile. A test that is listed as xfail must
// fail: a change that makes it succeed must change its line to green.
func TestSmbtorture(t *testing.T) {
	if testing.Short() {
		t.Skip("-short skips the tests with real clients")
	}
	torture, err := exec.LookPath("smbtorture")
	if err != nil {
		t.Fatalf("%v: it is in Debian's package samba-testsuite; `make packages` installs it", err)
	}
	want := tortureTable(t)
	ctx := workload.Within(t, 10*time.Minute)
	for _, suite := range tortureSuites {
		t.Run(suite, func(t *testing.T) {
			t.Parallel() // notify.mask mostly sleeps
			l := newLocalWith(ctx, t, tortureConfig[suite])
			cmd := exec.CommandContext(ctx, torture, "--configfile=/dev/null", "-p", l.Port, "-U", User+"%"+Password,
				"--option=torture:cn_max_buffer_size=8388608", // the server's MaxTransactSize, which smbtorture does not read from NEGOTIATE
				"--option=torture:user2name="+second, "--option=torture:user2password="+Password, "//127.0.0.1/data", "smb2."+suite)
			cmd.Dir = t.TempDir()
			cmd.WaitDelay = time.Second
			out, err := cmd.CombinedOutput() // the exit status says only that some test failed
			seen := map[string]bool{}
			for _, m := range tortureResult.FindAllStringSubmatch(string(out), -1) {
				name, got := suite+"."+m[2], map[string]string{"success": "green", "failure": "xfail", "error": "xfail", "skip": "skip"}[m[1]]
				seen[name] = true
				switch w, ok := want[name]; {
				case !ok:
					t.Errorf("%s is %s, but not listed in %s: %s", name, got, tortureFile, m[3])
				case w != got:
					t.Errorf("%s is %s, but listed as %s in %s: %s", name, got, w, tortureFile, m[3])
				}
			}
			if len(seen) == 0 {
				t.Errorf("no test ran: %v", err)
			}
			for name := range want {
				if strings.HasPrefix(name, suite+".") && !seen[name] {
					t.Errorf("%s has not ended: %v", name, err)
				}
			}
			if t.Failed() {
				t.Logf("smbtorture:\n%s", out)
			}
		})
	}
}

// tortureTable reads tortureFile. It returns the expected result by suite.test.
func tortureTable(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open(tortureFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = 3
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]string{}
	for _, row := range rows {
		name, state, reason := row[0], row[1], row[2]
		suite, _, _ := strings.Cut(name, ".")
		_, twice := table[name]
		switch {
		case twice, !slices.Contains(tortureSuites, suite), !slices.Contains([]string{"green", "xfail", "skip"}, state), (state == "green") != (reason == ""):
			t.Errorf("%s: %q must name a test of a known suite once, with green, xfail or skip, and a reason unless it is green", tortureFile, row)
		}
		table[name] = state
	}
	return table
}
