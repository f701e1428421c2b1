package main

import (
	"errors"
	"io"
	"os"
	"os/user"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spf13/cobra"

	"fileserver/config"
	"fileserver/internal/app/bench"
)

// check requires an error that contains all the words, or no error if there are no words.
func check(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if len(words) == 0 {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %v, want %q in it", what, err, w)
		}
	}
}

func TestFirstLine(t *testing.T) {
	for in, want := range map[string]string{"": "", "secret": "secret", "secret\n": "secret", "secret\r\nmore\n": "secret", "\nsecret": "", " a b \n": " a b "} {
		if got, err := firstLine(strings.NewReader(in)); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	broken := errors.New("broken")
	if _, err := firstLine(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestHashOf counts characters, not bytes.
func TestHashOf(t *testing.T) {
	for name, tc := range map[string]struct {
		password string
		words    []string
	}{
		"empty":    {"", []string{"0 characters", "1 to 127"}},
		"one":      {"x", nil},
		"longest":  {strings.Repeat("é", maxPassword), nil},
		"too long": {strings.Repeat("x", maxPassword+1), []string{"128 characters"}},
	} {
		_, err := hashOf(tc.password)
		check(t, name, err, tc.words...)
	}
}

func TestIdentity(t *testing.T) {
	const unknown = "no-such-user-of-this-system"
	for name, tc := range map[string]struct {
		uid, gid int64
		groups   []string
		want     []uint32 // uid, gid, groups
		words    []string
	}{
		"all given":        {1000, 100, []string{"4", " 27"}, []uint32{1000, 100, 4, 27}, nil},
		"gid from uid":     {1000, -1, nil, []uint32{1000, 1000}, nil},
		"uid too large":    {1<<32 - 1, 0, nil, nil, []string{"4294967295"}},
		"gid too large":    {0, 1<<32 - 1, nil, nil, []string{"4294967295"}},
		"group is no id":   {1, 1, []string{"wheel"}, nil, []string{"--groups", `"wheel"`}},
		"group too large":  {1, 1, []string{"4294967296"}, nil, []string{"--groups"}},
		"group below zero": {1, 1, []string{"-1"}, nil, []string{"--groups"}},
	} {
		u, err := identity(unknown, tc.uid, tc.gid, tc.groups)
		check(t, name, err, tc.words...)
		if got := append([]uint32{u.UID, u.GID}, u.Groups...); tc.words == nil && !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	u, err := identity(unknown, -1, -1, nil)
	if os.Geteuid() == 0 {
		check(t, "unknown to the system", err, unknown, "--uid")
	} else if check(t, "unknown to the system", err); int(u.UID) != os.Geteuid() || int(u.GID) != os.Getegid() {
		t.Errorf("not the server's own user: %+v", u)
	}
}

// TestIdentityFromSystem: ids that are not given are those of the system's user.
func TestIdentityFromSystem(t *testing.T) {
	sys, err := user.Lookup("daemon")
	if err != nil {
		t.Fatalf("the test wants the user that every Linux system has: %v", err)
	}
	uid, gid, _ := fromSystem(sys, -1, nil)
	if uid != 1 || gid != 1 {
		t.Errorf("daemon has uid %d and gid %d", uid, gid)
	}
	if _, gid, groups := fromSystem(sys, 7, []string{"8"}); gid != 7 || !slices.Equal(groups, []string{"8"}) {
		t.Errorf("gid %d and groups %v instead of those given", gid, groups)
	}
}

func TestHostOnly(t *testing.T) {
	for in, want := range map[string]string{"server": "server", "192.0.2.1": "192.0.2.1", "2001:db8::1": "2001:db8::1", "[2001:db8::1]": "2001:db8::1", "fe80::1%eth0": "fe80::1%eth0"} {
		if got, err := hostOnly(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for in, word := range map[string]string{"": "empty", "server:2049": "FILESERVER_NFS_PORT", "//server/data": "not a name", "fe80::1": "%INTERFACE", "[fe80::1]": "fe80::1%INTERFACE"} {
		_, err := hostOnly(in)
		check(t, in, err, word)
	}
}

func TestSizeFlag(t *testing.T) {
	var got int64
	f := sizeFlag{set: func(n int64) { got = n }, text: "4k"}
	if f.String() != "4k" || f.Type() != "SIZE" {
		t.Errorf("%s %s", f.Type(), f.String())
	}
	if err := f.Set("1MiB"); err != nil || got != 1<<20 {
		t.Errorf("%d, %v", got, err)
	}
	if err := f.Set("much"); err == nil || got != 1<<20 {
		t.Errorf("%d, %v", got, err)
	}
}

// TestProblems: problems lists the problems of a configuration, and any other error.
func TestProblems(t *testing.T) {
	if got := problems(io.EOF); !slices.Equal(got, []string{"EOF"}) {
		t.Errorf("%q", got)
	}
	e := &config.Error{Problems: []config.Problem{{Key: "a", Text: "is wrong"}, {Key: "b", Text: "is, too"}}}
	if got := problems(e); len(got) != 2 || !strings.Contains(got[0], "a") || !strings.Contains(got[1], "b") {
		t.Errorf("%q", got)
	}
}

// TestBenchPassword: the password comes from the source that the flags name, and must exist.
func TestBenchPassword(t *testing.T) {
	file := t.TempDir() + "/password"
	if err := os.WriteFile(file, []byte("from a file\nrest"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &cobra.Command{}
	c.SetIn(strings.NewReader("from stdin\n"))
	for name, want := range map[string]string{file: "from a file", "": "from stdin"} {
		if got, err := benchPassword(c, name); err != nil || got != want {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	_, err := benchPassword(c, "") // all is read
	check(t, "no password", err, "--password-file")
	_, err = benchPassword(c, file+"-not")
	check(t, "no file", err, "--password-file", file+"-not")
}

// TestSetProvider: only iWARP creates a provider here.
func TestSetProvider(t *testing.T) {
	for transport, want := range map[string]bool{"tcp": false, "iwarp": true} {
		cfg := bench.Config{Target: bench.Target{Transport: transport}}
		end, err := setProvider(&cfg)
		if err != nil || (cfg.Provider != nil) != want {
			t.Errorf("%s: provider %v, %v", transport, cfg.Provider, err)
			continue
		}
		end()
	}
}
