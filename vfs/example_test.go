package vfs_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"fileserver/internal/slab"
	"fileserver/nfs"
	"fileserver/nfs/client"
	"fileserver/nfs/mount"
	"fileserver/nfs/rpc"
	v3 "fileserver/nfs/v3"
	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

// To serve a backend, pass it to a protocol as the file system of a share. This example serves one in memory by
// NFSv3 over TCP.
func Example() {
	ctx := context.Background()
	var backend vfs.FS = mem.New(mem.Options{})
	defer backend.Close()

	exports := new(nfs.Exports)
	exports.Replace([]*nfs.Export{{
		ID: 1, Path: "/data", FS: backend, Squash: nfs.SquashNone,
		Clients: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Flavors: []rpc.Flavor{rpc.AuthSys},
	}})
	handler, err := rpc.NewServer(rpc.Config{},
		mount.New(exports), v3.New(v3.Config{Exports: exports, Verifier: nfs.NewWriteVerifier(exports)}))
	if err != nil {
		panic(err)
	}
	server := rpc.NewTCPServer(rpc.TCPConfig{Handler: handler, Buffers: slab.New(slab.Config{})})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go server.Serve(ctx, l)
	defer server.Shutdown(ctx)

	// A client writes a file, and the backend has it.
	caller, err := client.DialTCP(ctx, l.Addr().String(), client.Cred{})
	if err != nil {
		panic(err)
	}
	c, err := client.MountV3(ctx, caller, client.Options{Path: "/data", MountAddr: l.Addr().String()})
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)
	f, err := c.Open(ctx, "hello", true)
	if err != nil {
		panic(err)
	}
	defer f.Close(ctx)

	root, err := backend.Root(ctx)
	if err != nil {
		panic(err)
	}
	defer root.Release()
	n, err := root.Lookup(ctx, &vfs.Cred{}, "hello")
	if err != nil {
		panic(err)
	}
	defer n.Release()
	fmt.Println(n.Kind() == vfs.KindRegular)
	// Output: true
}
