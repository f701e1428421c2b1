package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fileserver": main})
}

// TestScripts runs the scripts in testdata/script: the command line as users meet it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("FILESERVER_STATE_DIR", filepath.Join(env.WorkDir, "state", "fileserver"))
			env.Setenv("FILESERVER_NFS_PORT", "0")
			env.Setenv("FILESERVER_NFS_RDMA_PORT", "0")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"waitfor": waitFor, "signal": sendSignal, "hold": hold, "find": find},
	})
}

// waitFor waits until a file contains a regular expression: waitfor FILE REGEXP.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE REGEXP")
	}
	re := regexp.MustCompile(args[1])
	var text []byte
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if text, _ = os.ReadFile(ts.MkAbs(args[0])); re.Match(text) {
			return
		}
	}
	ts.Fatalf("%q does not appear in %s:\n%s", args[1], args[0], text)
}

// find sets a variable to what a regular expression finds in a file: find VAR FILE REGEXP.
func find(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: find VAR FILE REGEXP")
	}
	m := regexp.MustCompile(args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(m) != 2 {
		ts.Fatalf("%q finds nothing", args[2])
	}
	ts.Setenv(args[0], m[1])
}

// sendSignal signals the process whose ID is in a file: signal HUP|INT|TERM FILE.
func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM}
	if neg || len(args) != 2 || signals[args[0]] == 0 {
		ts.Fatalf("usage: signal HUP|INT|TERM FILE")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[1])))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, signals[args[0]]))
}

// hold connects to the metrics' address, which a regular expression finds in a file,
// and sends a request that does not end: hold FILE REGEXP.
func hold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hold FILE REGEXP")
	}
	addr := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile(args[0]))
	if len(addr) != 2 {
		ts.Fatalf("%q does not find an address", args[1])
	}
	c, err := net.Dial("tcp", addr[1])
	ts.Check(err)
	ts.Defer(func() { c.Close() })
	_, err = c.Write([]byte("GET /healthz HTTP/1.1\r\n"))
	ts.Check(err)
	// Connections are accepted in order: when this one is answered, the other is the server's.
	resp, err := http.Get("http://" + addr[1] + "/healthz")
	ts.Check(err)
	ts.Check(resp.Body.Close())
}
