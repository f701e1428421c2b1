package siw

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"fileserver/integration/guest"
)

//go:embed scripts/tools.sh
var toolsScript string

// programs are built when a test first needs them.
var programs struct {
	sync.Mutex
	dir  string
	made map[string]error
}

func TestMain(m *testing.M) {
	status := m.Run()
	if programs.dir != "" {
		os.RemoveAll(programs.dir)
	}
	os.Exit(status)
}

// build runs go with arguments that make a program, once; tags says with which build tags.
func build(t *testing.T, name, tags string, args ...string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	if programs.dir == "" {
		dir, err := os.MkdirTemp("", "siw-")
		if err != nil {
			t.Fatal(err)
		}
		programs.dir, programs.made = dir, map[string]error{}
	}
	bin := filepath.Join(programs.dir, name)
	err, ok := programs.made[name]
	if !ok {
		args = slices.Insert(slices.Clone(args), 1, "-o", bin, "-tags", tags)
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if tags != "" {
			cmd.Env[len(cmd.Env)-1] = "CGO_ENABLED=1"
		}
		if out, e := cmd.CombinedOutput(); e != nil {
			err = fmt.Errorf("%v\n%s", e, out)
		}
		programs.made[name] = err
	}
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

const peerPackage = "fileserver/integration/siw/peer"

// run is one run of a tool, with its expected result.
type run struct {
	name        string
	tool        []string // arguments, where HOST and PORT are replaced
	peer        []string // likewise
	size, count int
	qps         int  // 0: 1
	telling     bool // run it in every variant
	check       func(t *testing.T, r run, o outcome)
}

// outcome holds the results of the two sides.
type outcome struct {
	text   string
	moved  int64 // bytes that the guest has received
	status int
	peer   map[string]int64 // the fields of peer's last line
}

// server reports whether the tool is the side that listens.
func (r run) server() bool { return strings.HasSuffix(r.name, ".server") }

func (r run) bytes() int64 { return int64(r.size) * int64(r.count) * int64(max(1, r.qps)) }

// needs fails the test if a program is missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Fatalf("%v: as root type: apt-get install -y $(cat integration/siw/packages.txt)", err)
		}
	}
}

// lines returns the runs in the script's format. The first uses port, and each further one the next port.
func lines(runs []run, port int, host, peerHost string) string {
	var b strings.Builder
	for i, r := range runs {
		tool, peer := r.at(port+i, host, peerHost)
		fmt.Fprintf(&b, "%s %d %s | %s\n", r.name, port+i, strings.Join(tool, " "), strings.Join(peer, " "))
	}
	return b.String()
}

// at returns the arguments with the addresses filled in. The tool connects to host.
// The peer listens on peerHost, or connects to it.
func (r run) at(port int, host, peerHost string) (tool, peer []string) {
	fill := func(args []string, host string) []string {
		out := make([]string, len(args))
		for i, a := range args {
			out[i] = strings.NewReplacer("HOST", host, "PORT", strconv.Itoa(port)).Replace(a)
		}
		return out
	}
	return fill(r.tool, host), fill(r.peer, peerHost)
}

var (
	marks = regexp.MustCompile(`(?ms)^=== run (\S+)$\n(.*?)^=== moved (\d+)$\n=== status (\d+)$`)
	said  = regexp.MustCompile(`(?m)^ok (rping|perftest) (.*)$`)
)

// outcomes parses the script's output.
func outcomes(text string) map[string]outcome {
	all := map[string]outcome{}
	for _, m := range marks.FindAllStringSubmatch(strings.ReplaceAll(text, "\r", ""), -1) {
		o := outcome{text: m[2]}
		o.moved, _ = strconv.ParseInt(m[3], 10, 64)
		o.status, _ = strconv.Atoi(m[4])
		o.peer = fields(m[2])
		all[m[1]] = o
	}
	return all
}

// fields returns the fields of peer's line.
func fields(text string) map[string]int64 {
	m := said.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	f := map[string]int64{}
	for _, w := range strings.Fields(m[2]) {
		name, value, _ := strings.Cut(w, "=")
		f[name], _ = strconv.ParseInt(value, 10, 64)
	}
	return f
}

// judge checks the outcome of every run.
func judge(t *testing.T, runs []run, got map[string]outcome) {
	t.Helper()
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			o, ok := got[r.name]
			if !ok {
				t.Fatal("no outcome: the script has not run it")
			}
			if o.status != 0 {
				t.Errorf("the tool's status is %d", o.status)
			}
			if o.peer == nil {
				t.Error("peer has not reported success")
			} else {
				r.check(t, r, o)
			}
			if t.Failed() {
				t.Logf("%s", o.text)
			}
		})
	}
}

// expect compares fields of peer's line.
func (o outcome) expect(t *testing.T, want map[string]int64) {
	t.Helper()
	for name, n := range want {
		if got, ok := o.peer[name]; !ok || got != n {
			t.Errorf("peer says %s=%d, want %d", name, got, n)
		}
	}
}

// row looks for perftest's line with the size and the number of messages.
func (o outcome) row(t *testing.T, r run) {
	t.Helper()
	if !regexp.MustCompile(fmt.Sprintf(`(?m)^ *%d +%d +\S`, r.size, r.count*max(1, r.qps))).MatchString(o.text) {
		t.Errorf("no result for %d times %d bytes", r.count*max(1, r.qps), r.size)
	}
}

// boot runs the script in a guest.
func boot(t *testing.T, h *guest.Host, runs string, args ...string) *guest.Guest {
	t.Helper()
	needs(t, "rping", "ib_send_lat", "ib_send_bw", "ib_read_lat", "ib_read_bw", "ib_write_bw")
	return h.BootForTest(t, guest.Config{Script: toolsScript, Args: args, Files: map[string]string{"runs": runs}})
}
