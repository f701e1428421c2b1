package server

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fileserver/smb/wire"
)

var inode = regexp.MustCompile(`\d+`)

// descriptors counts the open descriptors of the process, except sockets, by what they refer to.
func descriptors(t *testing.T) map[string]int {
	t.Helper()
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, e := range entries {
		what, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil || strings.HasPrefix(what, "socket:") { // the descriptor of dir itself, and those of the clients
			continue
		}
		n[inode.ReplaceAllString(what, "N")]++
	}
	return n
}

// TestStopClosesFiles: when the server stops, it closes the files that clients of NFSv4 and SMB have open. The process then has the
// descriptors that it had before the start. The NFSv4 client may reclaim its open when the server starts again.
func TestStopClosesFiles(t *testing.T) {
	cfg := configure(t, "shares: {data: {path: data}}\nnfs: {port: 0, rdma_port: 0}\nsmb: {enabled: true, port: 0, rdma_port: 0}\niwarp: {enabled: false}\n")
	addUser(t, cfg)
	if err := os.Chmod(cfg.Shares[0].Path, 0o777); err != nil {
		t.Fatal(err)
	}
	run := func(use func(*output)) string {
		out := new(output)
		s, err := startOn(system{}, cfg, NewLog(out, cfg.Log), "test")
		if err != nil {
			t.Fatal(err)
		}
		use(out)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Fatalf("stopping: %v\n%s", err, out)
		}
		return out.String()
	}
	run(func(*output) {}) // the runtime opens what it keeps
	before := descriptors(t)
	run(func(out *output) {
		if _, err := nfsMount(t, out, "/data", 4).Open(t.Context(), "nfs", true); err != nil {
			t.Fatal(err)
		}
		smbOpen(smbMount(t, out, "data"), "smb", shareAll, 0, wire.StatusSuccess)
	})
	if after := descriptors(t); !maps.Equal(after, before) {
		t.Errorf("open before the start: %v\nafter the stop: %v", before, after)
	}
	log := run(func(*output) {})
	if !strings.Contains(log, "NFSv4 grace period began") {
		t.Errorf("the client cannot reclaim its open:\n%s", log)
	}
}
