package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/internal/connlimit"
)

var errOver = errors.New("over")

// conn is a connection that exists in the books only.
type conn int

func (conn) Busy() bool { return false }
func (conn) End(error)  {}

// listener accepts what it is told to.
type listener struct {
	accept chan any // a net.Conn or an error
	closed chan struct{}
	once   atomic.Bool
}

func newListener() *listener { return &listener{accept: make(chan any), closed: make(chan struct{})} }

func (l *listener) Accept() (net.Conn, error) {
	select {
	case v := <-l.accept:
		if err, ok := v.(error); ok {
			return nil, err
		}
		return v.(net.Conn), nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	if !l.once.Swap(true) {
		close(l.closed)
	}
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{Port: 1} }

func group(limits connlimit.Config) (*Group[conn], *bytes.Buffer) {
	var log bytes.Buffer
	return New[conn](slog.New(slog.NewTextHandler(&log, nil)), limits, errOver), &log
}

// TestBackoff goes on accepting after errors, more slowly each time until it succeeds.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, log := group(connlimit.Config{})
		l := newListener()
		served := make(chan net.Conn, 1)
		done := make(chan error, 1)
		go func() {
			done <- g.Serve(t.Context(), l, func(nc net.Conn, e *connlimit.Entry) {
				e.Remove()
				served <- nc
			})
		}()
		want := 5 * time.Millisecond
		var begin time.Time
		for range 10 {
			l.accept <- error(syscall.EMFILE)
			synctest.Wait()
			begin = time.Now()
			select {
			case l.accept <- error(syscall.EMFILE):
			case <-time.After(time.Minute):
				t.Fatal("nothing is accepted any more")
			}
			if got := time.Since(begin); got != want {
				t.Fatalf("waited %v, want %v", got, want)
			}
			synctest.Wait()
			time.Sleep(2 * time.Second)
			want = min(4*want, time.Second)
		}
		if !strings.Contains(log.String(), `msg="cannot accept a connection"`) || !strings.Contains(log.String(), "retry=1s") {
			t.Errorf("%s", log)
		}
		a, b := net.Pipe()
		defer b.Close()
		l.accept <- a
		if nc := <-served; nc != a {
			t.Error("another connection")
		}
		l.accept <- error(syscall.ECONNABORTED)
		synctest.Wait()
		begin = time.Now()
		l.accept <- a
		if got := time.Since(begin); got != 5*time.Millisecond {
			t.Errorf("waited %v after a success", got)
		}
		<-served
		g.Close()
		if err := <-done; err != errOver {
			t.Error(err)
		}
		if err := g.Serve(t.Context(), newListener(), nil); err != errOver {
			t.Error(err)
		}
	})
}

// TestEnds ends Serve in the other ways.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := group(connlimit.Config{})
		l := newListener()
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		if err := g.Serve(ctx, l, nil); err != why {
			t.Error(err)
		}
		l = newListener()
		time.AfterFunc(time.Second, func() { l.Close() })
		if err := g.Serve(t.Context(), l, nil); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

func TestConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := group(connlimit.Config{Total: 3})
		add := func(c conn) error {
			nc, other := net.Pipe()
			defer nc.Close()
			e, err := g.Admit(nc)
			if err == nil {
				return g.Add(c, e)
			}
			other.SetReadDeadline(time.Now())
			if _, rerr := other.Read(make([]byte, 1)); rerr != io.EOF {
				t.Errorf("a connection that is refused is not closed: %v", rerr)
			}
			return err
		}
		for i, want := range []error{nil, nil, nil, connlimit.TooMany} {
			if err := add(conn(i)); err != want {
				t.Errorf("%d: %v", i, err)
			}
		}
		g.Remove(0)
		if err := add(3); err != nil || g.Len() != 3 {
			t.Errorf("%v, %d", err, g.Len())
		}
		g.Remove(2)
		g.Close()
		if err := add(4); err != errOver || !g.Closed() {
			t.Error(err)
		}
		time.AfterFunc(time.Second, func() { g.Remove(1) })
		// One ends by itself, the other when it is told to.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var told []conn
		begin := time.Now()
		err := g.Drain(ctx, func(c conn) {
			told = append(told, c)
			time.AfterFunc(time.Second, func() { g.Remove(c) })
		})
		if !errors.Is(err, context.DeadlineExceeded) || len(told) != 1 || told[0] != 3 || time.Since(begin) != 61*time.Second {
			t.Errorf("%v, told %v, after %v", err, told, time.Since(begin))
		}
		if err := g.Drain(t.Context(), nil); err != nil || g.Len() != 0 {
			t.Error(err)
		}
	})
}
