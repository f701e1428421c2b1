package client

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"fileserver/internal/slab"
	"fileserver/smb/crypt"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// canned is a connection that answers each message with the next of its replies, and ends after the last.
type canned struct {
	pool    *slab.Pool
	h       transport.Handler
	replies [][]byte
	msgs    chan []byte // closed at the end

	mu   sync.Mutex
	gone bool
}

var errOver = errors.New("over")

func newCanned(pool *slab.Pool, c *Client, replies ...[]byte) *canned {
	t := &canned{pool: pool, replies: replies, msgs: make(chan []byte, 100)}
	t.h = c.Handler(t)
	go func() {
		for m := range t.msgs {
			buf, err := pool.Get(context.Background(), len(m)+16)
			if err != nil {
				panic(err)
			}
			buf.SetLen(len(m))
			copy(buf.Bytes(), m)
			t.h.Message(buf)
		}
		t.h.Closed(errOver)
	}()
	return t
}

func (t *canned) Info() *transport.Info    { return &transport.Info{Transport: "tcp"} }
func (t *canned) Placer() transport.Placer { return nil }
func (t *canned) Disconnect(error, bool)   { t.end() }
func (t *canned) Send(o *transport.Outgoing) error {
	var m []byte
	for i := range o.Pieces {
		m = append(m, o.Pieces[i].Bytes()...)
	}
	o.Release()
	if len(t.replies) == 0 {
		t.end()
		return nil
	}
	r := bytes.Clone(t.replies[0])
	t.replies = t.replies[1:]
	if len(r) >= 32 && len(m) >= 32 { // the message ID is the client's
		copy(r[24:32], m[24:32])
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return errOver
	}
	t.msgs <- r
	return nil
}

func (t *canned) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.gone {
		t.gone = true
		close(t.msgs)
	}
}

// response builds a response to a command.
func response(cmd wire.Command, st wire.Status, body func([]byte, int) []byte) []byte {
	h := wire.Header{Command: cmd, Status: st, Credits: 64, Flags: wire.FlagServerToRedir, SessionID: 1, TreeID: 2}
	return body(h.Append(nil), 0)
}

// login returns the responses up to a session. It is a guest's, because responses to a guest are not signed.
func login() [][]byte {
	n := wire.NegotiateResponse{Dialect: wire.Dialect210, Capabilities: wire.CapLargeMTU, MaxReadSize: 1 << 20, MaxWriteSize: 1 << 20, MaxTransactSize: 1 << 20}
	challenge := append([]byte("NTLMSSP\x00\x02\x00\x00\x00"), make([]byte, 28)...)
	challenge = le.AppendUint16(le.AppendUint16(challenge, 4), 4)
	challenge = append(le.AppendUint32(challenge, 48), 0, 0, 0, 0)
	first := wire.SessionSetupResponse{SecurityBuffer: challenge}
	second := wire.SessionSetupResponse{Flags: wire.SessionFlagIsGuest}
	tree := wire.TreeConnectResponse{ShareType: wire.ShareTypeDisk}
	created := wire.CreateResponse{Action: wire.FileCreated, EndOfFile: 5}
	read := wire.ReadResponse{DataOffset: 80, DataLength: 4}
	wrote := wire.WriteResponse{Count: 4}
	return [][]byte{
		response(wire.CmdNegotiate, 0, n.Append),
		response(wire.CmdSessionSetup, wire.StatusMoreProcessingRequired, first.Append),
		response(wire.CmdSessionSetup, 0, second.Append),
		response(wire.CmdTreeConnect, 0, tree.Append),
		response(wire.CmdCreate, 0, created.Append),
		append(response(wire.CmdRead, 0, read.Append), "data"...),
		response(wire.CmdWrite, 0, wrote.Append),
		response(wire.CmdFlush, 0, Empty),
		response(wire.CmdClose, 0, (&wire.CloseResponse{}).Append),
	}
}

// use calls every method of a client whose server sends canned responses.
func use(t *testing.T, pool *slab.Pool, patience time.Duration, replies ...[]byte) error {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := New(Options{Pool: pool, Host: "h", Identity: Identity{User: "u", Password: "p"}, Credits: 32})
	newCanned(pool, c, replies...)
	if err := c.Connect(ctx, "data"); err != nil {
		return err
	}
	defer c.Close()
	f, err := c.Open(ctx, "file", How{Disposition: wire.FileOpenIf})
	if err != nil {
		return err
	}
	q := c.NewCall()
	defer q.Release()
	b, placed, err := f.Read(ctx, q, 0, 4, nil)
	if err == nil && (len(b) > 4 || placed != 0) {
		t.Fatalf("READ of 4 bytes returns %d, and %d by RDMA", len(b), placed)
	}
	if err != nil {
		return err
	}
	buf, err := pool.Get(ctx, 4)
	if err != nil {
		return err
	}
	defer buf.Release()
	n, err := f.Write(ctx, q, 0, 4, transport.Piece{Buf: buf, Len: 4}, nil, false)
	if err == nil && n > 4 {
		t.Fatalf("WRITE of 4 bytes wrote %d", n)
	}
	return errors.Join(err, f.Flush(ctx), f.Close(ctx))
}

const long = 20 * time.Second

func TestResponses(t *testing.T) {
	pool := slab.New(slab.Config{Limit: 64 << 20, Debug: true})
	defer func() {
		for _, l := range pool.Leaks() {
			t.Errorf("leak: %s", l)
		}
	}()
	if err := use(t, pool, long, login()...); err != nil {
		t.Fatal(err)
	}
	for i, r := range login() {
		for n := range len(r) {
			cut := login()
			cut[i] = r[:n]
			// The client reads only the header of the responses to FLUSH and CLOSE.
			if err := use(t, pool, long, cut...); err == nil && !(n >= wire.HeaderLen && (r[12] == byte(wire.CmdFlush) || r[12] == byte(wire.CmdClose))) {
				t.Errorf("%d of %d bytes of response %d were accepted", n, len(r), i)
			}
		}
	}
	// Responses of another command than the request's.
	for i := range login() {
		wrong := login()
		wrong[i][12] ^= 3
		if err := use(t, pool, long, wrong...); err == nil {
			t.Errorf("response %d was accepted with another command", i)
		}
	}
}

func FuzzResponses(f *testing.F) {
	pool := slab.New(slab.Config{Limit: 64 << 20})
	for i, r := range login() {
		f.Add(uint8(i), r)
	}
	sealed := make([]byte, 200)
	le.PutUint32(sealed, wire.ProtocolTransform)
	f.Add(uint8(4), sealed)
	f.Fuzz(func(t *testing.T, i uint8, reply []byte) {
		replies := login()
		replies[int(i)%len(replies)] = reply
		// It must not panic. It may time out, because a response may announce another one.
		_ = use(t, pool, 100*time.Millisecond, replies...)
	})
}

// FuzzTake parses messages with a machine that has keys.
func FuzzTake(f *testing.F) {
	for _, r := range login() {
		f.Add(r)
	}
	m := NewMachine()
	var err error
	if m.In, err = crypt.NewSealer(crypt.GCM128, make([]byte, 16)); err != nil {
		f.Fatal(err)
	}
	two := response(wire.CmdEcho, 0, Empty)
	two = append(two, make([]byte, 4)...)
	le.PutUint32(two[20:], uint32(len(two)))
	f.Add(append(two, two...))
	f.Fuzz(func(t *testing.T, msg []byte) {
		list, err := m.Take(msg)
		if err == nil && len(list) == 0 {
			t.Error("neither a response nor an error")
		}
	})
}
