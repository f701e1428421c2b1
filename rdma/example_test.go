package rdma_test

import (
	"context"
	"fmt"
	"net/netip"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/iwarp"
)

// printer prints the messages of a connection, and posts the receive of each again.
type printer struct {
	side string
	ep   *rdma.Endpoint
}

func (p *printer) Received(buf *slab.Buf, _ uint32, _ bool) {
	fmt.Printf("%s: received %q\n", p.side, buf.Bytes())
	_ = p.ep.Repost(buf) // when it fails the connection is at its end, and Closed says why
}

func (p *printer) Closed(err error) {
	if err != nil {
		fmt.Printf("%s: %v\n", p.side, err)
	}
}

// endpoint makes the queue pair of an ID, with memory of its domain, and posts its receives.
func endpoint(id rdma.ID, domain *rdma.Domain, side string) (*rdma.Endpoint, error) {
	mem, err := domain.Attach()
	if err != nil {
		return nil, err
	}
	p := &printer{side: side}
	p.ep, err = rdma.NewEndpoint(id, rdma.EndpointConfig{Memory: mem, SendDepth: 8, RecvDepth: 8, RecvSize: 1024, Handler: p})
	return p.ep, err
}

// A listener accepts a connection, and is sent a message.
func Example() {
	ctx := context.Background()
	pool := slab.New(slab.Config{Limit: 64 << 20})
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
	domain := rdma.NewDomain(devices[0], pool, false)
	ln, err := provider.Listen(ctx, netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ln.Close()

	served := make(chan error, 1)
	go func() {
		served <- func() error {
			id, err := ln.Accept(ctx)
			if err != nil {
				return err
			}
			ep, err := endpoint(id, domain, "server") // before Accept: the peer may send at once
			if err != nil {
				return err
			}
			if err := id.Accept(rdma.ConnParams{RNRRetry: 7}); err != nil {
				return err
			}
			ep.Run(ctx) // until the peer disconnects
			return nil
		}()
	}()

	id, err := provider.Resolve(ctx, ln.Addr())
	if err != nil {
		fmt.Println(err)
		return
	}
	ep, err := endpoint(id, domain, "client")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := id.Connect(ctx, rdma.ConnParams{RNRRetry: 7}); err != nil {
		fmt.Println(err)
		return
	}
	ep.Start()
	buf, err := pool.Get(ctx, 1024)
	if err != nil {
		fmt.Println(err)
		return
	}
	op := ep.NewSendOp()
	op.Send(buf, copy(buf.Bytes(), "hello"))
	if err := ep.Post(ctx, op); err != nil {
		fmt.Println(err)
	}
	ep.Disconnect(nil) // what was posted before is still sent
	<-ep.Done()
	if err := <-served; err != nil {
		fmt.Println(err)
	}
	// Output:
	// server: received "hello"
}
