// Command rpingd is a server for rdma-core's rping client on the iwarp provider:
// the smallest proof that a kernel's siw, or an adapter, understands us.
//
// The client SENDs the address of a buffer; rpingd READs it and SENDs a go-ahead;
// the client SENDs the address of a second buffer; rpingd WRITEs to it what it has
// read and SENDs; then the next round. The client compares (rping -V).
//
//	rpingd -listen 0.0.0.0:7174        and        rping -c -a HOST -C 100 -S 65536 -V
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/iwarp"
)

const (
	infoLen = 16 // address, key, length, all big endian
	maxSize = 16 << 20
	recvs   = 2
)

func main() {
	listen := flag.String("listen", "0.0.0.0:7174", "`address` to listen on")
	crc := flag.Bool("crc", false, "ask for CRC")
	fpdu := flag.Int("fpdu", 0, "largest FPDU, `bytes`; 0: by peer")
	verbose := flag.Bool("v", false, "log everything")
	flag.Parse()
	level := slog.LevelInfo
	if *verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	cfg := iwarp.Config{Log: log, MaxFPDU: *fpdu}
	if *crc {
		cfg.CRC = iwarp.CRCAlways
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *listen, cfg); err != nil && !errors.Is(err, context.Canceled) {
		log.Error("rpingd", "err", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listen string, cfg iwarp.Config) error {
	addr, err := netip.ParseAddrPort(listen)
	if err != nil {
		return err
	}
	p, err := iwarp.New(cfg)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	l, err := p.Listen(ctx, addr)
	if err != nil {
		return err
	}
	pool := slab.New(slab.Config{Limit: 1 << 30})
	for {
		id, err := l.Accept(ctx)
		if err != nil {
			return err
		}
		go func() {
			rounds, err := serve(ctx, id, pool)
			cfg.Log.Info("rping", "remote", id.RemoteAddr(), "rounds", rounds, "err", err)
			_ = id.Close()
		}()
	}
}

// server is one connection. Memory: a receive per slot of infoLen bytes, then the data.
type server struct {
	qp  rdma.QP
	cq  rdma.CQ
	mr  rdma.MR
	mem []byte
}

func serve(ctx context.Context, id rdma.ID, pool *slab.Pool) (rounds int, err error) {
	buf, err := pool.Get(ctx, slab.MaxSize)
	if err != nil {
		return 0, err
	}
	defer buf.Release()
	pd, err := id.Device().AllocPD()
	if err != nil {
		return 0, err
	}
	s := &server{mem: buf.Bytes()}
	if s.mr, err = pd.RegMR(s.mem, rdma.AccessLocalWrite); err != nil {
		return 0, err
	}
	defer func() { _ = s.mr.Deregister() }()
	if s.cq, err = id.Device().CreateCQ(16); err != nil {
		return 0, err
	}
	if s.qp, err = id.CreateQP(pd, rdma.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, SendDepth: 8, RecvDepth: recvs}); err != nil {
		return 0, err
	}
	defer func() { _ = id.Close() }() // before the region goes
	for i := range recvs {
		if err := s.recv(i); err != nil {
			return 0, err
		}
	}
	peer := id.Remote()
	if err := id.Accept(rdma.ConnParams{IRD: peer.IRD, ORD: peer.ORD}); err != nil {
		return 0, err
	}
	for ; ; rounds++ {
		src, err := s.info(ctx)
		if err != nil {
			if errors.Is(err, errEnded) {
				err = nil
			}
			return rounds, err
		}
		n := int(src.Length)
		data := rdma.SGE{Addr: s.mr.Addr() + infoLen*recvs, Length: uint32(n), LKey: s.mr.LKey()}
		if n > maxSize-infoLen*recvs {
			return rounds, fmt.Errorf("buffer of %d bytes", n)
		}
		err = s.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpRead, SGL: []rdma.SGE{data}, RemoteAddr: src.Addr, RKey: src.RKey},
			{Opcode: rdma.OpSend, Flags: rdma.SendFence, SGL: []rdma.SGE{{Addr: s.mr.Addr(), Length: infoLen, LKey: s.mr.LKey()}}}})
		if err != nil {
			return rounds, err
		}
		sink, err := s.info(ctx)
		if err != nil {
			return rounds, err
		}
		data.Length = min(data.Length, sink.Length)
		err = s.qp.PostSend([]rdma.SendWR{{Opcode: rdma.OpWrite, SGL: []rdma.SGE{data}, RemoteAddr: sink.Addr, RKey: sink.RKey},
			{Opcode: rdma.OpSend, SGL: []rdma.SGE{{Addr: s.mr.Addr(), Length: infoLen, LKey: s.mr.LKey()}}}})
		if err != nil {
			return rounds, err
		}
	}
}

var errEnded = errors.New("the client has ended")

func (s *server) recv(i int) error {
	return s.qp.PostRecv([]rdma.RecvWR{{ID: uint64(i), SGL: []rdma.SGE{{Addr: s.mr.Addr() + uint64(i)*infoLen, Length: infoLen, LKey: s.mr.LKey()}}}})
}

func (s *server) next(ctx context.Context) (rdma.WC, error) {
	var wc [1]rdma.WC
	for s.cq.Poll(wc[:]) == 0 {
		if err := s.cq.Wait(ctx); err != nil {
			return wc[0], err
		}
	}
	if wc[0].Status == rdma.StatusWRFlushErr {
		return wc[0], errEnded
	}
	if wc[0].Status != rdma.StatusSuccess {
		return wc[0], &rdma.CompletionError{Opcode: wc[0].Opcode, Status: wc[0].Status}
	}
	return wc[0], nil
}

// info waits for the client to name a buffer.
func (s *server) info(ctx context.Context) (rdma.Segment, error) {
	for {
		wc, err := s.next(ctx)
		if err != nil {
			return rdma.Segment{}, err
		}
		if wc.Opcode != rdma.OpRecv {
			continue
		}
		if wc.ByteLen != infoLen {
			return rdma.Segment{}, fmt.Errorf("message of %d bytes, want %d", wc.ByteLen, infoLen)
		}
		b := s.mem[wc.ID*infoLen:]
		seg := rdma.Segment{Addr: binary.BigEndian.Uint64(b), RKey: binary.BigEndian.Uint32(b[8:]), Length: binary.BigEndian.Uint32(b[12:])}
		return seg, s.recv(int(wc.ID))
	}
}
