package provider

import (
	"context"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
)

const (
	block   = 1 << 20
	memory  = 16 << 20 // registered on each side, bytes
	blocks  = memory / block
	inTurn  = 4 // requests posted before completions are polled
	pingLen = 4096
)

// sample is the cost of one run of a transfer.
type sample struct {
	bytes int64
	time  time.Duration
	cpu   time.Duration // of the process: both ends, user and system
}

func cpu() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func take(bytes int64, f func() error) (sample, error) {
	c, t := cpu(), time.Now()
	err := f()
	return sample{bytes: bytes, time: time.Since(t), cpu: cpu() - c}, err
}

// tcpPair is a plain connection with both its ends.
type tcpPair struct{ c, s net.Conn }

func dialTCP() (*tcpPair, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	s, err := l.Accept()
	return &tcpPair{c: c, s: s}, err
}

func (p *tcpPair) close() {
	_ = p.c.Close()
	_ = p.s.Close()
}

// stream sends n blocks, and one byte back once they have arrived. Like WRITEs and READs
// they use all of the memory in turn, because a single block would stay in the
// processor's cache.
func (p *tcpPair) stream(n int, src, dst []byte) error {
	done := make(chan error, 1)
	go func() {
		for i := range n {
			off := i % blocks * block
			if _, err := io.ReadFull(p.s, dst[off:off+block]); err != nil {
				done <- err
				return
			}
		}
		_, err := p.s.Write(dst[:1])
		done <- err
	}()
	for i := range n {
		off := i % blocks * block
		if _, err := p.c.Write(src[off : off+block]); err != nil {
			return err
		}
	}
	if err := <-done; err != nil {
		return err
	}
	_, err := io.ReadFull(p.c, src[:1])
	return err
}

// ping exchanges n messages each way.
func (p *tcpPair) ping(n int, a, b []byte) error {
	done := make(chan error, 1)
	go func() {
		for range n {
			if _, err := io.ReadFull(p.s, b[:pingLen]); err != nil {
				done <- err
				return
			}
			if _, err := p.s.Write(b[:pingLen]); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for range n {
		if _, err := p.c.Write(a[:pingLen]); err != nil {
			return err
		}
		if _, err := io.ReadFull(p.c, a[:pingLen]); err != nil {
			return err
		}
	}
	return <-done
}

// write WRITEs n blocks, then SENDs, and waits until the SEND has arrived.
func (k *pair) write(ctx context.Context, n int) error {
	if err := k.server.recv(0, 0); err != nil {
		return err
	}
	if err := k.flow(ctx, rdma.OpWrite, n); err != nil {
		return err
	}
	if err := k.client.post(rdma.OpSend, 0, 0, 0, k.server); err != nil {
		return err
	}
	_, err := k.server.wait(ctx, rdma.OpRecv, 1)
	return err
}

// read READs n blocks.
func (k *pair) read(ctx context.Context, n int) error { return k.flow(ctx, rdma.OpRead, n) }

func (k *pair) flow(ctx context.Context, op rdma.Opcode, n int) error {
	posted, done := 0, 0
	for done < n {
		for posted < n && posted-done < inTurn {
			if err := k.client.post(op, rdma.SendSignaled, posted%blocks*block, block, k.server); err != nil {
				return err
			}
			posted++
		}
		got, err := k.client.wait(ctx, op, 1)
		if err != nil {
			return err
		}
		done += got
	}
	return nil
}

// ping exchanges n SENDs each way.
func (k *pair) ping(ctx context.Context, n int) error {
	for _, s := range []*side{k.client, k.server} {
		if err := s.recv(0, pingLen); err != nil {
			return err
		}
	}
	done := make(chan error, 1)
	go func() { done <- k.server.echo(ctx, n, k.client, false) }()
	if err := k.client.echo(ctx, n, k.server, true); err != nil {
		return err
	}
	return <-done
}

func (s *side) echo(ctx context.Context, n int, peer *side, first bool) error {
	for i := range n {
		if first {
			if err := s.post(rdma.OpSend, 0, pingLen, pingLen, peer); err != nil {
				return err
			}
		}
		if _, err := s.wait(ctx, rdma.OpRecv, 1); err != nil {
			return err
		}
		if i < n-1 {
			if err := s.recv(0, pingLen); err != nil {
				return err
			}
		}
		if !first {
			if err := s.post(rdma.OpSend, 0, pingLen, pingLen, peer); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *side) recv(off, n int) error {
	s.sgl[1][0] = s.sge(off, n)
	s.rr[0] = rdma.RecvWR{SGL: s.sgl[1][:]}
	return s.qp.PostRecv(s.rr[:])
}

// post posts one request of n bytes at the same offset of both memories.
func (s *side) post(op rdma.Opcode, flags rdma.SendFlags, off, n int, peer *side) error {
	s.sgl[0][0] = s.sge(off, n)
	s.wr[0] = rdma.SendWR{Opcode: op, Flags: flags, SGL: s.sgl[0][:], RemoteAddr: peer.mr.Addr() + uint64(off), RKey: peer.mr.RKey()}
	return s.qp.PostSend(s.wr[:])
}

// wait takes completions until at least k of the operation have come. It returns their number.
func (s *side) wait(ctx context.Context, op rdma.Opcode, k int) (int, error) {
	got := 0
	for got < k {
		n := s.cq.Poll(s.wc[:])
		if n == 0 {
			if err := s.cq.Wait(ctx); err != nil {
				return got, err
			}
		}
		for _, wc := range s.wc[:n] {
			if wc.Status != rdma.StatusSuccess {
				return got, &rdma.CompletionError{Opcode: wc.Opcode, Status: wc.Status}
			}
			if wc.Opcode == op {
				got++
			}
		}
	}
	return got, nil
}
