package smb_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/smb"
	"fileserver/smb/smbtest"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
	"fileserver/smbdirect"
)

// all3x are the dialects with RDMA.
var all3x = []wire.Dialect{wire.Dialect300, wire.Dialect302, wire.Dialect311}

// peer is a client over SMB Direct that opens its memory to the server as strictly as rxe and siw do: a region is not opened again
// before its key of the time before is invalid.
type peer struct {
	*smbtest.Client
	w    *world
	conn *smbdirect.Conn
	mem  *rdma.Memory
	in   chan []byte
	gone chan struct{}

	mu      sync.Mutex
	regions map[uint32]*region // open ones, by token
	given   []uint32           // tokens that the server has invalidated, in order
}

// end is a peer as its connection's handler, and as the [smbtest.Wire] of its client.
type end struct{ *peer }

// region is memory of a peer that the server reaches while it is open.
type region struct {
	p      *peer
	buf    *slab.Buf
	off, n int
	window *rdma.Window
	at     transport.Descriptor // by which the server knows it
}

// newPeer connects, negotiates the dialect, and has a session, a tree, and credits for the largest READs and WRITEs.
func (w *world) newPeer(t *testing.T, provider string, d wire.Dialect) *peer {
	t.Helper()
	p := w.connect(t, provider)
	p.Connect(d)
	p.MustLogin("ann", "secret")
	p.Tree(`\\server\data`, wire.StatusSuccess)
	p.earn(256)
	return p
}

// connect connects.
func (w *world) connect(t *testing.T, provider string) *peer {
	t.Helper()
	d := w.direct[provider]
	p := &peer{w: w, in: make(chan []byte, 1000), gone: make(chan struct{}), regions: map[uint32]*region{}}
	ctx, cancel := context.WithTimeout(t.Context(), smbtest.Timeout)
	defer cancel()
	var err error
	p.conn, err = smbdirect.Dial(ctx, d.from, d.addr, smbdirect.DialConfig{
		Memory: func(dev rdma.Device) (m *rdma.Memory, err error) {
			p.mem, err = d.memory(dev)
			return p.mem, err
		},
		Handler: func(*smbdirect.Conn) transport.Handler { return &end{p} },
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Client = smbtest.NewClient(t, &end{p})
	t.Cleanup(func() { p.W.Close(); <-p.gone })
	return p
}

// Message implements [transport.Handler].
func (e *end) Message(b *slab.Buf) {
	e.in <- append([]byte(nil), b.Bytes()...)
	b.Release()
}

// Closed implements [transport.Handler].
func (e *end) Closed(error) { close(e.gone) }

// Invalidated implements [smbdirect.KeyObserver].
func (e *end) Invalidated(key uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.given = append(e.given, key)
	r := e.regions[key]
	if r == nil {
		e.T.Errorf("token %#x was invalidated, which is not open", key)
		return
	}
	delete(e.regions, key)
	if _, err := r.window.Invalidated(key); err != nil {
		e.T.Error(err)
	}
}

// Send implements [smbtest.Wire].
func (e *end) Send(msg []byte) error {
	buf, ok := e.w.clients.TryGet(len(msg))
	if !ok {
		return errors.New("no memory")
	}
	copy(buf.Bytes(), msg)
	return e.conn.Send(&transport.Outgoing{Pieces: []transport.Piece{{Buf: buf, Len: len(msg)}}})
}

// Recv implements [smbtest.Wire].
func (e *end) Recv(d time.Duration) ([]byte, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case m := <-e.in:
		return m, nil
	default:
	}
	select {
	case m := <-e.in:
		return m, nil
	case <-e.gone:
		return nil, smbtest.ErrEnded
	case <-timer.C:
		return nil, smbtest.ErrTimeout
	}
}

// Close implements [smbtest.Wire].
func (e *end) Close() { e.conn.Disconnect(nil, false) }

// earn gets credits.
func (p *peer) earn(n int) {
	p.T.Helper()
	for p.Credits < n {
		if r := p.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Ask: uint16(n)})[0]; r.Status != wire.StatusSuccess {
			p.T.Fatalf("ECHO: %v", r.Status)
		}
	}
}

// lease takes memory for regions.
func (p *peer) lease(t *testing.T, n int) *slab.Buf {
	t.Helper()
	buf, ok := p.w.clients.TryGet(n)
	if !ok {
		t.Fatal("no memory")
	}
	t.Cleanup(buf.Release)
	return buf
}

// register opens n bytes of new memory to the server.
func (p *peer) register(t *testing.T, n int, a rdma.Access) *region {
	t.Helper()
	return p.registerIn(t, p.lease(t, n), 0, n, a)
}

// registerIn opens a part of memory to the server.
func (p *peer) registerIn(t *testing.T, buf *slab.Buf, off, n int, a rdma.Access) *region {
	t.Helper()
	r := &region{p: p, buf: buf, off: off, n: n, window: rdma.NewWindow(p.mem)}
	r.open(t, a)
	t.Cleanup(func() { r.close(t) })
	return r
}

// open opens the region, anew: that fails while the key of before is valid.
func (r *region) open(t *testing.T, a rdma.Access) {
	t.Helper()
	s, err := r.window.Open(r.buf, r.off, r.n, a)
	if err != nil {
		t.Fatal(err)
	}
	r.at = transport.Descriptor{Offset: s.Addr, Token: s.RKey, Length: s.Length}
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.p.regions[s.RKey] = r
}

// isOpen reports whether the server may reach the region.
func (r *region) isOpen() bool {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	return r.p.regions[r.at.Token] == r
}

// close invalidates the region's key, if it is valid.
func (r *region) close(t *testing.T) {
	t.Helper()
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	delete(r.p.regions, r.at.Token)
	if err := r.window.Close(); err != nil {
		t.Error(err)
	}
}

// bytes is the region's memory.
func (r *region) bytes() []byte { return r.buf.Bytes()[r.off : r.off+r.n] }

// create opens a file, new or old, for reading and writing.
func (p *peer) create(name string) wire.FileID {
	p.T.Helper()
	q := wire.CreateRequest{
		ImpersonationLevel: 2, DesiredAccess: wire.FileReadData | wire.FileWriteData, Disposition: wire.FileOpenIf,
		ShareAccess: wire.FileShareRead | wire.FileShareWrite, Name: wire.AppendUTF16(nil, name),
	}
	resp, err := wire.ParseCreateResponse(p.Call(wire.CmdCreate, q.Append, wire.StatusSuccess).Msg)
	if err != nil {
		p.T.Fatal(err)
	}
	return resp.FileID
}

// closeFile closes a file.
func (p *peer) closeFile(id wire.FileID) {
	p.T.Helper()
	p.Call(wire.CmdClose, (&wire.CloseRequest{FileID: id}).Append, wire.StatusSuccess)
}

// readRequest is a READ of n bytes into the client's memory.
func readRequest(id wire.FileID, off uint64, n int, ch wire.Channel, into ...transport.Descriptor) smbtest.Request {
	q := wire.ReadRequest{FileID: id, Offset: off, Length: uint32(n), Channel: ch, ChannelInfo: list(into)}
	return smbtest.Request{Command: wire.CmdRead, Body: q.Append, Charge: uint16((n-1)>>16 + 1), Ask: 256}
}

// writeRequest is a WRITE of n bytes out of the client's memory.
func writeRequest(id wire.FileID, off uint64, n int, ch wire.Channel, from ...transport.Descriptor) smbtest.Request {
	q := wire.WriteRequest{FileID: id, Offset: off, RemainingBytes: uint32(n), Channel: ch, ChannelInfo: list(from)}
	return smbtest.Request{Command: wire.CmdWrite, Body: q.Append, Charge: uint16((n-1)>>16 + 1), Ask: 256}
}

func list(d []transport.Descriptor) (l wire.Descriptors) {
	for _, x := range d {
		l.Add(x.Offset, x.Token, x.Length)
	}
	return l
}

// read is a READ that must place all n bytes.
func (p *peer) read(id wire.FileID, off uint64, n int, ch wire.Channel, into ...transport.Descriptor) {
	p.T.Helper()
	r := p.Do(readRequest(id, off, n, ch, into...))[0]
	if r.Status != wire.StatusSuccess {
		p.T.Fatalf("READ of %d bytes: %v", n, r.Status)
	}
	resp, err := wire.ParseReadResponse(r.Msg)
	if err != nil || resp.DataRemaining != uint32(n) || resp.DataLength != 0 || resp.DataOffset != 80 || len(resp.Data) > 0 {
		p.T.Fatalf("READ of %d bytes: %+v %v", n, resp, err)
	}
}

// write is a WRITE that must take all n bytes.
func (p *peer) write(id wire.FileID, off uint64, n int, ch wire.Channel, from ...transport.Descriptor) {
	p.T.Helper()
	r := p.Do(writeRequest(id, off, n, ch, from...))[0]
	if r.Status != wire.StatusSuccess {
		p.T.Fatalf("WRITE of %d bytes: %v", n, r.Status)
	}
	if resp, err := wire.ParseWriteResponse(r.Msg); err != nil || resp.Count != uint32(n) {
		p.T.Fatalf("WRITE of %d bytes: %+v %v", n, resp, err)
	}
}

// ends sends what must end the connection: by it, or by a failure and no more; never with success.
func (p *peer) ends(q smbtest.Request) {
	p.T.Helper()
	p.Send(p.Message(q))
	msg, err := p.W.Recv(smbtest.Timeout)
	if err == nil {
		p.T.Fatalf("%v: answered with %v", q.Command, p.Take(msg)[0].Status)
	}
	if !errors.Is(err, smbtest.ErrEnded) {
		p.T.Fatalf("%v: %v", q.Command, err)
	}
}

// noise is n random bytes.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return b
}

// overRDMA runs a case over every provider, with each of the dialects, on one server.
func overRDMA(t *testing.T, dialects []wire.Dialect, run func(t *testing.T, w *world, provider string, p *peer)) {
	w := newWorld(t, func(*smb.Config) {})
	for provider := range w.direct {
		for _, d := range dialects {
			t.Run(fmt.Sprintf("%s/%v", provider, d), func(t *testing.T) { run(t, w, provider, w.newPeer(t, provider, d)) })
		}
	}
}

// refuses sends a WRITE for which the server must read what it cannot: a failure, the end of the connection, or both.
func (p *peer) refuses(q smbtest.Request) {
	p.T.Helper()
	p.Send(p.Message(q))
	msg, err := p.W.Recv(smbtest.Timeout)
	if err == nil {
		if st := p.Take(msg)[0].Status; st == wire.StatusSuccess {
			p.T.Fatalf("%v: answered with %v", q.Command, st)
		}
		_, err = p.W.Recv(smbtest.Timeout)
	}
	if !errors.Is(err, smbtest.ErrEnded) {
		p.T.Fatalf("%v: %v", q.Command, err)
	}
}
