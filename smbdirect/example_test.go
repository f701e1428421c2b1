package smbdirect_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/netip"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/iwarp"
	"fileserver/smb/transport"
	"fileserver/smbdirect"
)

// echo sends each message back.
type echo struct{ c transport.Conn }

func (e echo) Message(buf *slab.Buf) {
	_ = e.c.Send(&transport.Outgoing{Pieces: []transport.Piece{{Buf: buf, Len: buf.Len()}}}) // it has taken buf over
}

func (e echo) Closed(error) {}

// serve sends the messages of clients back, on a provider's address, until stop is called.
func serve(ctx context.Context, p rdma.Provider, memory func(rdma.Device) (*rdma.Memory, error)) (addr netip.AddrPort, stop func(), err error) {
	srv, err := smbdirect.NewServer(smbdirect.Config{
		Memory: memory, Logger: slog.New(slog.DiscardHandler),
		Handler: func(c transport.Conn) transport.Handler { return echo{c} },
	})
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

// A client speaks to a server through a net.Conn: messages, each behind its length in four bytes.
func ExampleDialNet() {
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

	nc, err := smbdirect.DialNet(ctx, provider, addr, memory, smbdirect.Params{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nc.Close()
	message := []byte("hello")
	if _, err := nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)); err != nil {
		fmt.Println(err)
		return
	}
	answer := make([]byte, 4+len(message))
	if _, err := io.ReadFull(nc, answer); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d bytes: %s\n", binary.BigEndian.Uint32(answer), answer[4:])
	// Output: 5 bytes: hello
}
