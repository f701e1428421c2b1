// Package servertest helps tests that run a server: it loads a configuration from text, reads from the log where the server listens, and
// stops the server.
package servertest

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"fileserver/config"
	"fileserver/internal/logbuf"
)

// Config loads a configuration file with the given text; flags override it. In the file's directory there are an empty directory
// "data", which may be shared, and the state directory.
func Config(t testing.TB, yaml string, flags ...string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "fileserver.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.AddFlags(fs)
	if err := fs.Parse(append([]string{"--config", file, "--state-dir", filepath.Join(dir, "state")}, flags...)); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(fs)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// StopAtEnd stops a server when the test ends. The test fails if that fails.
func StopAtEnd(t testing.TB, stop func(context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second) // the test's own is over
		defer cancel()
		if err := stop(ctx); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
}

// Log is a server's log, in the form of text.
type Log struct{ logbuf.Buffer }

// Addr returns the first address that the log names for a service and a transport. If there is none, it ends the test.
func (l *Log) Addr(t testing.TB, service, transport string) netip.AddrPort {
	t.Helper()
	m := regexp.MustCompile(`msg=listening service=` + service + ` transport=` + transport + ` addr=(\S+)`).FindStringSubmatch(l.String())
	if m == nil {
		t.Fatalf("%s does not listen on %s:\n%s", service, transport, l)
	}
	return netip.MustParseAddrPort(m[1])
}
