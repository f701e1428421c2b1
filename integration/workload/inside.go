package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
)

// Place says in which guest a server is.
type Place string

// Places of servers. By default a [Rig]'s server is outside all guests.
const (
	Same   Place = "same"   // in the client's guest, which mounts its own address
	Beside Place = "beside" // in a separate guest
)

// Inside is a server in a guest, on an RDMA device there. Its share is in the guest's memory, empty and open to all.
type Inside struct {
	Place   Place
	Device  string // the device's kind, rxe or siw; its name is the kind followed by 0
	Program string
	Config  string // YAML, without the share, the state directory, the addresses and the metrics
	Env     []string
	MTU     string // of the server's own guest's network, in bytes; the guest's default if empty

	rig   *Rig
	guest *guest.Guest // the server's guest
	done  int          // calls of Do
}

// insideMetrics is the configuration of metrics for servers in guests.
const insideMetrics = "metrics: {listen: '127.0.0.1:9464', pprof: true}\n"

// ServeInside runs a server in a guest. In a separate guest the server starts now, otherwise with the client's network. The end of the
// test stops it and checks its log.
func (r *Rig) ServeInside(ctx context.Context, t testing.TB, in Inside) {
	t.Helper()
	if r.Host.Kind() != guest.UML && in.Place == Beside {
		t.Skip("QEMU's guests cannot reach one another")
	}
	in.rig = r
	r.Inside = &in
	t.Cleanup(func() { r.checkLog(t, r.ServerLog()) })
	if in.Place == Same {
		return
	}
	script, err := serverScript()
	if err != nil {
		t.Fatal(err)
	}
	cfg := in.config(Same)
	cfg.Script, cfg.Out = script, r.Out
	cfg.Env = append(cfg.Env, "PROTO=rdma", "MTU="+in.MTU)
	in.guest = r.Host.BootForTest(t, cfg)
	t.Cleanup(func() { in.end(t) })
	if _, err := in.guest.Mark(ctx, "serving"); err != nil {
		res, _ := in.guest.Wait(ctx)
		t.Fatalf("%v\n%s", err, res.Output)
	}
}

// config returns the configuration of a guest with the server, or with a client of a server in another guest.
func (in *Inside) config(p Place) guest.Config {
	return guest.Config{
		MemMiB: 4096,
		Env:    append([]string{"PLACE=" + string(p), "DEVICE=" + in.Device, "FILESERVER=" + in.Program}, in.Env...),
		Files:  map[string]string{"server.yaml": in.Config + insideMetrics},
	}
}

// add completes the configuration of a client's guest.
func (in *Inside) add(cfg *guest.Config) {
	own := in.config(in.Place)
	cfg.MemMiB = max(cfg.MemMiB, own.MemMiB)
	cfg.Env = append(cfg.Env, own.Env...)
	if cfg.Files == nil {
		cfg.Files = map[string]string{}
	}
	maps.Copy(cfg.Files, own.Files)
}

// end ends the separate guest of a server.
func (in *Inside) end(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // the test's context has ended
	defer cancel()
	if err := errors.Join(in.Do(ctx, "stop"), in.guest.Signal("stopped")); err != nil {
		t.Errorf("the server's guest ended with an error: %v", err)
	}
	in.guest.Check(ctx, t)
}

// Do runs a function do_NAME of scripts/server.sh in the server's guest.
func (in *Inside) Do(ctx context.Context, name string) error {
	in.done++
	n := strconv.Itoa(in.done)
	if err := in.guest.Signal("do-" + n + "-" + name); err != nil {
		return err
	}
	said, err := in.guest.Mark(ctx, "did-"+n)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case said != "ok":
		return fmt.Errorf("%s: %s", name, said)
	}
	return nil
}

// Metrics returns the server's metrics as last read by do_metrics, by name with labels and without their common prefix. The last
// reading is just before the server stops.
func (in *Inside) Metrics(t testing.TB) map[string]float64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(in.rig.Out, "metrics"))
	if err != nil {
		t.Fatal(err)
	}
	return ParseMetrics(string(text))
}

// ParseMetrics parses Prometheus's text format. It removes the prefix of our names.
func ParseMetrics(text string) map[string]float64 {
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "fileserver_")
		if i := strings.LastIndexByte(line, ' '); i > 0 && line[0] != '#' {
			if v, err := strconv.ParseFloat(line[i+1:], 64); err == nil {
				all[line[:i]] = v
			}
		}
	}
	return all
}

// ServerLog returns the server's output, wherever the server runs.
func (r *Rig) ServerLog() string {
	if r.Inside == nil {
		return r.Server.Output()
	}
	text, _ := os.ReadFile(filepath.Join(r.Out, "server.log")) // an error means that there is no output yet
	return string(text)
}
