package config

import (
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"pgregory.net/rapid"
)

// TestParsers: good values are accepted, and errors about bad values say what to write instead.
func TestParsers(t *testing.T) {
	parsers := map[string]parser{
		"duration": parseDuration, "size": parseSize, "level": parseLevel, "bool": parseBool,
		"port": parsePort, "id": parseID, "count": parseCount, "version": oneOf(Version3, Version41, Version42),
	}
	for _, tc := range []struct {
		kind, text string
		want       any
		words      string // of the error
	}{
		{"duration", "90s", 90 * time.Second, ""},
		{"duration", "90", nil, "write 90s"},
		{"duration", "soon", nil, "write e.g. 90s"},
		{"size", "512MiB", Size(512 << 20), ""},
		{"size", "0", Size(0), ""},
		{"size", "-1", nil, "write e.g. 512MiB"},
		{"size", "9TiBs", nil, "write e.g. 512MiB"},
		{"size", "8388608TiB", nil, "write e.g. 512MiB"}, // 2^63
		{"level", "debug", slog.LevelDebug, ""},
		{"level", "warn", slog.LevelWarn, ""},
		{"level", "error", slog.LevelError, ""},
		{"level", "loud", nil, "debug, info, warn, error"},
		{"bool", "true", true, ""},
		{"bool", "false", false, ""},
		{"bool", "yes", nil, "neither true nor false"},
		{"port", "65535", uint16(65535), ""},
		{"port", "65536", nil, "from 1 to 65535"},
		{"port", "-1", nil, "from 1 to 65535"},
		{"id", "4294967294", uint32(math.MaxUint32 - 1), ""},
		{"id", "4294967295", nil, "write e.g. 65534"}, // (uid_t)-1
		{"id", "nobody", nil, "write e.g. 65534"},
		{"count", "-7", -7, ""},
		{"count", "1.5", nil, "whole number"},
		{"version", "4.1", Version41, ""},
		{"version", "4.11", nil, "did you mean 4.1?"},
		{"version", "everything", nil, "one of 3, 4.1, 4.2"},
	} {
		got, err := parsers[tc.kind](tc.text)
		switch {
		case tc.words == "" && (err != nil || got != tc.want):
			t.Errorf("%s %q: %v, %v; want %v", tc.kind, tc.text, got, err, tc.want)
		case tc.words != "" && (err == nil || !strings.Contains(err.Error(), tc.words)):
			t.Errorf("%s %q: %v, want %q", tc.kind, tc.text, err, tc.words)
		}
	}
}

// TestSizes reads what it writes, also in small letters, as flags have them.
func TestSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Size(rapid.Int64Range(0, math.MaxInt64).Draw(t, "size"))
		if rapid.Bool().Draw(t, "round") {
			s &^= 1<<rapid.IntRange(0, 50).Draw(t, "bits") - 1
		}
		for _, text := range []string{s.String(), strings.ToLower(s.String())} {
			if got, err := ParseSize(text); err != nil || got != s {
				t.Fatalf("%q: %d, %v; want %d", text, int64(got), err, int64(s))
			}
		}
	})
	if _, err := ParseSize("4q"); err == nil || !strings.Contains(err.Error(), `"4q"`) {
		t.Errorf("the error does not name the value: %v", err)
	}
}

// stateDir is StateDir with flags, beside a file with text.
func stateDir(t *testing.T, text string, args ...string) (string, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("fileserver.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddStateFlags(fs)
	if err := fs.Parse(append([]string{"--config=fileserver.yaml"}, args...)); err != nil {
		t.Fatal(err)
	}
	return StateDir(fs)
}

// TestStateDir: the state directory is found even if the file has other errors, and the flag overrides the file.
func TestStateDir(t *testing.T) {
	const text = "state_dir: here\nshares: {data: {path: does-not-exist}}\n"
	for want, args := range map[string][]string{"here": nil, "there": {"--state-dir=there"}} {
		got, err := stateDir(t, text, args...)
		if err != nil || filepath.Base(got) != want || !filepath.IsAbs(got) {
			t.Errorf("%v: %q, %v; want the absolute path of %s", args, got, err, want)
		}
	}
	t.Setenv("FILESERVER_STATE_DIR", "elsewhere")
	if got, err := stateDir(t, text); err != nil || filepath.Base(got) != "elsewhere" {
		t.Errorf("%q, %v; want the environment's", got, err)
	}
	var e *Error
	if _, err := stateDir(t, "state_dir: [\n"); !errors.As(err, &e) || len(e.Problems) == 0 {
		t.Errorf("a broken file: %v", err)
	}
}

// TestValidate checks configurations that programs make.
func TestValidate(t *testing.T) {
	c := mustLoad(t, "", "--share", "data=srv")
	if err := c.Validate(); err != nil {
		t.Errorf("what Load has returned is refused: %v", err)
	}
	c.Shares[0].Path = "relative/" + c.Shares[0].Name
	c.Listen = nil
	var e *Error
	if err := c.Validate(); !errors.As(err, &e) || len(e.Problems) < 2 {
		t.Errorf("%v, want a problem with the path and one with the addresses", err)
	}
}

func TestServes(t *testing.T) {
	n := NFS{Versions: []Version{Version3, Version42}}
	for v, want := range map[Version]bool{Version3: true, Version41: false, Version42: true} {
		if n.Serves(v) != want {
			t.Errorf("serves %s: %v", v, !want)
		}
	}
}

// TestProblemString: the text names a place once, because a flag or a variable contains its key.
func TestProblemString(t *testing.T) {
	for want, p := range map[string]Problem{
		"a.yaml:3: nfs.port: is bad":      {Source: "a.yaml:3", Key: "nfs.port", Text: "is bad"},
		"--allow: is bad":                 {Source: "--allow", Key: "allow", Text: "is bad"},
		"FILESERVER_NFS_PORT: is bad":     {Source: "FILESERVER_NFS_PORT", Key: "nfs.port", Text: "is bad"},
		"shares: there are none":          {Key: "shares", Text: "there are none"},
		"a.yaml: cannot be read, however": {Source: "a.yaml", Text: "cannot be read, however"},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
