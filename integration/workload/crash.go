package workload

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"fileserver/integration/guest"
)

// Crash kills the server with SIGKILL, twice, while a guest runs the workload "crash", and starts it again. What the client was told
// is stable has to be in the share while the server is dead; the client has to go on by itself, with no error and with its locks;
// and at the end every byte has to be where the client believes it.
func (r *Rig) Crash(ctx context.Context, t testing.TB, g *guest.Guest) {
	t.Helper()
	if err := r.crashes(ctx, t, g); err != nil {
		t.Error(err)
	}
	res := g.Check(ctx, t)
	t.Logf("%v\n%s", res.Took, res.Output)
	if err := r.promises(t); err != nil {
		t.Errorf("at the end: %v", err)
	}
}

func (r *Rig) crashes(ctx context.Context, t testing.TB, g *guest.Guest) error {
	if _, err := g.Mark(ctx, "loading"); err != nil {
		return err
	}
	for cycle := 1; cycle <= 2; cycle++ {
		if err := r.progress(ctx, 200); err != nil {
			return fmt.Errorf("before crash %d: %w", cycle, err)
		}
		if err := r.crash(ctx, t, cycle); err != nil {
			return fmt.Errorf("crash %d: %w", cycle, err)
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

// crash kills the server, compares the share with what was acknowledged, and waits for the client to go on with a new server.
func (r *Rig) crash(ctx context.Context, t testing.TB, cycle int) error {
	r.Server.Kill()
	if err := r.promises(t); err != nil {
		return err
	}
	time.Sleep(time.Second) // the client notices
	if err := r.Server.Start(); err != nil {
		return err
	}
	start := time.Now()
	if err := r.progress(ctx, 100); err != nil {
		return fmt.Errorf("the client does not resume: %w", err)
	}
	t.Logf("crash %d: 100 more acknowledgements %v after the server's start", cycle, time.Since(start).Round(time.Millisecond))
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
			return fmt.Errorf("%d acknowledgements, waiting for %d: %w, %v", now.Count, before.Count+n, ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// promises compares the share, from the server's side, with what the client was promised.
func (r *Rig) promises(t testing.TB) error {
	acks, err := r.acks()
	if err != nil {
		return err
	}
	t.Logf("%d acknowledgements, lengths %v", acks.Count, acks.Length)
	if len(acks.Length) != 2 || len(acks.Generation) != 2 {
		return fmt.Errorf("not all writers were acknowledged: %v", acks)
	}
	return acks.Check(r.Dir)
}
