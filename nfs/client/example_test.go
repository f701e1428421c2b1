package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"

	"fileserver/internal/slab"
	"fileserver/nfs"
	"fileserver/nfs/client"
	"fileserver/nfs/mount"
	"fileserver/nfs/rpc"
	v3 "fileserver/nfs/v3"
	"fileserver/vfs/vfstest/mem"
)

// serve serves an empty file system at an address of this machine, until stop is called.
func serve() (addr string, stop func()) {
	fs := mem.New(mem.Options{})
	x := new(nfs.Exports)
	x.Replace([]*nfs.Export{{
		ID: 1, Path: "/data", FS: fs, Squash: nfs.SquashNone,
		Clients: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Flavors: []rpc.Flavor{rpc.AuthSys},
	}})
	h, err := rpc.NewServer(rpc.Config{}, mount.New(x), v3.New(v3.Config{Exports: x, Verifier: nfs.NewWriteVerifier(x)}))
	if err != nil {
		panic(err)
	}
	s := rpc.NewTCPServer(rpc.TCPConfig{Handler: h, Buffers: slab.New(slab.Config{}), Logger: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go s.Serve(context.Background(), l)
	return l.Addr().String(), func() { _ = s.Shutdown(context.Background()); _ = fs.Close() }
}

func Example() {
	addr, stop := serve()
	defer stop()

	ctx := context.Background()
	caller, err := client.DialTCP(ctx, addr, client.Cred{})
	if err != nil {
		panic(err)
	}
	c, err := client.MountV3(ctx, caller, client.Options{Host: "127.0.0.1", Path: "/data", MountAddr: addr})
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx) // and the caller
	f, err := c.Open(ctx, "greeting", true)
	if err != nil {
		panic(err)
	}
	defer f.Close(ctx)

	io, err := f.NewIO(ctx, 4096) // one goroutine uses it
	if err != nil {
		panic(err)
	}
	defer io.Release()
	n := copy(io.Data(), "hello, world") // a multiple of 4
	if _, _, err := io.Write(ctx, 0, n, client.FileSync); err != nil {
		panic(err)
	}
	data, err := io.Read(ctx, 0, 4096)
	if err != nil {
		panic(err)
	}
	fmt.Printf("NFS %s: %s\n", c.Version(), data)
	// Output: NFS 3: hello, world
}
