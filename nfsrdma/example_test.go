package nfsrdma_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"

	"fileserver/internal/slab"
	"fileserver/nfs/rpc"
	"fileserver/nfs/rpc/rpcclient"
	"fileserver/nfs/xdr"
	"fileserver/nfsrdma"
	"fileserver/rdma"
	"fileserver/rdma/iwarp"
)

// greeting is an RPC program with one procedure beside NULL: it takes a name and returns a greeting.
var greeting = &rpc.Program{Prog: 0x20000001, Vers: 1, Name: "greeting", Procs: []rpc.Procedure{
	0: {Name: "NULL"},
	1: {Name: "GREET", Serve: func(_ context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
		name := c.Args.String(64)
		if c.Args.Finish() != nil {
			return rpc.GarbageArgs
		}
		r.Head = xdr.AppendString(r.Head, "Hello, "+name)
		return rpc.Success
	}},
}}

// serve answers calls of the program on a provider's address, until stop is called.
func serve(ctx context.Context, p rdma.Provider, memory func(rdma.Device) (*rdma.Memory, error)) (addr netip.AddrPort, stop func(), err error) {
	handler, err := rpc.NewServer(rpc.Config{}, greeting)
	if err != nil {
		return addr, nil, err
	}
	srv, err := nfsrdma.NewServer(nfsrdma.Config{Handler: handler, Memory: memory, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return addr, nil, err
	}
	ln, err := p.Listen(ctx, netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		return addr, nil, err
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, ln) }()
	return ln.Addr(), func() {
		_ = ln.Close()
		if err := <-served; err != nil {
			fmt.Println(err)
		}
		if err := srv.Shutdown(ctx); err != nil {
			fmt.Println(err)
		}
	}, nil
}

// A server answers the calls of an RPC program; a client makes one.
func Example() {
	ctx := context.Background()
	provider, err := iwarp.New(iwarp.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer provider.Close()
	devices, err := provider.Devices()
	if err != nil {
		fmt.Println(err)
		return
	}
	domain := rdma.NewDomain(devices[0], slab.New(slab.Config{Limit: 64 << 20}), false)
	memory := func(rdma.Device) (*rdma.Memory, error) { return domain.Attach() }
	addr, stop, err := serve(ctx, provider, memory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()

	c, err := nfsrdma.Dial(ctx, provider, addr, nfsrdma.ClientConfig{Memory: memory})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	const xid, greet = 1, 1
	call := rpc.AppendCall(nil, xid, greeting.Prog, greeting.Vers, greet, rpc.AuthNone, nil)
	var resp nfsrdma.Response
	if err := c.Do(ctx, &nfsrdma.Request{Head: xdr.AppendString(call, "RDMA")}, &resp); err != nil {
		fmt.Println(err)
		return
	}
	stat, results, err := rpcclient.ParseReply(resp.Head)
	if err != nil {
		fmt.Println(err)
		return
	}
	d := xdr.NewDecoder(results)
	fmt.Println(stat, d.String(100))
	// Output: SUCCESS Hello, RDMA
}
