package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"fileserver/internal/slab"
	"fileserver/smb"
	"fileserver/smb/client"
	"fileserver/smb/smbtest"
	"fileserver/smb/tcp"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
	"fileserver/vfs/lock"
	"fileserver/vfs/vfstest/mem"
)

// serve serves an empty share "data" at an address of this machine, until stop is called.
func serve(pool *slab.Pool) (addr string, stop func()) {
	log := slog.New(slog.DiscardHandler)
	srv, err := smb.NewServer(smb.Config{
		Buffers: pool, Locks: lock.New(), Users: smbtest.User("ann", "secret"), Logger: log, Name: "server", Workgroup: "W",
	})
	if err != nil {
		panic(err)
	}
	fs := mem.New(mem.Options{})
	srv.SetShares([]*smb.Share{{Name: "data", FS: fs}})
	s, err := tcp.New(tcp.Config{Handler: srv.Handler, Buffers: pool})
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(context.Background(), l) }()
	return l.Addr().String(), func() {
		_, _ = srv.Shutdown(context.Background()), s.Shutdown(context.Background())
		<-done
		_ = fs.Close()
	}
}

func Example() {
	ctx := context.Background()
	pool := slab.New(slab.Config{})
	addr, stop := serve(pool)
	defer stop()

	// The client is the handler of a connection, here one over TCP.
	c := client.New(client.Options{Pool: pool, Host: "server", Identity: client.Identity{User: "ann", Password: "secret"}})
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		panic(err)
	}
	if _, err := tcp.NewClient(nc, tcp.Config{Buffers: pool, Handler: c.Handler}); err != nil {
		panic(err)
	}
	if err := c.Connect(ctx, "data"); err != nil { // negotiates, logs on, and connects to the share
		panic(err)
	}
	defer c.Close()
	f, err := c.Open(ctx, "greeting", client.How{Access: wire.FileGenericRead | wire.FileGenericWrite, Disposition: wire.FileOpenIf})
	if err != nil {
		panic(err)
	}
	defer f.Close(ctx)

	q := c.NewCall() // one goroutine uses it
	defer q.Release()
	buf, err := pool.Get(ctx, 5)
	if err != nil {
		panic(err)
	}
	defer buf.Release()
	n := copy(buf.Bytes(), "hello")
	if _, err := f.Write(ctx, q, 0, n, transport.Piece{Buf: buf, Len: n}, nil, false); err != nil {
		panic(err)
	}
	data, _, err := f.Read(ctx, q, 0, 4096, nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("SMB %v: %s\n", c.Machine().Dialect, data)
	// Output: SMB 3.1.1: hello
}
