package server

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestMetricsAreDocumented looks up every metric of a running server in docs/operations.md. There the first metric of a
// family is written in full and the others without the common prefix: `fileserver_a_b`, `_c` is also fileserver_a_c.
func TestMetricsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	cfg := configure(t, "", "--metrics", "127.0.0.1:0")
	_, out := start(t, cfg)
	nullOverRDMA(t, out.Addr(t, "nfs", "iwarp")) // what a device's first connection adds
	admin := "http://" + out.Addr(t, "metrics", "tcp").String()
	names := regexp.MustCompile(`(?m)^# TYPE (fileserver_\S+)`).FindAllStringSubmatch(fetch(t, admin+"/metrics"), -1)
	if len(names) < 20 {
		t.Errorf("%d metrics", len(names))
	}
	for _, n := range names {
		if !documented(string(doc), n[1]) {
			t.Errorf("%s is not in docs/operations.md", n[1])
		}
	}
}

func documented(doc, name string) bool {
	for line := range strings.Lines(doc) {
		if strings.Contains(line, "`"+name+"`") {
			return true
		}
		for i, c := range name {
			if c == '_' && strings.Contains(line, "`"+name[:i]) && strings.Contains(line, "`"+name[i:]+"`") {
				return true
			}
		}
	}
	return false
}
