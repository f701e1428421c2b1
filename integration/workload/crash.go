package workload

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"fileserver/integration/guest"
)

// knownBug matches the crashes of a client by a bug of Linux 7.2 that no mount option avoids. If an SMB Direct connection ends before all
// SENDs are acknowledged, cifs takes a SEND for failed although its response may have come. It then completes the request twice, the
// second time after its memory was freed: netfs reports a BUG, or cifs_call_async removes the request from a list that does not hold it.
var knownBug = []struct{ panic, trace *regexp.Regexp }{
	{regexp.MustCompile(`^BUG: failure at fs/netfs/write_collect\.c:\d+/netfs_write_subrequest_terminated\(\)!; Kernel panic - not syncing: BUG!$`), regexp.MustCompile(``)},
	{regexp.MustCompile(`^Kernel panic - not syncing: Kernel mode fault at addr `), regexp.MustCompile(`Call Trace:\n \[<[0-9a-f]+>\] \? cifs_call_async\+`)},
}

// diedOfKnownBug reports whether a client crashed by knownBug.
func diedOfKnownBug(r guest.Result) bool {
	for _, d := range knownBug {
		if d.panic.MatchString(r.Panic) && d.trace.MatchString(r.Output) {
			return true
		}
	}
	return false
}

// Repeat runs f at most three times, until it returns false. True means that the client's kernel crashed by its own bug
// ([Rig.Interrupt]). Each run is a subtest with its own rig.
func Repeat(t *testing.T, f func(t *testing.T) (died bool)) {
	for n := 1; n <= 3; n++ {
		died := false
		t.Run(fmt.Sprint(n), func(t *testing.T) { died = f(t) })
		if !died {
			return
		}
		t.Logf("ATTENTION: the client's kernel has crashed by its own bug, time %d of at most 3", n)
	}
	t.Error("the client's kernel crashes every time")
}

// Crash kills the server with SIGKILL and restarts it, twice, while a guest runs the workload "crash" ([Rig.Interrupt]).
func (r *Rig) Crash(ctx context.Context, t testing.TB, g *guest.Guest) (died bool) {
	t.Helper()
	return r.Interrupt(ctx, t, g, Interruption{Cause: r.kill, Cure: r.start})
}

// Interruption separates a client from its server for a while.
type Interruption struct {
	Cause, Cure func(context.Context) error
	Meanwhile   func(context.Context) error // checks the time between the two; may be nil
}

// Interrupt does an interruption twice while a guest runs the workload "crash". During it, all data that was acknowledged as stable must
// be in the share. Afterwards the client must go on by itself, without an error and with its locks. At the end every byte must be
// where the client wrote it. Interrupt returns true, without a result, if the client crashed by its own bug (knownBug).
func (r *Rig) Interrupt(ctx context.Context, t testing.TB, g *guest.Guest, h Interruption) (died bool) {
	t.Helper()
	hurt := r.interruptTwice(ctx, t, g, h)
	res, err := g.Wait(ctx)
	t.Logf("%v\n%s", res.Took, res.Output)
	if diedOfKnownBug(res) {
		t.Logf("ATTENTION: %v", err)
		return true
	}
	if hurt != nil {
		t.Error(hurt)
	}
	res.Check(t, err)
	if r.Inside != nil && r.Inside.Place == Same {
		return false // the server ended with the client's guest, whose script has compared the data
	}
	if err := r.promises(ctx, t); err != nil {
		t.Errorf("at the end: %v", err)
	}
	return false
}

func (r *Rig) kill(ctx context.Context) error {
	if r.Inside != nil {
		return r.Inside.Do(ctx, "kill")
	}
	r.Server.Kill()
	return nil
}

func (r *Rig) start(ctx context.Context) error {
	if r.Inside != nil {
		return r.Inside.Do(ctx, "start")
	}
	return r.Server.Start()
}

func (r *Rig) interruptTwice(ctx context.Context, t testing.TB, g *guest.Guest, h Interruption) error {
	ctx, cancel := g.Within(ctx)
	defer cancel()
	if _, err := g.Mark(ctx, "loading"); err != nil {
		return err
	}
	for cycle := 1; cycle <= 2; cycle++ {
		if err := r.progress(ctx, 200); err != nil {
			return fmt.Errorf("before interruption %d: %w", cycle, err)
		}
		if err := r.interruptOnce(ctx, t, cycle, h); err != nil {
			return fmt.Errorf("harm %d: %w", cycle, err)
		}
		if err := g.Signal(fmt.Sprintf("back-%d", cycle)); err != nil {
			return err
		}
		if _, err := g.Mark(ctx, fmt.Sprintf("checked-%d", cycle)); err != nil {
			return err
		}
	}
	return g.Signal("stop")
}

// interruptOnce interrupts, compares the share with the acknowledged data, and waits until the client goes on afterwards.
func (r *Rig) interruptOnce(ctx context.Context, t testing.TB, cycle int, h Interruption) error {
	if err := h.Cause(ctx); err != nil {
		return err
	}
	if err := r.promises(ctx, t); err != nil {
		return err
	}
	time.Sleep(time.Second) // for the client to notice
	if h.Meanwhile != nil {
		if err := h.Meanwhile(ctx); err != nil {
			return fmt.Errorf("meanwhile: %w", err)
		}
	}
	if err := h.Cure(ctx); err != nil {
		return err
	}
	start := time.Now()
	if err := r.progress(ctx, 100); err != nil {
		return fmt.Errorf("the client does not resume: %w", err)
	}
	t.Logf("interruption %d: 100 more acknowledgements %v after its end", cycle, time.Since(start).Round(time.Millisecond))
	return nil
}

// acks returns the acknowledgements so far.
func (r *Rig) acks() (Acks, error) { return ReadAcks(filepath.Join(r.Out, "acks")) }

// progress waits for n more acknowledgements.
func (r *Rig) progress(ctx context.Context, n int) error {
	before, _ := r.acks() // an error means that there are none yet
	for {
		now, err := r.acks()
		if err == nil && now.Count >= before.Count+n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d acknowledgements, waiting for %d: %w, %v", now.Count, before.Count+n, context.Cause(ctx), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// promises compares the share, on the server's side, with the acknowledgements.
func (r *Rig) promises(ctx context.Context, t testing.TB) error {
	acks, err := r.acks()
	if err != nil {
		return err
	}
	t.Logf("%d acknowledgements, lengths %v", acks.Count, acks.Length)
	if len(acks.Length) != 2 || len(acks.Generation) != 2 {
		return fmt.Errorf("not all writers were acknowledged: %v", acks)
	}
	if r.Inside != nil {
		return r.Inside.Do(ctx, "promises")
	}
	return acks.Check(r.Dir)
}
