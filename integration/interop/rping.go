package interop

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"fileserver/internal/slab"
	"fileserver/rdma"
)

// Limits on the bytes of a round: those of rping, and our server's.
const (
	RpingMin = 23
	RpingMax = 1<<16 - 1

	rpingLimit = 8 << 20
)

const infoSize = 16 // bytes of a message: address 8, key 4, length 4; big endian

// appendInfo appends the message that names a buffer.
func appendInfo(b []byte, s rdma.Segment) []byte {
	b = binary.BigEndian.AppendUint64(b, s.Addr)
	b = binary.BigEndian.AppendUint32(b, s.RKey)
	return binary.BigEndian.AppendUint32(b, s.Length)
}

func parseInfo(b []byte) (rdma.Segment, error) {
	if len(b) != infoSize {
		return rdma.Segment{}, fmt.Errorf("interop: rping: a message of %d bytes, not %d", len(b), infoSize)
	}
	return rdma.Segment{Addr: binary.BigEndian.Uint64(b), RKey: binary.BigEndian.Uint32(b[8:]), Length: binary.BigEndian.Uint32(b[12:])}, nil
}

// RpingResult counts the rounds and their bytes.
type RpingResult struct {
	Rounds int
	Bytes  int64 // moved in each direction, by RDMA READ and by RDMA WRITE
}

// pinger is one side. Its memory holds a received and a sent message of infoSize, then a source and a sink.
type pinger struct {
	*conn
	pd   rdma.PD
	m    *memory
	size int
}

func newPinger(ctx context.Context, id rdma.ID, pool *slab.Pool, size int, access rdma.Access) (p *pinger, err error) {
	p = &pinger{size: size}
	if p.pd, err = id.Device().AllocPD(); err != nil {
		return nil, errors.Join(err, id.Close())
	}
	if p.m, err = register(ctx, pool, p.pd, 2*infoSize+2*size, access); err != nil {
		return nil, errors.Join(err, id.Close(), p.pd.Dealloc())
	}
	if p.conn, err = open(id, p.pd, 4, 2); err == nil {
		err = p.conn.recv(0, p.m.sge(0, infoSize))
	} else {
		err = errors.Join(err, id.Close())
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *pinger) close() error {
	var err error
	if p.conn != nil {
		err = p.conn.close()
	}
	return errors.Join(err, p.m.close(), p.pd.Dealloc())
}

func (p *pinger) source() []byte { return p.m.bytes()[2*infoSize:][:p.size] }
func (p *pinger) sink() []byte   { return p.m.bytes()[2*infoSize+p.size:] }

// say posts wrs and a SEND of the outgoing message, and waits for the SEND's completion.
func (p *pinger) say(ctx context.Context, wrs ...rdma.SendWR) error {
	wrs = append(wrs, rdma.SendWR{Opcode: rdma.OpSend, Flags: rdma.SendSignaled | rdma.SendFence, SGL: []rdma.SGE{p.m.sge(infoSize, infoSize)}})
	if err := p.qp.PostSend(wrs); err != nil {
		return err
	}
	_, err := p.wait(ctx, rdma.OpSend)
	return err
}

// hear waits for a message and returns the buffer that it names.
func (p *pinger) hear(ctx context.Context) (rdma.Segment, error) {
	wc, err := p.wait(ctx, rdma.OpRecv)
	if err != nil {
		return rdma.Segment{}, err
	}
	s, err := parseInfo(p.m.bytes()[:min(wc.ByteLen, infoSize+1)])
	if err != nil {
		return s, err
	}
	return s, p.recv(0, p.m.sge(0, infoSize))
}

// ServeRping serves one rping client until the client ends the connection. id is the
// client's connection request, which ServeRping closes. In each round the client SENDs
// the address of a buffer; the server READs it and SENDs a go-ahead. Then the client
// SENDs the address of a second buffer; the server WRITEs the same data there and SENDs
// another go-ahead.
func ServeRping(ctx context.Context, id rdma.ID, pool *slab.Pool) (RpingResult, error) {
	var r RpingResult
	access := rdma.AccessLocalWrite
	if id.Device().Caps().ReadSinkNeedsRemoteWrite {
		access |= rdma.AccessRemoteWrite
	}
	p, err := newPinger(ctx, id, pool, rpingLimit-infoSize, access)
	if err != nil {
		return r, err
	}
	if err = p.accept(); err == nil {
		for err == nil {
			err = p.serve(ctx, &r)
		}
		if errors.Is(err, errEnded) {
			err = nil
		}
	}
	return r, errors.Join(err, p.close())
}

// serve serves one round.
func (p *pinger) serve(ctx context.Context, r *RpingResult) error {
	src, err := p.hear(ctx)
	if err != nil {
		return err
	}
	if int(src.Length) > p.size {
		return fmt.Errorf("interop: rping: the client's buffer has %d bytes, which is outside the limits", src.Length)
	}
	data := p.m.sge(2*infoSize, int(src.Length))
	err = p.say(ctx, rdma.SendWR{Opcode: rdma.OpRead, SGL: []rdma.SGE{data}, RemoteAddr: src.Addr, RKey: src.RKey})
	if err != nil {
		return err
	}
	dst, err := p.hear(ctx)
	if err != nil {
		return unfinished(err)
	}
	if dst.Length < data.Length {
		return fmt.Errorf("interop: rping: the client's second buffer is too small: %d bytes into %d", data.Length, dst.Length)
	}
	err = p.say(ctx, rdma.SendWR{Opcode: rdma.OpWrite, SGL: []rdma.SGE{data}, RemoteAddr: dst.Addr, RKey: dst.RKey})
	r.Rounds, r.Bytes = r.Rounds+1, r.Bytes+int64(data.Length)
	return err
}

// unfinished returns the error for a connection that ended within a round.
func unfinished(err error) error {
	if errors.Is(err, errEnded) {
		return errors.New("interop: rping: the peer has ended the connection within a round")
	}
	return err
}

// Rping is the client of count rounds of size bytes. id was resolved to the server, which
// is rping -s or [ServeRping]; Rping closes it. It is an error if the server returns
// other data. The data is text that ends with a NUL, because rping takes the length of
// what it returns as that of a string.
func Rping(ctx context.Context, id rdma.ID, pool *slab.Pool, count, size int) (RpingResult, error) {
	var r RpingResult
	if size < RpingMin || size > rpingLimit-infoSize {
		return r, errors.Join(fmt.Errorf("interop: rping: size %d", size), id.Close())
	}
	p, err := newPinger(ctx, id, pool, size, rdma.AccessLocalWrite|rdma.AccessRemoteRead|rdma.AccessRemoteWrite)
	if err != nil {
		return r, err
	}
	if err = id.Connect(ctx, rdma.ConnParams{IRD: 1, ORD: 1, RNRRetry: 7}); err == nil {
		for r.Rounds < count && err == nil {
			err = unfinished(p.ping(ctx, &r))
		}
		if err == nil {
			err = p.leave(ctx)
		}
	}
	return r, errors.Join(err, p.close())
}

// ping does one round.
func (p *pinger) ping(ctx context.Context, r *RpingResult) error {
	src, dst := p.source(), p.sink()
	text := fmt.Appendf(src[:0], "rdma-ping-%d: ", r.Rounds)
	for i := len(text); i < len(src); i++ {
		src[i] = byte('A' + (r.Rounds+i)%58)
	}
	src[len(src)-1] = 0
	clear(dst)
	for _, off := range []int{0, p.size} { // the server READs the first, WRITEs the second
		at := rdma.Segment{Addr: p.m.mr.Addr() + uint64(2*infoSize+off), RKey: p.m.mr.RKey(), Length: uint32(p.size)}
		appendInfo(p.m.bytes()[infoSize:infoSize], at)
		if err := p.say(ctx); err != nil {
			return err
		}
		if _, err := p.hear(ctx); err != nil { // a go-ahead names no buffer
			return err
		}
	}
	if !bytes.Equal(src, dst) {
		return fmt.Errorf("interop: rping: round %d: the %d bytes that came back differ", r.Rounds, p.size)
	}
	r.Rounds, r.Bytes = r.Rounds+1, r.Bytes+int64(p.size)
	return nil
}

// leave disconnects and waits for the end of the connection.
func (c *conn) leave(ctx context.Context) error {
	if err := c.id.Disconnect(); err != nil {
		return err
	}
	if _, err := c.wait(ctx, rdma.OpRecv); !errors.Is(err, errEnded) {
		return fmt.Errorf("interop: after Disconnect: %w", err)
	}
	return nil
}
