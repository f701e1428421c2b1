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

// twice is the end of a client of Linux 7.2 for a fault of its own, which no mount option avoids: cifs takes a SEND over SMB Direct for failed
// when the connection ends before all SENDs are acknowledged, although the answer may have come already. The request is then ended twice,
// the second time when its memory is free or another's: netfs says so, or cifs_call_async takes it from a list in which it is not.
var twice = []struct{ panic, trace *regexp.Regexp }{
	{regexp.MustCompile(`^BUG: failure at fs/netfs/write_collect\.c:\d+/netfs_write_subrequest_terminated\(\)!; Kernel panic - not syncing: BUG!$`), regexp.MustCompile(``)},
	{regexp.MustCompile(`^Kernel panic - not syncing: Kernel mode fault at addr `), regexp.MustCompile(`Call Trace:\n \[<[0-9a-f]+>\] \? cifs_call_async\+`)},
}

// diedOfTwice says whether a client did.
func diedOfTwice(r guest.Result) bool {
	for _, d := range twice {
		if d.panic.MatchString(r.Panic) && d.trace.MatchString(r.Output) {
			return true
		}
	}
	return false
}

// Repeat runs f, at most three times, until it does not return true, which says that the client's kernel died of its own fault
// ([Rig.Hurt]). Each time is a subtest with a rig of its own.
func Repeat(t *testing.T, f func(t *testing.T) (died bool)) {
	for n := 1; n <= 3; n++ {
		died := false
		t.Run(fmt.Sprint(n), func(t *testing.T) { died = f(t) })
		if !died {
			return
		}
		t.Logf("ATTENTION: the client's kernel has died of a fault of its own, time %d of at most 3", n)
	}
	t.Error("the client's kernel dies every time")
}

// Crash kills the server with SIGKILL, twice, while a guest runs the workload "crash", and starts it again ([Rig.Hurt]).
func (r *Rig) Crash(ctx context.Context, t testing.TB, g *guest.Guest) (died bool) {
	t.Helper()
	return r.Hurt(ctx, t, g, Harm{Cause: r.kill, Cure: r.start})
}

// Harm is what keeps a client from its server for a while.
type Harm struct {
	Cause, Cure func(context.Context) error
	Meanwhile   func(context.Context) error // what has to hold between the two; may be nil
}

// Hurt does a server harm, twice, while a guest runs the workload "crash". What the client was told is stable has to be in the share
// meanwhile; the client has to go on by itself, with no error and with its locks; and at the end every byte has to be where the client
// believes it. It returns true, and has found nothing, when the client died of its own fault (twice).
func (r *Rig) Hurt(ctx context.Context, t testing.TB, g *guest.Guest, h Harm) (died bool) {
	t.Helper()
	hurt := r.hurts(ctx, t, g, h)
	res, err := g.Wait(ctx)
	t.Logf("%v\n%s", res.Took, res.Output)
	if diedOfTwice(res) {
		t.Logf("ATTENTION: %v", err)
		return true
	}
	if hurt != nil {
		t.Error(hurt)
	}
	res.Check(t, err)
	if r.Inside != nil && r.Inside.Place == Same {
		return false // the server has ended with the client; the script has compared
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

func (r *Rig) hurts(ctx context.Context, t testing.TB, g *guest.Guest, h Harm) error {
	ctx, cancel := g.Within(ctx)
	defer cancel()
	if _, err := g.Mark(ctx, "loading"); err != nil {
		return err
	}
	for cycle := 1; cycle <= 2; cycle++ {
		if err := r.progress(ctx, 200); err != nil {
			return fmt.Errorf("before harm %d: %w", cycle, err)
		}
		if err := r.hurt(ctx, t, cycle, h); err != nil {
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

// hurt does the server harm, compares the share with what was acknowledged, and waits for the client to go on when it is over.
func (r *Rig) hurt(ctx context.Context, t testing.TB, cycle int, h Harm) error {
	if err := h.Cause(ctx); err != nil {
		return err
	}
	if err := r.promises(ctx, t); err != nil {
		return err
	}
	time.Sleep(time.Second) // the client notices
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
	t.Logf("harm %d: 100 more acknowledgements %v after its end", cycle, time.Since(start).Round(time.Millisecond))
	return nil
}

// acks reads what the client was promised so far.
func (r *Rig) acks() (Acks, error) { return ReadAcks(filepath.Join(r.Out, "acks")) }

// progress waits for n more acknowledgements.
func (r *Rig) progress(ctx context.Context, n int) error {
	before, _ := r.acks() // nothing yet is no error
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

// promises compares the share, from the server's side, with what the client was promised.
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
