package client_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fileserver/internal/slab"
	"fileserver/smb"
	"fileserver/smb/client"
	"fileserver/smb/crypt"
	"fileserver/smb/smbtest"
	"fileserver/smb/tcp"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/vfstest/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server that is reached over TCP.
type world struct {
	t    *testing.T
	pool *slab.Pool
	fs   *mem.FS
	addr string
}

func newWorld(t *testing.T, change func(*smb.Config)) *world {
	w := &world{t: t, pool: slab.New(slab.Config{Debug: true}), fs: mem.New(mem.Options{})}
	cfg := smb.Config{Buffers: w.pool, Locks: lock.New(), Users: smbtest.User("ann", "secret"), Logger: slog.New(slog.DiscardHandler), Name: "server", Workgroup: "W", Signing: smb.Desired}
	if change != nil {
		change(&cfg)
	}
	srv, err := smb.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	srv.SetShares([]*smb.Share{{Name: "data", FS: w.fs}, {Name: "vault", FS: w.fs, Encrypt: true}})
	s, err := tcp.New(tcp.Config{Handler: srv.Handler, Buffers: w.pool})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := errors.Join(srv.Shutdown(ctx), s.Shutdown(ctx)); err != nil {
			t.Error(err)
		}
		<-done
		w.fs.Close()
		for _, l := range w.pool.Leaks() {
			t.Errorf("leak: %s", l)
		}
	})
	return w
}

// connect connects to a share.
func (w *world) connect(share string, opt client.Options) (*client.Client, error) {
	opt.Pool, opt.Host = w.pool, "server"
	if opt.User == "" {
		opt.Identity = client.Identity{User: "ann", Password: "secret"}
	}
	c := client.New(opt)
	nc, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := tcp.NewClient(nc, tcp.Config{Buffers: w.pool, Handler: c.Handler}); err != nil {
		w.t.Fatal(err)
	}
	if err := c.Connect(w.t.Context(), share); err != nil {
		return nil, err
	}
	w.t.Cleanup(c.Close)
	return c, nil
}

// write writes n bytes of b.
func (w *world) write(ctx context.Context, f *client.File, q *client.Call, off uint64, b byte, n int) error {
	buf, err := w.pool.Get(ctx, n)
	if err != nil {
		return err
	}
	defer buf.Release()
	for i := range buf.Bytes() {
		buf.Bytes()[i] = b
	}
	k, err := f.Write(ctx, q, off, n, transport.Piece{Buf: buf, Len: n}, nil, false)
	if err == nil && k != n {
		err = errors.New("short WRITE")
	}
	return err
}

var openIf = client.How{Access: wire.FileReadData | wire.FileWriteData, Disposition: wire.FileOpenIf}

// TestFewCredits has many requests wait for few credits. Some of them take several credits.
func TestFewCredits(t *testing.T) {
	w := newWorld(t, func(c *smb.Config) { c.MaxCredits = 20 })
	c, err := w.connect("data", client.Options{Credits: 100})
	if err != nil {
		t.Fatal(err)
	}
	if c.Credits() > 20 {
		t.Fatalf("%d credits", c.Credits())
	}
	f, err := c.Open(t.Context(), "file", openIf)
	if err != nil || !f.Created || f.Size != 0 {
		t.Fatalf("%+v %v", f, err)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			q := c.NewCall()
			defer q.Release()
			n := 4096
			if i%2 == 0 {
				n = 1 << 20
			}
			for range 10 {
				off := uint64(i) << 20
				if err := w.write(t.Context(), f, q, off, byte(i), n); err != nil {
					t.Error(err)
					return
				}
				b, _, err := f.Read(t.Context(), q, off, n, nil)
				if err != nil || !bytes.Equal(b, bytes.Repeat([]byte{byte(i)}, n)) {
					t.Errorf("%d: %d of %d bytes, or wrong bytes: %v", i, len(b), n, err)
					return
				}
			}
		})
	}
	wg.Wait()
	q := c.NewCall()
	defer q.Release()
	if _, _, err := f.Read(t.Context(), q, 0, 8<<20, nil); err == nil || !strings.Contains(err.Error(), "a request takes 128: use smaller blocks") {
		t.Errorf("a request that takes more credits than the server grants: %v", err)
	}
	if err := errors.Join(f.Flush(t.Context()), f.Close(t.Context()), c.Remove(t.Context(), "file")); err != nil {
		t.Error(err)
	}
	var st *client.StatusError
	if err := c.Remove(t.Context(), "file"); !errors.As(err, &st) || st.Status != wire.StatusObjectNameNotFound {
		t.Errorf("removed twice: %v", err)
	}
}

// TestRequired signs and encrypts because the server requires it, not because of the options.
func TestRequired(t *testing.T) {
	w := newWorld(t, func(c *smb.Config) { c.Signing = smb.Required })
	c, err := w.connect("data", client.Options{})
	if err != nil || !c.Machine().Sign || c.Offloads() {
		t.Fatalf("%+v %v", c, err)
	}
	if _, err := c.Open(t.Context(), "file", openIf); err != nil {
		t.Error(err)
	}
	c, err = w.connect("vault", client.Options{Ciphers: []crypt.Cipher{crypt.CCM256}})
	if err != nil || !c.Machine().Encrypt || c.Machine().Cipher != crypt.CCM256 {
		t.Fatalf("%+v %v", c, err)
	}
	if _, err := c.Open(t.Context(), "file", openIf); err != nil {
		t.Error(err)
	}
	if _, err := w.connect("vault", client.Options{Dialects: []wire.Dialect{wire.Dialect210}}); err == nil {
		t.Error("a share that requires encryption was connected with 2.1")
	}
}

// TestRefusals wants the server's status in the error of each refusal.
func TestRefusals(t *testing.T) {
	w := newWorld(t, nil)
	var st *client.StatusError
	if _, err := w.connect("data", client.Options{Identity: client.Identity{User: "ann", Password: "wrong"}}); !errors.As(err, &st) || st.Status != wire.StatusLogonFailure {
		t.Errorf("wrong password: %v", err)
	}
	if _, err := w.connect("gone", client.Options{}); !errors.As(err, &st) || st.Status != wire.StatusBadNetworkName {
		t.Errorf("no share: %v", err)
	}
	if _, err := w.connect("data", client.Options{Encrypt: true, Dialects: []wire.Dialect{wire.Dialect202}}); err == nil {
		t.Error("encryption with 2.0.2")
	}
	c, err := w.connect("data", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(t.Context(), "a/b", openIf); !errors.As(err, &st) || st.Status != wire.StatusObjectPathNotFound {
		t.Errorf("no directory: %v", err)
	}
}

// TestCancel cancels a call that waits for its response and one that waits for a credit. Both return the caller's
// reason, and the connection ends.
func TestCancel(t *testing.T) {
	w := newWorld(t, func(c *smb.Config) { c.MaxCredits = 2 })
	c, err := w.connect("data", client.Options{Credits: 2})
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Open(t.Context(), "file", openIf)
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	held := make(chan struct{}, 10)
	w.fs.SetHook(func(_ context.Context, op mem.Op, _ vfs.Handle) error {
		if op == mem.OpRead {
			held <- struct{}{}
			<-release
		}
		return nil
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	why := errors.New("enough")
	for range 5 {
		wg.Go(func() {
			q := c.NewCall()
			defer q.Release()
			if _, _, err := f.Read(ctx, q, 0, 100, nil); !errors.Is(err, why) {
				t.Errorf("%v", err)
			}
		})
	}
	<-held
	cancel(why)
	wg.Wait()
	close(release)
	q := c.NewCall()
	defer q.Release()
	if _, _, err := f.Read(t.Context(), q, 0, 100, nil); err == nil {
		t.Error("the connection goes on")
	}
}
