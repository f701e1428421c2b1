package smb

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fileserver/internal/slab"
	"fileserver/smb/ntlm"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs/lock"
	"fileserver/vfs/vfstest/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testUsers = smbtest.Users{
	"ann": {Name: "Ann", NTHash: ntlm.NTHash("secret"), UID: 0, GID: 0},
	"bob": {Name: "bob", NTHash: ntlm.NTHash("hidden"), UID: 1000, GID: 100, Groups: []uint32{4}},
}

// env is a server with two shares: "data", and "vault", which wants encryption.
type env struct {
	t    testing.TB
	pool *slab.Pool
	srv  *Server
	fs   *mem.FS
}

func newEnv(t testing.TB, change func(*Config)) *env {
	t.Helper()
	e := &env{t: t, pool: slab.New(slab.Config{Limit: 512 << 20, Debug: true})}
	cfg := Config{
		Buffers: e.pool, Locks: lock.New(), Users: testUsers, Logger: slog.New(slog.DiscardHandler),
		GUID: [16]byte{9}, Name: "server", Workgroup: "WORKGROUP", Signing: Desired,
		Interfaces: func() []Interface { return nil },
	}
	if change != nil {
		change(&cfg)
	}
	srv, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	e.srv = srv
	e.fs = mem.New(mem.Options{})
	srv.SetShares([]*Share{{Name: "data", FS: e.fs}, {Name: "vault", FS: e.fs, Encrypt: true}, {Name: "ro", FS: e.fs, ReadOnly: true}})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), smbtest.Timeout)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		e.fs.Close()
		deadline := time.Now().Add(smbtest.Timeout)
		for e.pool.Stats().Buffers > 0 && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		for _, l := range e.pool.Leaks() {
			t.Errorf("leak: %v", l)
		}
	})
	return e
}

// client connects a client.
func (e *env) client() *smbtest.Client {
	e.t.Helper()
	return smbtest.NewClient(e.t, smbtest.NewPipe(e.t, e.pool, e.srv.Handler, false))
}

// rdmaClient connects a client with RDMA.
func (e *env) rdmaClient() (*smbtest.Client, *smbtest.Pipe) {
	e.t.Helper()
	p := smbtest.NewPipe(e.t, e.pool, e.srv.Handler, true)
	return smbtest.NewClient(e.t, p), p
}

// loggedIn connects a client with a session of the dialect.
func (e *env) loggedIn(d wire.Dialect) *smbtest.Client {
	e.t.Helper()
	c := e.client()
	c.Connect(d)
	c.MustLogin("ann", "secret")
	return c
}

// mounted connects a client with a session and a tree.
func (e *env) mounted(d wire.Dialect) *smbtest.Client {
	e.t.Helper()
	c := e.loggedIn(d)
	c.Tree(`\\server\data`, wire.StatusSuccess)
	return c
}
