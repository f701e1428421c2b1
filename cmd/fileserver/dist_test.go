package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fileserver/config"
)

const dist = "../../dist"

// TestDistConfiguration loads the configuration that is shipped, with directories that exist.
func TestDistConfiguration(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(dist, "fileserver.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, sub := range []string{"data", "archive"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "fileserver.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "/srv/", dir+"/")), 0o600); err != nil {
		t.Fatal(err)
	}
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	config.AddFlags(fs)
	if err := fs.Parse([]string{"--config", file, "--state-dir", filepath.Join(dir, "state")}); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(fs)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Warnings) > 0 {
		t.Errorf("warnings: %q", cfg.Warnings)
	}
	var names []string
	for _, s := range cfg.Shares {
		names = append(names, s.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"archive", "data"}) {
		t.Errorf("shares %v", names)
	}
}

// TestDistUnit runs the command lines of the unit file as far as flags and commands go,
// and compares its limits with the server's.
func TestDistUnit(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(dist, "fileserver.service"))
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]*cobra.Command{"serve": serveCommand(), "check-config": checkCommand()}
	lines := regexp.MustCompile(`(?m)^(ExecStart(?:Pre)?)=/usr/local/bin/fileserver (\S+) (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(lines) != 2 {
		t.Fatalf("%d command lines, want ExecStartPre and ExecStart", len(lines))
	}
	for _, l := range lines {
		c := commands[l[2]]
		if c == nil {
			t.Errorf("%s: there is no command %q", l[1], l[2])
			continue
		}
		if err := c.ParseFlags(strings.Fields(l[3])); err != nil {
			t.Errorf("%s: %v", l[1], err)
		}
		if file, _ := c.Flags().GetString("config"); file != "/etc/fileserver.yaml" {
			t.Errorf("%s reads %q", l[1], file)
		}
	}
	// systemd must not kill the server before it gives up by itself.
	m := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("no TimeoutStopSec")
	}
	var unit pflag.FlagSet
	d := unit.Duration("d", 0, "")
	if err := unit.Set("d", m[1]+"s"); err != nil || *d <= stopTime {
		t.Errorf("TimeoutStopSec=%s is not more than %v, which the server takes to stop (%v)", m[1], stopTime, err)
	}
}
