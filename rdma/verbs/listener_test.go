//go:build linux && cgo && rdmacore

package verbs

import (
	"context"
	"errors"
	"testing"

	"fileserver/rdma"
)

func bareListener(p *Provider) *listener {
	return &listener{p: p, stop: make(chan struct{}), ready: make(chan struct{}, 1)}
}

// TestAcceptOrder: requests are handed out as they came, but for those whose peer has gone meanwhile, which are closed.
func TestAcceptOrder(t *testing.T) {
	p := bareProvider(t)
	l, d := bareListener(p), bareDevice(p, "d")
	first, gone, last := bareID(p, d, false), bareID(p, d, false), bareID(p, d, false)
	gone.handle(cmEvent{kind: cmDisconnected})
	l.requests = []*id{first, gone, last}
	l.signal()
	for _, want := range []*id{first, last} {
		got, err := l.Accept(t.Context())
		if err != nil || got != want {
			t.Fatalf("%v, %v", got, err)
		}
		_ = want.Close()
	}
	alone := bareID(p, d, false)
	alone.handle(cmEvent{kind: cmDisconnected})
	l.requests = []*id{alone}
	reason := errors.New("reason")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if _, err := l.Accept(ctx); !errors.Is(err, reason) {
		t.Errorf("Accept: %v", err)
	}
	p.wg.Wait()
	if len(d.ids) != 0 || len(p.targets) != 0 {
		t.Errorf("%d IDs and %d targets are left", len(d.ids), len(p.targets))
	}
}

// TestAcceptOfClosed: Close ends every Accept, those that wait and those that come later.
func TestAcceptOfClosed(t *testing.T) {
	p := bareProvider(t)
	l := bareListener(p)
	const n = 3
	ended := make(chan error, n)
	for range n {
		go func() { _, err := l.Accept(context.Background()); ended <- err }()
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	for range n {
		if err := <-ended; !errors.Is(err, rdma.ErrClosed) {
			t.Errorf("Accept: %v", err)
		}
	}
	if _, err := l.Accept(t.Context()); !errors.Is(err, rdma.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
}
