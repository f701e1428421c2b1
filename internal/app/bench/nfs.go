package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"fileserver/nfs/client"
)

type nfsSession struct {
	c    client.Client
	t    *Target
	rdma *rdmaCaller // nil: TCP
	wire string
}

// closeTime is how long a server may take to let go of a session.
const closeTime = 3 * time.Second

// dialNFS connects and mounts the export.
func dialNFS(ctx context.Context, t *Target, addr netip.AddrPort) (Session, error) {
	s := &nfsSession{t: t, wire: "tcp"}
	cred := client.Cred{UID: t.UID, GID: t.GID}
	var c client.Caller
	var err error
	if t.rdma() {
		s.rdma, err = dialRDMA(ctx, t, addr, cred)
		c = s.rdma
	} else {
		c, err = client.DialTCP(ctx, addr.String(), cred)
	}
	if err != nil {
		return nil, err
	}
	o := client.Options{
		Host: t.Host, Path: "/" + strings.TrimPrefix(t.Share, "/"), Cred: cred, MaxIO: max(t.BlockSize, layBytes), Slots: t.Depth, Notice: t.Notice,
	}
	if t.MountPort != 0 {
		o.MountAddr = net.JoinHostPort(t.Host, strconv.Itoa(t.MountPort))
	}
	switch t.Version {
	case "3":
		s.c, err = client.MountV3(ctx, c, o)
	case "4.1":
		s.c, err = client.MountV4(ctx, c, 1, o)
	default:
		s.c, err = client.MountV4(ctx, c, 2, o)
	}
	if err != nil {
		return nil, err
	}
	if s.rdma != nil {
		s.wire = s.rdma.wire
	}
	return s, nil
}

// Open implements [Session].
func (s *nfsSession) Open(ctx context.Context, name string) (File, error) {
	f, err := s.c.Open(ctx, name, true)
	if err != nil {
		return nil, err
	}
	return &nfsFile{s: s, f: f}, nil
}

// Remove implements [Session].
func (s *nfsSession) Remove(ctx context.Context, name string) error { return s.c.Remove(ctx, name) }

// Limits implements [Session].
func (s *nfsSession) Limits() Limits {
	l := Limits{Read: s.c.MaxRead(), Write: s.c.MaxWrite(), Requests: s.c.Slots()}
	if s.rdma != nil { // credits (RFC 8166 3.3.1)
		if n := s.rdma.c.Stats().Granted; l.Requests == 0 || n < l.Requests {
			l.Requests = n
		}
	}
	return l
}

// Agreed implements [Session].
func (s *nfsSession) Agreed() Agreed {
	return Agreed{Version: s.c.Version(), Offloads: s.rdma != nil, Transport: s.wire}
}

// Close implements [Session].
func (s *nfsSession) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return s.c.Close(ctx)
}

type nfsFile struct {
	s *nfsSession
	f client.File

	mu    sync.Mutex
	verf  client.Verifier // of the unstable WRITEs since the last COMMIT
	dirty bool
	lost  bool // it has changed meanwhile
}

var errLost = errors.New("the server has lost data that was written and not committed: it was restarted (its write verifier has changed)")

// Size implements [File].
func (f *nfsFile) Size() uint64 { return f.f.Size() }

// Close implements [File].
func (f *nfsFile) Close(ctx context.Context) error { return f.f.Close(ctx) }

// wrote notes the verifier of an unstable WRITE.
func (f *nfsFile) wrote(v client.Verifier) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = f.lost || f.dirty && f.verf != v
	f.verf, f.dirty = v, true
	if f.lost {
		return errLost
	}
	return nil
}

// Flush implements [File].
func (f *nfsFile) Flush(ctx context.Context) error {
	v, err := f.f.Commit(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost || f.dirty && f.verf != v {
		return errLost
	}
	f.dirty = false
	return nil
}

// NewIO implements [File].
func (f *nfsFile) NewIO(ctx context.Context, n int) (IO, error) {
	o, err := f.f.NewIO(ctx, n)
	if err != nil {
		return nil, err
	}
	io := &nfsIO{f: f, IO: o, how: client.Unstable}
	if f.s.t.Through {
		io.how = client.FileSync
	}
	io.slot, _ = o.Slot().(*rdmaSlot)
	return io, nil
}

type nfsIO struct {
	client.IO
	f    *nfsFile
	how  client.Stability
	slot *rdmaSlot // nil: TCP
}

// Offloaded implements [IO].
func (o *nfsIO) Offloaded() bool { return o.slot != nil && o.slot.offloaded }

// Read implements [IO].
func (o *nfsIO) Read(ctx context.Context, off uint64, n int) ([]byte, error) {
	b, err := o.IO.Read(ctx, off, n)
	if err == nil && len(b) != n {
		err = fmt.Errorf("%w: READ returned %d of %d bytes", errShort, len(b), n)
	}
	return b, err
}

// Write implements [IO].
func (o *nfsIO) Write(ctx context.Context, off uint64, n int) error {
	k, v, err := o.IO.Write(ctx, off, n, o.how)
	switch {
	case err != nil:
		return err
	case k != n:
		return fmt.Errorf("%w: WRITE took %d of %d bytes", errShort, k, n)
	case o.how == client.Unstable:
		return o.f.wrote(v)
	}
	return nil
}
