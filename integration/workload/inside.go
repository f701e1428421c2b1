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

// Places of servers; the one of a [Rig] that was not told otherwise is outside of all guests.
const (
	Same   Place = "same"   // the client's, which mounts the guest's own address
	Beside Place = "beside" // one of its own
)

// Inside is a server in a guest, on an RDMA device there. Its share is in the guest's memory, empty and open to all.
type Inside struct {
	Place   Place
	Device  string // the device's kind, rxe or siw; its name is that with a 0
	Program string
	Config  string // YAML, without the share, the state's place, whom it listens to, and metrics
	Env     []string
	MTU     string // of its guest's network where it is beside the client, bytes; the harness's choice if empty

	rig   *Rig
	guest *guest.Guest // that has the server
	done  int          // operations it was asked for
}

// insideMetrics is where servers in guests publish their metrics.
const insideMetrics = "metrics: {listen: '127.0.0.1:9464', pprof: true}\n"

// ServeInside has a server run in a guest. Beside the client it starts now, otherwise with the client's network, and in any case it
// is stopped at the end and must have said nothing that a server must never print.
func (r *Rig) ServeInside(ctx context.Context, t testing.TB, in Inside) {
	t.Helper()
	if r.Host.Kind() != guest.UML && in.Place == Beside {
		t.Skip("guests of QEMU do not reach one another")
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

// config is what a guest with the server, or with the client of one elsewhere, is given.
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

// end ends the guest of a server that is beside the client.
func (in *Inside) end(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // the test's own is over
	defer cancel()
	if err := errors.Join(in.Do(ctx, "stop"), in.guest.Signal("stopped")); err != nil {
		t.Errorf("the server's end: %v", err)
	}
	in.guest.Check(ctx, t)
}

// Do has the server's guest do one thing: one of the functions do_NAME of scripts/server.sh.
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

// Metrics returns what the server has published when it was looked at last, which is before it is stopped, if not later: by name with
// labels, without the prefix of all.
func (in *Inside) Metrics(t testing.TB) map[string]float64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(in.rig.Out, "metrics"))
	if err != nil {
		t.Fatal(err)
	}
	return ParseMetrics(string(text))
}

// ParseMetrics reads Prometheus' text, and leaves out the prefix of our names.
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

// ServerLog is what the server has printed, wherever it runs.
func (r *Rig) ServerLog() string {
	if r.Inside == nil {
		return r.Server.Output()
	}
	text, _ := os.ReadFile(filepath.Join(r.Out, "server.log")) // nothing yet is nothing said
	return string(text)
}
