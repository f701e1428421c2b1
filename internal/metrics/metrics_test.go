package metrics

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a listener and returns a function that fetches from it.
func serve(t *testing.T, r *Registry, cfg ServerConfig) func(path string) (int, string) {
	t.Helper()
	cfg.Listen, cfg.Logger = "127.0.0.1:0", slog.New(slog.DiscardHandler)
	if cfg.Healthy == nil {
		cfg.Healthy = func() error { return nil }
	}
	s, err := r.Serve(cfg)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return func(path string) (int, string) {
		t.Helper()
		resp, err := client.Get("http://" + s.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
}

func TestMetrics(t *testing.T) {
	r := New("1.2.3")
	read := r.Operation("nfs3", "READ")
	read.Done(100 * time.Microsecond)
	read.Done(time.Second)
	read.Failed("NFS3ERR_STALE")
	read.Failed("NFS3ERR_STALE")
	var open atomic.Int64
	open.Store(7)
	r.Add(Metric{Gauge, "connections", "Connections.", []string{"transport"}, func(emit func(float64, ...string)) {
		emit(float64(open.Load()), "tcp")
		emit(2, "iwarp")
	}}, Metric{Counter, "bytes_total", "Bytes.", nil, func(emit func(float64, ...string)) { emit(12) }})

	get := serve(t, r, ServerConfig{})
	status, text := get("/metrics")
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	for _, want := range []string{
		`fileserver_operation_duration_seconds_count{operation="READ",protocol="nfs3"} 2`,
		`fileserver_operation_duration_seconds_bucket{operation="READ",protocol="nfs3",le="0.00016"} 1`,
		`fileserver_operation_errors_total{operation="READ",protocol="nfs3",status="NFS3ERR_STALE"} 2`,
		`fileserver_connections{transport="tcp"} 7`,
		`fileserver_connections{transport="iwarp"} 2`,
		"# TYPE fileserver_connections gauge",
		"# TYPE fileserver_bytes_total counter",
		"fileserver_bytes_total 12",
		`version="1.2.3"`,
		"go_goroutines",
		"process_open_fds",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestHealth(t *testing.T) {
	var down atomic.Bool
	get := serve(t, New(""), ServerConfig{Healthy: func() error {
		if down.Load() {
			return errors.New("stopping")
		}
		return nil
	}})
	if status, text := get("/healthz"); status != http.StatusOK || text != "ok\n" {
		t.Errorf("%d %q", status, text)
	}
	down.Store(true)
	if status, text := get("/healthz"); status != http.StatusServiceUnavailable || text != "stopping\n" {
		t.Errorf("%d %q", status, text)
	}
}

func TestPprofOnlyWhereWanted(t *testing.T) {
	for _, on := range []bool{false, true} {
		get := serve(t, New(""), ServerConfig{Pprof: on})
		want := http.StatusNotFound
		if on {
			want = http.StatusOK
		}
		if status, _ := get("/debug/pprof/goroutine?debug=1"); status != want {
			t.Errorf("pprof %v: status %d", on, status)
		}
	}
}

func TestOperationDoesNotAllocate(t *testing.T) {
	op := New("").Operation("nfs3", "READ")
	if n := testing.AllocsPerRun(1000, func() { op.Done(123 * time.Microsecond) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestListenFails(t *testing.T) {
	if _, err := New("").Serve(ServerConfig{Listen: "192.0.2.1:1", Logger: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("listens on an address of another machine")
	}
}
