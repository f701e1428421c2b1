package tcp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"fileserver/internal/connlimit"
	"fileserver/internal/slab"
	"fileserver/smb/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// peer is a handler that answers as its test wants.
type peer struct {
	t      *testing.T
	conn   transport.Conn
	onMsg  func(p *peer, buf *slab.Buf)
	closed chan error

	mu   sync.Mutex
	over bool
}

func (p *peer) Message(buf *slab.Buf) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		p.t.Error("message after the end")
	}
	if c := cap(buf.Bytes()) - buf.Len(); c < 16 {
		p.t.Errorf("room for %d bytes behind the message", c)
	}
	p.onMsg(p, buf)
}

func (p *peer) Closed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		p.t.Error("closed twice")
	}
	p.over = true
	p.closed <- err
}

// echo sends a message back, in two pieces.
func echo(p *peer, buf *slab.Buf) {
	n := buf.Len()
	o := transport.Outgoing{Pieces: []transport.Piece{{Buf: buf.Retain(), Off: 0, Len: n / 2}, {Buf: buf, Off: n / 2, Len: n - n/2}}}
	_ = p.conn.Send(&o) // fails when the connection is ending
}

func drop(_ *peer, buf *slab.Buf) { buf.Release() }

type rig struct {
	t     *testing.T
	pool  *slab.Pool
	srv   *Server
	addr  string
	peers chan *peer
}

func newRig(t *testing.T, cfg Config, onMsg func(*peer, *slab.Buf)) *rig {
	t.Helper()
	r := &rig{t: t, pool: slab.New(slab.Config{Limit: 256 << 20, Debug: true}), peers: make(chan *peer, 64)}
	cfg.Buffers = r.pool
	cfg.Handler = func(c transport.Conn) transport.Handler {
		p := &peer{t: t, conn: c, onMsg: onMsg, closed: make(chan error, 1)}
		r.peers <- p
		return p
	}
	var err error
	if r.srv, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- r.srv.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.srv.Shutdown(ctx) // its error is that of ctx
		if err := <-done; !errors.Is(err, ErrServerClosed) {
			t.Error(err)
		}
		for _, l := range r.pool.Leaks() {
			t.Errorf("leak: %v", l)
		}
	})
	return r
}

func (r *rig) dial() (net.Conn, *peer) {
	r.t.Helper()
	nc, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { nc.Close() })
	select {
	case p := <-r.peers:
		return nc, p
	case <-time.After(patience):
		r.t.Fatal("no connection")
		return nil, nil
	}
}

func (p *peer) ended(t *testing.T) error {
	t.Helper()
	select {
	case err := <-p.closed:
		return err
	case <-time.After(patience):
		t.Fatal("the connection has not ended")
		return nil
	}
}

func frame(msg []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...)
}

func readFrame(t *testing.T, nc net.Conn) []byte {
	t.Helper()
	nc.SetReadDeadline(time.Now().Add(patience))
	var h [4]byte
	if _, err := io.ReadFull(nc, h[:]); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, binary.BigEndian.Uint32(h[:]))
	if _, err := io.ReadFull(nc, b); err != nil {
		t.Fatal(err)
	}
	return b
}

func random(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	r.Read(b)
	return b
}

// Messages of all sizes, in one write and in many.
func TestMessages(t *testing.T) {
	r := newRig(t, Config{}, echo)
	nc, p := r.dial()
	p.conn.(transport.Authenticator).Authenticated()
	for _, n := range []int{1, 3, 4, 100, 2000, 2032, 2033, 4092, 4096, 4097, 65536, 1 << 20, 8 << 20} {
		for _, step := range []int{n + 4, n/3 + 1} {
			msg := random(n)
			go func() {
				for b := frame(msg); len(b) > 0; {
					k := min(step, len(b))
					nc.Write(b[:k])
					b = b[k:]
				}
			}()
			if got := readFrame(t, nc); !bytes.Equal(got, msg) {
				t.Fatalf("%d bytes came back changed", n)
			}
		}
	}
	st := r.srv.Stats() // a client may have the last message before it is counted
	for end := time.Now().Add(patience); st.Received != st.Sent && time.Now().Before(end); st = r.srv.Stats() {
		time.Sleep(time.Millisecond)
	}
	if st.Received != st.Sent || st.Received < 16<<20 {
		t.Errorf("%+v", st)
	}
	nc.Close()
	if err := p.ended(t); err != nil {
		t.Error(err)
	}
}

// Many messages are sent at once and read late. Those that the socket does not take wait in order.
func TestBacklog(t *testing.T) {
	r := newRig(t, Config{}, echo)
	nc, p := r.dial()
	p.conn.(transport.Authenticator).Authenticated()
	const count, size = 64, 200 << 10
	go func() {
		for i := range count {
			msg := make([]byte, size)
			msg[0] = byte(i)
			nc.Write(frame(msg))
		}
	}()
	for r.srv.Stats().Received < count*size {
		time.Sleep(time.Millisecond)
	}
	for i := range count {
		if b := readFrame(t, nc); len(b) != size || b[0] != byte(i) {
			t.Fatalf("message %d is %d of %d bytes", i, b[0], len(b))
		}
	}
}

func TestEarlyLimits(t *testing.T) {
	r := newRig(t, Config{}, echo)
	nc, p := r.dial()
	msg := random(EarlyMessage)
	nc.Write(frame(msg))
	if !bytes.Equal(readFrame(t, nc), msg) {
		t.Fatal("the longest early message came back changed")
	}
	nc.Write([]byte{0, 1, 0, 1})
	if err := p.ended(t); !errors.Is(err, errTooLong) {
		t.Errorf("ended with %v", err)
	}
	// A claimed length alone causes no allocation.
	nc, _ = r.dial()
	nc.Write([]byte{0, 1, 0, 0, 1})
	for r.pool.Stats().Buffers == 0 {
		time.Sleep(time.Millisecond)
	}
	if st := r.pool.Stats(); st.Bytes > 2<<10 {
		t.Errorf("%d bytes are held for one", st.Bytes)
	}
}

func TestMarks(t *testing.T) {
	for name, b := range map[string][]byte{"NetBIOS": {0x81, 0, 0, 68}, "too long": {0, 0xff, 0xff, 0xff}, "text": []byte("GET / HTTP")} {
		r := newRig(t, Config{}, drop)
		nc, p := r.dial()
		nc.Write(b)
		if err := p.ended(t); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	r := newRig(t, Config{}, echo)
	nc, p := r.dial()
	nc.Write(append([]byte{0x85, 0, 0, 0, 0, 0, 0, 0}, frame([]byte("x"))...))
	if got := readFrame(t, nc); string(got) != "x" {
		t.Errorf("%q after keep-alives", got)
	}
	nc.Write([]byte{0, 0, 0, 9, 1})
	nc.Close()
	if err := p.ended(t); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a message cut off: %v", err)
	}
}

func TestTimeouts(t *testing.T) {
	r := newRig(t, Config{ReadTimeout: 50 * time.Millisecond}, drop)
	nc, p := r.dial()
	nc.Write([]byte{0, 0, 0, 9, 1})
	if err := p.ended(t); err == nil {
		t.Error("a message may take for ever")
	}
	// A client that reads nothing is disconnected.
	big := make([]byte, 4<<20)
	r = newRig(t, Config{WriteTimeout: 100 * time.Millisecond}, func(p *peer, buf *slab.Buf) {
		for range 16 {
			out, ok := p.conn.(*conn).srv.cfg.Buffers.TryGet(len(big))
			if !ok {
				break
			}
			_ = p.conn.Send(&transport.Outgoing{Pieces: []transport.Piece{{Buf: out, Len: len(big)}}}) // it does not block
		}
		buf.Release()
	})
	nc, p = r.dial()
	nc.Write(frame([]byte("go")))
	if err := p.ended(t); err == nil {
		t.Error("a client that reads nothing is waited for")
	}
}

func TestDrain(t *testing.T) {
	const size = 8 << 20
	r := newRig(t, Config{}, func(p *peer, buf *slab.Buf) {
		echo(p, buf)
		p.conn.Disconnect(errors.New("enough"), true)
		if p.conn.Send(&transport.Outgoing{}) == nil {
			p.t.Error("sent after the end")
		}
	})
	nc, p := r.dial()
	p.conn.(transport.Authenticator).Authenticated()
	go nc.Write(frame(make([]byte, size)))
	if got := readFrame(t, nc); len(got) != size {
		t.Fatalf("%d bytes", len(got))
	}
	if _, err := nc.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after the last message: %v", err)
	}
	nc.Write(frame([]byte("late"))) // the server reads it and drops it
	nc.Close()
	if err := p.ended(t); err != nil {
		t.Errorf("a drained connection ends with %v", err)
	}
}

func TestConnectionLimits(t *testing.T) {
	r := newRig(t, Config{Limits: connlimit.Config{PerClient: 2}}, drop)
	_, first := r.dial()
	r.dial()
	nc, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetReadDeadline(time.Now().Add(patience))
	if _, err := nc.Read(make([]byte, 1)); err != io.EOF && !isReset(err) {
		t.Fatalf("not refused: %v", err)
	}
	first.conn.Disconnect(nil, false)
	first.ended(t)
	for r.srv.Stats().Conns == 2 {
		time.Sleep(time.Millisecond)
	}
	r.dial()
}

// working is a handler that says whether its connection may be ended.
type working struct{ busy *atomic.Bool }

func (working) Message(buf *slab.Buf) { buf.Release() }
func (working) Closed(error)          {}
func (w working) Busy() bool          { return w.busy.Load() }

// TestHalfOpenAndIdle: a connection that does not authenticate is ended, and so is an idle one with nothing open.
func TestHalfOpenAndIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := slab.New(slab.Config{Debug: true})
		var busy atomic.Bool
		busy.Store(true)
		var conns []transport.Conn
		s, err := New(Config{
			Buffers: pool, Limits: connlimit.Config{HalfOpen: 8 * time.Second, Idle: 80 * time.Second},
			Handler: func(c transport.Conn) transport.Handler {
				conns = append(conns, c)
				return working{&busy}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		serve := func() (net.Conn, chan error) {
			ours, theirs := net.Pipe()
			end := make(chan error, 1)
			go func() { end <- s.ServeConn(context.Background(), theirs) }()
			synctest.Wait()
			return ours, end
		}
		_, end := serve()
		begin := time.Now()
		if err := <-end; err != connlimit.HalfOpen || time.Since(begin) > 9*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		nc, end := serve()
		conns[1].(transport.Authenticator).Authenticated()
		for range 5 {
			time.Sleep(time.Minute)
			if _, err := nc.Write(frame([]byte("hello"))); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		select {
		case err := <-end:
			t.Fatalf("ended although it is busy: %v", err)
		default:
		}
		busy.Store(false)
		if err := <-end; err != connlimit.Idle {
			t.Error(err)
		}
	})
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}

// A connection that the caller has accepted, without a socket below.
func TestServeConn(t *testing.T) {
	r := newRig(t, Config{}, echo)
	ours, theirs := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- r.srv.ServeConn(context.Background(), theirs) }()
	go ours.Write(frame([]byte("hello")))
	if got := readFrame(t, ours); string(got) != "hello" {
		t.Errorf("%q", got)
	}
	ours.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestShutdownWaits(t *testing.T) {
	r := newRig(t, Config{}, drop)
	_, p := r.dial()
	done := make(chan error, 1)
	go func() { done <- r.srv.Shutdown(context.Background()) }()
	select {
	case <-done:
		t.Fatal("shut down with a connection")
	case <-time.After(20 * time.Millisecond):
	}
	p.conn.Disconnect(nil, true)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := p.ended(t); err != nil {
		t.Error(err)
	}
	if err := r.srv.ServeConn(context.Background(), &net.TCPConn{}); !errors.Is(err, ErrServerClosed) {
		t.Error(err)
	}
}

// A message and its answer take memory only from the pool.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	var pieces [1]transport.Piece
	var o transport.Outgoing
	r := newRig(t, Config{}, func(p *peer, buf *slab.Buf) {
		pieces[0] = transport.Piece{Buf: buf, Len: buf.Len()}
		o.Pieces = pieces[:]
		_ = p.conn.Send(&o) // the connection is there
	})
	nc, p := r.dial()
	p.conn.(transport.Authenticator).Authenticated()
	msg := frame(make([]byte, 64<<10))
	back := make([]byte, len(msg))
	turn := func() {
		nc.Write(msg)
		if _, err := io.ReadFull(nc, back); err != nil {
			t.Fatal(err)
		}
	}
	turn()
	if n := testing.AllocsPerRun(200, turn); n >= 1 {
		t.Errorf("%v allocations per message", n)
	}
}

// TestClient runs both ends of a connection: messages may have any length from the beginning, and the end is reported once.
func TestClient(t *testing.T) {
	r := newRig(t, Config{}, func(p *peer, buf *slab.Buf) {
		p.conn.(transport.Authenticator).Authenticated()
		echo(p, buf)
	})
	nc, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte, 1)
	back := &peer{t: t, closed: make(chan error, 1), onMsg: func(_ *peer, buf *slab.Buf) {
		got <- bytes.Clone(buf.Bytes())
		buf.Release()
	}}
	c, err := NewClient(nc, Config{Buffers: r.pool, Handler: func(transport.Conn) transport.Handler { return back }})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 1000, 60 << 10, 8 << 20} {
		msg := random(n)
		buf, ok := r.pool.TryGet(n)
		if !ok {
			t.Fatal("the pool is exhausted")
		}
		copy(buf.Bytes(), msg)
		if err := c.Send(&transport.Outgoing{Pieces: []transport.Piece{{Buf: buf, Len: n}}}); err != nil {
			t.Fatal(err)
		}
		if b := <-got; !bytes.Equal(b, msg) {
			t.Fatalf("%d bytes came back changed", n)
		}
	}
	c.Disconnect(nil, false)
	if err := back.ended(t); err != nil {
		t.Error(err)
	}
	if _, err := NewClient(nc, Config{Buffers: r.pool}); err == nil {
		t.Error("a client without a handler")
	}
}
