package rdma_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"fileserver/internal/connlimit"
	"fileserver/rdma"
	"fileserver/rdma/rdmatest/mem"
)

// accepted is a connection that exists in the books only.
type accepted struct{ n int }

func (*accepted) Busy() bool { return true }
func (*accepted) End(error)  {}

// TestAcceptor refuses what there is no room for, what fails and what comes too late, and ends what there is.
func TestAcceptor(t *testing.T) {
	p := mem.New(mem.Config{})
	a := rdma.NewAcceptor[*accepted](connlimit.Config{Total: 2})
	ln, err := p.Listen(t.Context(), netip.AddrPortFrom(p.Device(0).Addr(), 0))
	if err != nil {
		t.Fatal(err)
	}
	opened, refused := make(chan rdma.ID, 10), make(chan string, 10)
	conns := []*accepted{{0}, {1}, {2}}
	next := 0
	open := func(id rdma.ID, e *connlimit.Entry) error {
		if next < 0 {
			return errors.New("no memory")
		}
		a.Add(conns[next], e)
		next++
		opened <- id
		return nil
	}
	served := make(chan error, 1)
	go func() {
		served <- a.Serve(t.Context(), ln, open, func(_ rdma.ID, err error) { refused <- err.Error() })
	}()
	dial := func() chan error {
		id, err := p.Resolve(t.Context(), ln.Addr())
		if err != nil {
			t.Fatal(err)
		}
		pd, err := id.Device().AllocPD()
		if err != nil {
			t.Fatal(err)
		}
		cq, err := id.Device().CreateCQ(4)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := id.CreateQP(pd, rdma.QPConfig{SendCQ: cq, RecvCQ: cq, SendDepth: 1, RecvDepth: 1}); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		go func() {
			defer cancel()
			err := id.Connect(ctx, rdma.ConnParams{})
			_ = id.Close()
			done <- err
		}()
		return done
	}
	rejected := func(done chan error, want string) {
		t.Helper()
		var r *rdma.RejectedError
		if err := <-done; !errors.As(err, &r) {
			t.Errorf("%v", err)
		}
		if want == "" {
			return // the limits were told
		}
		if got := <-refused; !strings.Contains(got, want) {
			t.Errorf("refused: %s, want %s", got, want)
		}
	}
	// Two are answered, and count while they are, here until they are rejected; a third is one too many.
	first, second := dial(), (chan error)(nil)
	ids := []rdma.ID{<-opened}
	second = dial()
	ids = append(ids, <-opened)
	rejected(dial(), "")
	a.Remove(conns[0])
	next = -1
	rejected(dial(), "no memory")
	for i, done := range []chan error{first, second} {
		if err := ids[i].Reject(nil); err != nil {
			t.Error(err)
		}
		<-done
	}
	next = 2
	third := dial()
	ids = append(ids, <-opened)
	if got := a.Conns(); len(got) != 2 || !slices.Contains(got, conns[1]) || !slices.Contains(got, conns[2]) {
		t.Errorf("%v", got)
	}
	// One ends when it is asked to, the other when it must.
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	begun := 0
	ended := map[int]error{}
	drained := a.Drain(ctx, func(c *accepted) {
		if begun++; c.n == 1 {
			go a.Remove(c)
		} else {
			time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
		}
	}, func(c *accepted, err error) {
		ended[c.n] = err
		go a.Remove(c)
	})
	if drained != why || begun != 2 || ended[2] != why {
		t.Errorf("%v, begun %d, ended %v", drained, begun, ended)
	}
	rejected(dial(), "the server is shutting down")
	if err := a.Drain(t.Context(), nil, nil); err != nil {
		t.Error(err)
	}
	if err := errors.Join(ids[2].Reject(nil), ln.Close()); err != nil {
		t.Error(err)
	}
	<-third
	if err := <-served; err != nil {
		t.Error(err)
	}
}
