package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTargets(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"smb/wire/x_test.go":     "package wire\nfunc FuzzA(f *testing.F) {}\nfunc FuzzB(f *testing.F) {}\nfunc TestC(t *testing.T) {}\n",
		"smb/wire/x.go":          "package wire\nfunc FuzzNot(f *testing.F) {}\n",
		"nfs/x_test.go":          "package nfs\nfunc FuzzA(f *testing.F) {}\n",
		"nfs/testdata/x_test.go": "package nfs\nfunc FuzzNot(f *testing.F) {}\n",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		run  string
		want []target
	}{
		{"", []target{{"./nfs", "FuzzA"}, {"./smb/wire", "FuzzA"}, {"./smb/wire", "FuzzB"}}},
		{`^nfs\.`, []target{{"./nfs", "FuzzA"}}},
		{"FuzzC", nil},
	} {
		if got, err := targets(root, regexp.MustCompile(tc.run)); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("-run %q: %v (%v), want %v", tc.run, got, err, tc.want)
		}
	}
}

func TestParseRun(t *testing.T) {
	for name, tc := range map[string]struct {
		out  string
		want result
	}{
		"nothing": {"", result{}},
		"last line counts": {"fuzz: elapsed: 0s, gathering baseline coverage: 0/31 completed\n" +
			"fuzz: elapsed: 3s, execs: 300 (100/sec), new interesting: 2 (total: 33)\n" +
			"fuzz: elapsed: 1m10s, execs: 7000 (90/sec), new interesting: 5 (total: 36)\nPASS\n",
			result{execs: 7000, rate: 100, found: 5, corpus: 36}},
		"crash": {"fuzz: elapsed: 2s, execs: 20 (10/sec), new interesting: 0 (total: 31)\n--- FAIL: FuzzX (2.01s)\n" +
			"    Failing input written to testdata/fuzz/FuzzX/1234\n", result{execs: 20, rate: 10, corpus: 31, crashes: 1}},
		"before any input": {"fuzz: elapsed: 0s, execs: 0 (0/sec)\n", result{}},
	} {
		if got := parseRun(tc.out); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestPrint(t *testing.T) {
	var b strings.Builder
	bad := print(&b, []result{
		{target: target{"./smb", "FuzzA"}, execs: 5, rate: 2, found: 3, corpus: 4},
		{target: target{"./smb", "FuzzB"}, crashes: 1, failed: true},
		{target: target{"./smb", "FuzzC"}, failed: true},
	})
	if bad != 2 {
		t.Errorf("%d failed, want 2", bad)
	}
	for _, want := range []string{"smb.FuzzA", "failed"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}
