package guests

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestRows computes rows from reports of fio and processor times.
func TestRows(t *testing.T) {
	dir := t.TempDir()
	all := cells
	defer func() { cells = all }()
	cells = []cell{{"read1", "read", "1m", 1, "read", "MB/s", 0.95}, {"randwrite1", "randwrite", "4k", 1, "write", "op/s", 0.7}}
	servers := []server{{name: "knfsd", what: "knfsd"}, {name: "ours", what: "TCP"}}
	used := map[string]time.Duration{}
	report := func(name, text string, cpu time.Duration) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		used[name] = cpu
	}
	idle := `"write": {"bw_bytes": 0, "iops": 0, "total_ios": 0}`
	report("0-nfs-tcp-knfsd-read1", `{"jobs": [{"error": 0, "read": {"bw_bytes": 2000000, "iops": 2, "total_ios": 4}, `+idle+`}]}`, 8*time.Millisecond)
	report("0-nfs-tcp-ours-read1", `{"jobs": [{"error": 0, "read": {"bw_bytes": 3000000, "iops": 3, "total_ios": 8}, `+idle+`}]}`, 8*time.Millisecond)
	report("0-nfs-tcp-knfsd-randwrite1", `{"jobs": [{"error": 0, "write": {"bw_bytes": 1, "iops": 100, "total_ios": 10}}]}`, time.Millisecond)
	report("0-nfs-tcp-ours-randwrite1", `{"jobs": [{"error": 0, "write": {"bw_bytes": 1, "iops": 50, "total_ios": 10}}]}`, time.Millisecond)
	got, err := rows(dir, "nfs", "tcp", 1, servers, used)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	if r := got[0]; r.theirs != 2 || r.ours != 3 || r.ratio != 1.5 || r.theirCPU != 2000 || r.ourCPU != 1000 {
		t.Errorf("read: %+v", r)
	}
	if r := got[1]; r.theirs != 100 || r.ours != 50 || r.least != 0.5 || r.most != 0.5 || r.theirCPU != 100 {
		t.Errorf("write: %+v", r)
	}
	for name, text := range map[string]string{
		"an error": `{"jobs": [{"error": 5, "read": {"bw_bytes": 1, "iops": 1}}]}`, "nothing": `{"jobs": [{"error": 0, "read": {}}]}`, "no report": `fio: what?`,
	} {
		report("0-nfs-tcp-ours-read1", text, 0)
		if _, err := rows(dir, "nfs", "tcp", 1, servers, used); err == nil {
			t.Errorf("%s was accepted as a measurement", name)
		}
	}
}
