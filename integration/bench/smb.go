package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/smbdirect"
)

const smbUser, smbPassword = "bench", "secret"

// must makes the test client's failures panics, which smbClient turns into errors.
type must struct{ testing.TB }

type failure struct{ error }

func (must) Helper()                   {}
func (must) Fatal(args ...any)         { panic(failure{fmt.Errorf("%s", fmt.Sprint(args...))}) }
func (must) Fatalf(f string, a ...any) { panic(failure{fmt.Errorf(f, a...)}) }

// framed is a connection as SMB over TCP uses it. What Recv returns is valid until the next Recv.
type framed struct {
	nc   net.Conn
	head [4]byte
	buf  []byte
}

func (f *framed) Send(msg []byte) error {
	var h [4]byte
	binary.BigEndian.PutUint32(h[:], uint32(len(msg)))
	bufs := net.Buffers{h[:], msg}
	_, err := bufs.WriteTo(f.nc)
	return err
}

func (f *framed) Recv(d time.Duration) ([]byte, error) {
	if err := f.nc.SetReadDeadline(time.Now().Add(d)); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(f.nc, f.head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(f.head[:]))
	if cap(f.buf) < n+64 {
		f.buf = make([]byte, n+64)
	}
	_, err := io.ReadFull(f.nc, f.buf[:n])
	return f.buf[:n], err
}

func (f *framed) Close() { f.nc.Close() }

// smbClient is a session with the file open.
type smbClient struct {
	c    *smbtest.Client
	file wire.FileID
	mem  []*slab.Buf // with RDMA: one for each request outstanding
	segs []rdma.Segment
	data []byte
}

// newSMB logs on over nc and opens the file of the share.
func newSMB(nc net.Conn, share string) (s *smbClient, err error) {
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(failure)
			if !ok {
				panic(p)
			}
			nc.Close()
			s, err = nil, f.error
		}
	}()
	s = &smbClient{c: smbtest.NewClient(must{}, &framed{nc: nc}), data: make([]byte, 1<<20)}
	s.c.Ciphers = nil
	s.c.Connect(wire.Dialect302)
	s.c.MustLogin(smbUser, smbPassword)
	s.c.Tree(`\\bench\`+share, wire.StatusSuccess)
	q := wire.CreateRequest{
		ImpersonationLevel: wire.ImpersonationImpersonation, DesiredAccess: wire.FileGenericRead | wire.FileGenericWrite,
		ShareAccess: wire.FileShareRead | wire.FileShareWrite, Disposition: wire.FileOpen, Name: wire.AppendUTF16(nil, "file"),
	}
	// Credits for all that will be outstanding.
	r := s.c.Do(smbtest.Request{Command: wire.CmdCreate, Body: q.Append, Ask: 512})[0]
	if r.Status != wire.StatusSuccess {
		return nil, fmt.Errorf("CREATE: %v", r.Status)
	}
	resp, err := wire.ParseCreateResponse(r.Msg)
	s.file = resp.FileID
	for err == nil && s.c.Credits < 300 {
		if r := s.c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Ask: 256})[0]; r.Credits <= 1 && s.c.Credits < 200 {
			return nil, fmt.Errorf("the server grants %d credits only", s.c.Credits)
		}
	}
	return s, err
}

// register makes memory that the server places data in, and takes it from.
func (s *smbClient) register(ctx context.Context, m *rdma.Memory, depth, size int) error {
	for range depth {
		b, err := m.Pool().Get(ctx, size)
		if err != nil {
			return err
		}
		s.mem = append(s.mem, b)
		seg, err := m.Segment(b, 0, size)
		if err != nil {
			return err
		}
		s.segs = append(s.segs, seg)
	}
	return nil
}

func (s *smbClient) unregister() {
	for _, b := range s.mem {
		b.Release()
	}
	s.mem, s.segs = nil, nil
}

// send sends request i.
func (s *smbClient) send(write bool, size, i int) {
	off := uint64(rand.IntN(fileSize/size)) * uint64(size)
	var info wire.Descriptors
	ch := wire.ChannelNone
	if len(s.segs) > 0 {
		seg := s.segs[i%len(s.segs)]
		info.Add(seg.Addr, seg.RKey, uint32(size))
		ch = wire.ChannelRDMAV1
	}
	q := smbtest.Request{Charge: uint16(max(1, size>>16)), Ask: uint16(max(1, size>>16))}
	if write {
		w := wire.WriteRequest{Offset: off, FileID: s.file, Channel: ch, ChannelInfo: info}
		if ch == wire.ChannelNone {
			w.Data = s.data[:size]
		} else {
			w.RemainingBytes = uint32(size)
		}
		q.Command, q.Body = wire.CmdWrite, w.Append
	} else {
		r := wire.ReadRequest{Length: uint32(size), Offset: off, FileID: s.file, Channel: ch, ChannelInfo: info}
		q.Command, q.Body = wire.CmdRead, r.Append
	}
	s.c.Send(s.c.Message(q))
}

// recv takes a response and checks how much it moved.
func (s *smbClient) recv(write bool, size int) error {
	r := s.c.Recv()[0]
	if r.Status == wire.StatusPending {
		return s.recv(write, size)
	}
	n := 0
	if write {
		w, err := wire.ParseWriteResponse(r.Msg)
		if n = int(w.Count); err != nil {
			n = -1
		}
	} else {
		d, err := wire.ParseReadResponse(r.Msg)
		if n = int(d.DataLength + d.DataRemaining); err != nil {
			n = -1
		}
	}
	if r.Status != wire.StatusSuccess || n != size {
		return fmt.Errorf("%v: %v, %d of %d bytes", r.Command, r.Status, n, size)
	}
	return nil
}

// run makes n requests, depth at once.
func (s *smbClient) run(write bool, size, depth, n int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(failure)
			if !ok {
				panic(p)
			}
			err = f.error
		}
	}()
	for i := range min(depth, n) {
		s.send(write, size, i)
	}
	for i := range n {
		if err := s.recv(write, size); err != nil {
			return err
		}
		if i+depth < n {
			s.send(write, size, i+depth)
		}
	}
	return nil
}

type smbLoad struct {
	what     string
	write    bool
	size     int
	depth, n int
}

var smbLoads = []smbLoad{
	{"SMB READ 1 MiB, depth 8", false, 1 << 20, 8, 200},
	{"SMB WRITE 1 MiB, depth 8", true, 1 << 20, 8, 200},
	{"SMB random READ 4 KiB, depth 16", false, 4 << 10, 16, 4000},
}

// smbRows measures SMB over SMB Direct beside TCP, and TCP signed and encrypted beside plain.
func (r *rig) smbRows(ctx context.Context, rounds, scale int) (rows []row, err error) {
	direct, err := smbdirect.DialNet(ctx, r.provider, r.smbd, r.memory, smbdirect.Params{})
	if err != nil {
		return nil, err
	}
	defer direct.Close()
	overRDMA, err := newSMB(direct, "data")
	if err != nil {
		return nil, fmt.Errorf("SMB Direct: %w", err)
	}
	overTCP, err := dialSMB(ctx, r.smb, "data")
	if err != nil {
		return nil, err
	}
	defer overTCP.c.W.Close()
	var samba *smbClient
	if r.samba != nil {
		if samba, err = dialSMB(ctx, r.samba.addr, "data"); err != nil {
			return nil, fmt.Errorf("smbd: %w", err)
		}
		defer samba.c.W.Close()
	}
	rows = append(rows, row{what: "SMB, with our client"})
	for _, l := range smbLoads {
		if err := overRDMA.register(ctx, r.mem, l.depth, l.size); err != nil {
			return nil, err
		}
		modes := []mode{{s: overRDMA}, {s: overTCP}, {s: overTCP, sign: true}, {s: overTCP, encrypt: true}}
		if samba != nil {
			modes = append(modes,
				mode{s: samba, samba: true}, mode{s: samba, samba: true, sign: true}, mode{s: samba, samba: true, encrypt: true})
		}
		f, err := r.measure(modes, l, rounds, scale)
		overRDMA.unregister()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.what, err)
		}
		rows = append(rows,
			compareCost(l.what+", SMB Direct beside TCP", l.size, f[0], f[1]),
			compareCost(l.what+", signed beside plain on TCP", l.size, f[2], f[1]),
			compareCost(l.what+", encrypted beside plain on TCP", l.size, f[3], f[1]))
		if samba != nil {
			rows = append(rows,
				compareCost(l.what+", TCP, beside Samba", l.size, f[1], f[4]),
				compareCost(l.what+", TCP signed, beside Samba", l.size, f[2], f[5]),
				compareCost(l.what+", TCP encrypted, beside Samba", l.size, f[3], f[6]))
		}
	}
	return rows, nil
}

// mode is one way to do a load.
type mode struct {
	s             *smbClient
	samba         bool // beside whom it is
	sign, encrypt bool
}

func (r *rig) measure(modes []mode, l smbLoad, rounds, scale int) ([]series, error) {
	out := make([]series, len(modes))
	for i := range rounds + 1 {
		for k, m := range modes {
			m.s.c.Sign, m.s.c.Encrypt = m.sign, m.encrypt
			cpu := r.cpu
			if m.samba {
				cpu = r.samba.cpu
			}
			before, err := cpu()
			if err != nil {
				return nil, err
			}
			start := time.Now()
			n := l.n * scale
			if err := m.s.run(l.write, l.size, l.depth, n); err != nil {
				return nil, err
			}
			took := time.Since(start)
			after, err := cpu()
			if err != nil {
				return nil, err
			}
			if i > 0 { // the first warms up
				out[k].add(float64(n)/took.Seconds(), n, after-before)
			}
		}
	}
	return out, nil
}

func dialSMB(ctx context.Context, addr netip.AddrPort, share string) (*smbClient, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return nil, err
	}
	return newSMB(nc, share)
}
