package workload

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"fileserver/integration/guest"
)

// Crash kills the server with SIGKILL, twice, while a guest runs the workload "crash", and starts it again ([Rig.Hurt]).
func (r *Rig) Crash(ctx context.Context, t testing.TB, g *guest.Guest) {
	t.Helper()
	harm := Harm{Cause: r.kill, Cure: r.start}
	r.Hurt(ctx, t, g, harm)
}

// Harm is what keeps a client from its server for a while.
type Harm struct {
	Cause, Cure func(context.Context) error
	Meanwhile   func(context.Context) error // what has to hold between the two; may be nil
}

// Hurt does a server harm, twice, while a guest runs the workload "crash". What the client was told is stable has to be in the share
// meanwhile; the client has to go on by itself, with no error and with its locks; and at the end every byte has to be where the client
// believes it.
func (r *Rig) Hurt(ctx context.Context, t testing.TB, g *guest.Guest, h Harm) {
	t.Helper()
	if err := r.hurts(ctx, t, g, h); err != nil {
		t.Error(err)
	}
	res := g.Check(ctx, t)
	t.Logf("%v\n%s", res.Took, res.Output)
	if r.Inside != nil && r.Inside.Place == Same {
		return // the server has ended with the client; the script has compared
	}
	if err := r.promises(ctx, t); err != nil {
		t.Errorf("at the end: %v", err)
	}
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
