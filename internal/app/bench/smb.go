package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"fileserver/rdma"
	"fileserver/smb/client"
	"fileserver/smb/crypt"
	"fileserver/smb/tcp"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
	"fileserver/smbdirect"
)

var resolver net.Resolver

// SMBOptions are what a session of SMB may do differently.
type SMBOptions struct {
	client.Identity
	Dialects      []wire.Dialect // nil: all
	Ciphers       []crypt.Cipher // nil: all
	SignAlgs      []crypt.Algorithm
	Sign, Encrypt bool
}

type smbSession struct {
	c   *client.Client
	t   *Target
	mem connMemory
}

// dialSMB connects, logs on and connects to the share.
func dialSMB(ctx context.Context, t *Target, addr netip.AddrPort) (Session, error) {
	charge := max(1, t.BlockSize>>16) // credits of a request
	s := &smbSession{t: t, mem: connMemory{pool: t.Pool, invalidate: t.Invalidate}, c: client.New(client.Options{
		Pool: t.Pool, Host: t.Host, Identity: t.SMB.Identity, Dialects: t.SMB.Dialects, Ciphers: t.SMB.Ciphers, SignAlgs: t.SMB.SignAlgs,
		Sign: t.SMB.Sign, Encrypt: t.SMB.Encrypt, Credits: max(t.Depth*charge, 4*layBytes>>16) + 8,
	})}
	var err error
	if t.rdma() {
		_, err = smbdirect.Dial(ctx, t.Provider, addr, smbdirect.DialConfig{
			Memory: s.mem.get, Params: smbdirect.Params{MaxFragmented: max(smbdirect.DefaultFragmented, t.BlockSize+64<<10)},
			Handler: func(c *smbdirect.Conn) transport.Handler { return s.c.Handler(c) },
		})
	} else {
		err = s.dialTCP(ctx, addr)
	}
	if err != nil {
		return nil, errors.Join(err, s.mem.close())
	}
	if err := s.c.Connect(ctx, t.Share); err != nil {
		_ = s.mem.close()
		return nil, s.explain(err)
	}
	return s, nil
}

func (s *smbSession) dialTCP(ctx context.Context, addr netip.AddrPort) error {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return err
	}
	_, err = tcp.NewClient(nc, tcp.Config{Buffers: s.t.Pool, Handler: s.c.Handler})
	return err
}

// explain says what to do about the refusals that users meet.
func (s *smbSession) explain(err error) error {
	var st *client.StatusError
	if !errors.As(err, &st) {
		return err
	}
	switch {
	case st.Command == wire.CmdSessionSetup && st.Status == wire.StatusLogonFailure:
		return fmt.Errorf("%w: wrong password, or there is no user %q; see --user", err, s.t.SMB.User)
	case st.Command == wire.CmdTreeConnect && st.Status == wire.StatusBadNetworkName:
		return fmt.Errorf("%w: there is no share %q; see --share", err, s.t.Share)
	case st.Command == wire.CmdNegotiate && st.Status == wire.StatusNotSupported:
		return fmt.Errorf("%w: the server speaks none of the dialects offered; see --dialect", err)
	}
	return err
}

// Open implements [Session].
func (s *smbSession) Open(ctx context.Context, name string) (File, error) {
	f, err := s.c.Open(ctx, name, client.How{
		Access: wire.FileReadData | wire.FileWriteData | wire.FileReadAttributes | wire.Synchronize, Disposition: wire.FileOpenIf,
	})
	if err != nil {
		return nil, err
	}
	return &smbFile{s: s, f: f}, nil
}

// Remove implements [Session].
func (s *smbSession) Remove(ctx context.Context, name string) error { return s.c.Remove(ctx, name) }

// Limits implements [Session].
func (s *smbSession) Limits() Limits {
	charge := max(1, s.t.BlockSize>>16)
	return Limits{Read: s.c.MaxRead(), Write: s.c.MaxWrite(), Requests: max(1, s.c.Credits()/charge)}
}

// Agreed implements [Session].
func (s *smbSession) Agreed() Agreed {
	m := s.c.Machine()
	a := Agreed{Version: m.Dialect.String(), Offloads: s.c.Offloads(), Transport: s.c.Info().Transport}
	if m.Encrypt {
		a.Cipher = m.Cipher.String()
	} else if m.Sign {
		a.Signing = m.Signing().String()
	}
	return a
}

// Close implements [Session].
func (s *smbSession) Close() error {
	s.c.Close()
	return s.mem.close()
}

type smbFile struct {
	s *smbSession
	f *client.File
}

// Size implements [File].
func (f *smbFile) Size() uint64 { return f.f.Size }

// Flush implements [File].
func (f *smbFile) Flush(ctx context.Context) error { return f.f.Flush(ctx) }

// Close implements [File].
func (f *smbFile) Close(ctx context.Context) error { return f.f.Close(ctx) }

// NewIO implements [File].
func (f *smbFile) NewIO(ctx context.Context, n int) (IO, error) {
	o := &smbIO{f: f, q: f.s.c.NewCall()}
	var err error
	if f.s.t.rdma() {
		o.rdma = f.s.c.Offloads() && n >= f.s.t.RDMAMin
		o.room, err = newRoom(ctx, f.s.mem.mem, n, o.rdma && !f.s.t.Invalidate)
	} else if o.room.buf, err = f.s.t.Pool.Get(ctx, n); err == nil {
		o.room.window = rdma.NewWindow(nil)
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

type smbIO struct {
	f    *smbFile
	q    *client.Call
	room room
	mem  client.Memory
	rdma bool // the server reaches the room
	last bool // data moved by RDMA
}

// Data implements [IO].
func (o *smbIO) Data() []byte { return o.room.buf.Bytes() }

// Offloaded implements [IO].
func (o *smbIO) Offloaded() bool { return o.last }

// Release implements [IO].
func (o *smbIO) Release() error {
	o.q.Release()
	return o.room.release()
}

// reach opens the room to the server; nil where data goes inline.
func (o *smbIO) reach(n int, access rdma.Access) (*client.Memory, error) {
	o.last = false
	if !o.rdma || n < o.f.s.t.RDMAMin {
		return nil, nil
	}
	seg := o.room.seg
	if o.f.s.t.Invalidate {
		var err error
		if seg, err = o.room.window.Open(o.room.buf, 0, n, access); err != nil {
			return nil, err
		}
		o.mem.Invalidate = true
	}
	o.mem.Descriptor = transport.Descriptor{Offset: seg.Addr, Token: seg.RKey, Length: uint32(n)}
	o.last = true
	return &o.mem, nil
}

// done closes the room if it was opened for one request.
func (o *smbIO) done() error {
	if o.last && o.f.s.t.Invalidate {
		return o.room.window.Close()
	}
	return nil
}

// Read implements [IO].
func (o *smbIO) Read(ctx context.Context, off uint64, n int) ([]byte, error) {
	mem, err := o.reach(n, rdma.AccessRemoteWrite)
	if err != nil {
		return nil, err
	}
	data, placed, err := o.f.f.Read(ctx, o.q, off, n, mem)
	if err := errors.Join(err, o.done()); err != nil {
		return nil, err
	}
	if mem != nil && len(data) == 0 {
		data = o.room.buf.Bytes()[:placed]
	}
	if len(data) != n {
		return nil, fmt.Errorf("%w: READ returned %d of %d bytes", errShort, len(data), n)
	}
	return data, nil
}

// Write implements [IO].
func (o *smbIO) Write(ctx context.Context, off uint64, n int) error {
	mem, err := o.reach(n, rdma.AccessRemoteRead)
	if err != nil {
		return err
	}
	k, err := o.f.f.Write(ctx, o.q, off, n, transport.Piece{Buf: o.room.buf, Len: n}, mem, o.f.s.t.Through)
	if err := errors.Join(err, o.done()); err != nil {
		return err
	}
	if k != n {
		return fmt.Errorf("%w: WRITE took %d of %d bytes", errShort, k, n)
	}
	return nil
}
