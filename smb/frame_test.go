package smb

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"fileserver/smb/crypt"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

func echo(edit func(*wire.Header)) smbtest.Request {
	return smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Edit: edit}
}

func TestCompounds(t *testing.T) {
	for _, mode := range []string{"plain", "signed", "encrypted"} {
		e := newEnv(t, nil)
		c := e.mounted(wire.Dialect302)
		c.Sign, c.Encrypt = mode == "signed", mode == "encrypted"
		td := smbtest.Request{Command: wire.CmdTreeDisconnect, Body: smbtest.Empty}
		anyID := func(h *wire.Header) { h.SessionID, h.TreeID = ^uint64(0), ^uint32(0) }
		tdAny := td
		tdAny.Edit = anyID
		r := c.Do(echo(nil), echo(anyID), tdAny)
		for i := range r {
			if r[i].Status != wire.StatusSuccess || r[i].SessionID != c.SessionID || r[i].Sealed != c.Encrypt {
				t.Fatalf("%s: response %d: %+v", mode, i, r[i])
			}
		}
		if r[1].Flags&wire.FlagRelated == 0 || r[0].Flags&wire.FlagRelated != 0 {
			t.Errorf("%s: flags %#x %#x", mode, r[0].Flags, r[1].Flags)
		}
		// The tree is gone, in the same message and after.
		c.Tree(`\\s\data`, wire.StatusSuccess)
		r = c.Do(td, td)
		if r[0].Status != wire.StatusSuccess || r[1].Status != wire.StatusInvalidParameter {
			t.Errorf("%s: %v, %v", mode, r[0].Status, r[1].Status)
		}
		// Unrelated requests fail one by one.
		c.Send(c.Unrelated(td, echo(nil), echo(func(h *wire.Header) { h.SessionID++ }), echo(nil)))
		r = c.Recv()
		want := []wire.Status{wire.StatusNetworkNameDeleted, 0, wire.StatusUserSessionDeleted, 0}
		if mode == "encrypted" {
			c.Send(c.Message(echo(nil)))
			continue // another session's request under this one's key ends the connection, see TestSealedForAnother
		}
		for i := range want {
			if r[i].Status != want[i] {
				t.Errorf("%s: response %d is %v, want %v", mode, i, r[i].Status, want[i])
			}
		}
		// A first request that is related to nothing.
		if r := c.Do(echo(func(h *wire.Header) { h.Flags |= wire.FlagRelated }))[0]; r.Status != wire.StatusInvalidParameter {
			t.Errorf("%s: %v", mode, r.Status)
		}
	}
}

func TestMalformedFrames(t *testing.T) {
	head := func(next uint32) []byte {
		h := wire.Header{Command: wire.CmdEcho, CreditCharge: 1, MessageID: 5, Next: next}
		return wire.AppendEmpty(h.Append(nil))
	}
	for name, msg := range map[string][]byte{
		"nothing":       {1},
		"protocol":      []byte("GET / HTTP/1.1 and more, to be as long as a header at least is, of 64 bytes"),
		"compressed":    append([]byte{0xfc, 'S', 'M', 'B'}, make([]byte, 80)...),
		"short header":  head(0)[:60],
		"body missing":  head(0)[:64],
		"unaligned":     append(head(68), head(0)...),
		"beyond":        append(head(4096), head(0)...),
		"into itself":   append(head(8), head(0)...),
		"tail missing":  head(68)[:68],
		"no session":    append([]byte{0xfd, 'S', 'M', 'B'}, make([]byte, 200)...),
		"SMB1":          wire.AppendSMB1Negotiate(nil, "SMB 2.???"),
		"a response":    func() []byte { b := head(0); b[16] |= 1; return b }(),
		"second header": append(head(72), make([]byte, 72)...),
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, nil)
			c := e.mounted(wire.Dialect311)
			if err := c.W.Send(msg); err != nil {
				t.Fatal(err)
			}
			c.Dropped()
		})
	}
}

func TestBeforeNegotiate(t *testing.T) {
	for cmd := range wire.Commands {
		if cmd == wire.CmdNegotiate || cmd == wire.CmdCancel {
			continue
		}
		e := newEnv(t, nil)
		c := e.client()
		c.Send(c.Message(smbtest.Request{Command: cmd, Body: smbtest.Empty}))
		c.Dropped()
	}
}

func TestBeforeSession(t *testing.T) {
	e := newEnv(t, nil)
	for cmd := range wire.Commands {
		switch cmd {
		case wire.CmdNegotiate, wire.CmdSessionSetup, wire.CmdEcho, wire.CmdCancel:
			continue
		}
		c := e.client()
		c.Connect(wire.Dialect311)
		for _, id := range []uint64{0, 77} {
			c.SessionID = id
			c.Call(cmd, smbtest.Empty, wire.StatusUserSessionDeleted)
		}
	}
	c := e.client()
	c.Connect(wire.Dialect311)
	c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
	c.Call(wire.Command(99), smbtest.Empty, wire.StatusInvalidParameter)
}

// A message under the key of one session that speaks of another.
func TestSealedForAnother(t *testing.T) {
	e := newEnv(t, nil)
	c := e.client()
	c.Ciphers = []crypt.Cipher{crypt.GCM256}
	c.Connect(wire.Dialect311)
	c.MustLogin("ann", "secret")
	one := *c
	c.SessionID = 0
	c.MustLogin("bob", "hidden")
	c.Encrypt = true
	c.Send(c.Message(echo(func(h *wire.Header) { h.SessionID = one.SessionID })))
	c.Dropped()
}

func TestTampered(t *testing.T) {
	e := newEnv(t, nil)
	c := e.mounted(wire.Dialect311)
	c.Sign = true
	msg := c.Message(echo(nil))
	msg[len(msg)-1] ^= 1
	c.Send(msg)
	if r := c.Recv()[0]; r.Status != wire.StatusAccessDenied {
		t.Errorf("a request with a wrong signature: %v", r.Status)
	}
	c = e.client()
	c.Ciphers = []crypt.Cipher{crypt.GCM128}
	c.Connect(wire.Dialect311)
	c.MustLogin("ann", "secret")
	sealed := c.Seal(c.Message(echo(nil)))
	sealed[len(sealed)-1] ^= 1
	c.Send(sealed)
	c.Dropped()
}

// Large encrypted messages are decrypted elsewhere; what they are is the same.
func TestLargeSealed(t *testing.T) {
	e := newEnv(t, nil)
	c := e.client()
	c.Ciphers = []crypt.Cipher{crypt.GCM128}
	c.Connect(wire.Dialect311)
	c.MustLogin("ann", "secret")
	c.Encrypt = true
	pad := func(b []byte, at int) []byte { return append(smbtest.Empty(b, at), make([]byte, 200<<10)...) }
	c.Call(wire.CmdEcho, pad, wire.StatusSuccess)
	sealed := c.Seal(c.Message(smbtest.Request{Command: wire.CmdEcho, Body: pad}))
	sealed[1000] ^= 1
	if err := c.W.Send(sealed); err != nil {
		t.Fatal(err)
	}
	c.Dropped()
}

// waiting makes CHANGE_NOTIFY a command that waits until it is cancelled or let go.
type waiting struct {
	mu    sync.Mutex
	waits []*wait
	st    chan wire.Status
}

// waitingRequest is a request of the command.
type waitingRequest struct {
	needsNothing
	w      *waiting
	waited bool
}

func (q *waitingRequest) run(_ context.Context, r *request) wire.Status {
	if q.waited {
		return r.replyEmpty()
	}
	q.waited = true
	w, st := r.beginAsync()
	if w == nil {
		q.w.st <- st
		return st
	}
	q.w.mu.Lock()
	q.w.waits = append(q.w.waits, w)
	q.w.mu.Unlock()
	q.w.st <- wire.StatusPending
	return statusParked
}

func withWaiting(t *testing.T) *waiting {
	w := &waiting{st: make(chan wire.Status, 1024)}
	old := commands[wire.CmdChangeNotify]
	commands[wire.CmdChangeNotify] = command{session: true, parse: func(*request) (operation, error) { return &waitingRequest{w: w}, nil }}
	t.Cleanup(func() { commands[wire.CmdChangeNotify] = old })
	return w
}

// end lets the request go that was the i-th to wait; the client may have heard of it before it waits.
func (w *waiting) end(t *testing.T, i int) {
	t.Helper()
	if st := <-w.st; st != wire.StatusPending {
		t.Fatal(st)
	}
	w.mu.Lock()
	wait := w.waits[i]
	w.mu.Unlock()
	wait.end(wire.StatusSuccess)
}

func pending(edit func(*wire.Header)) smbtest.Request {
	return smbtest.Request{Command: wire.CmdChangeNotify, Body: smbtest.Empty, Edit: edit}
}

func TestAsync(t *testing.T) {
	for _, mode := range []string{"plain", "signed", "encrypted"} {
		t.Run(mode, func(t *testing.T) {
			w := withWaiting(t)
			e := newEnv(t, nil)
			c := e.mounted(wire.Dialect302)
			c.Sign, c.Encrypt = mode == "signed", mode == "encrypted"
			c.Send(c.Message(echo(nil), pending(nil)))
			if r := c.Recv(); len(r) != 1 || r[0].Command != wire.CmdEcho || r[0].Next != 0 {
				t.Fatalf("%+v", r)
			}
			p := c.Recv()[0]
			if p.Status != wire.StatusPending || p.Flags&wire.FlagAsyncCommand == 0 || p.AsyncID == 0 || p.Credits == 0 {
				t.Fatalf("%+v", p.Header)
			}
			c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess) // meanwhile
			w.end(t, 0)
			f := c.Recv()[0]
			if f.Status != wire.StatusSuccess || f.AsyncID != p.AsyncID || f.MessageID != p.MessageID || f.Credits != 0 || f.Sealed != c.Encrypt {
				t.Errorf("%+v", f.Header)
			}
			// Cancelled by the asynchronous ID, and by the message's.
			for _, async := range []bool{true, false} {
				c.Send(c.Message(pending(nil)))
				p := c.Recv()[0]
				c.Send(c.Message(smbtest.Request{Command: wire.CmdCancel, Body: smbtest.Empty, Edit: func(h *wire.Header) {
					h.MessageID = p.MessageID
					if async {
						h.Flags |= wire.FlagAsyncCommand
						h.AsyncID, h.MessageID = p.AsyncID, 0
					}
				}}))
				if r := c.Recv()[0]; r.Status != wire.StatusCancelled || r.AsyncID != p.AsyncID {
					t.Errorf("async %v: %+v", async, r.Header)
				}
			}
		})
	}
}

// Nobody cancels what is another session's, and CANCEL of nothing is nothing.
func TestCancelOthers(t *testing.T) {
	w := withWaiting(t)
	e := newEnv(t, nil)
	c := e.mounted(wire.Dialect311)
	one := *c
	c.SessionID = 0
	c.MustLogin("bob", "hidden")
	c.NoVerify = true
	c.Send(c.Message(pending(nil)))
	p := c.Recv()[0]
	c.Send(c.Message(smbtest.Request{Command: wire.CmdCancel, Body: smbtest.Empty, Edit: func(h *wire.Header) {
		h.MessageID, h.SessionID = p.MessageID, one.SessionID
	}}))
	c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
	w.end(t, 0)
	if r := c.Recv()[0]; r.Status != wire.StatusSuccess {
		t.Errorf("%v", r.Status)
	}
}

func TestAsyncLimit(t *testing.T) {
	w := withWaiting(t)
	e := newEnv(t, nil)
	c := e.mounted(wire.Dialect311)
	c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Ask: 2000})
	for range maxAsync {
		c.Send(c.Message(pending(nil)))
		if st := <-w.st; st != wire.StatusPending {
			t.Fatal(st)
		}
		c.Recv()
	}
	c.Send(c.Message(pending(nil)))
	if r := c.Recv()[0]; r.Status != wire.StatusInsufficientResources {
		t.Errorf("%v", r.Status)
	}
	c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
	c.W.Close() // and all of them end: the environment waits for that
}

func TestMultiProtocol(t *testing.T) {
	e := newEnv(t, nil)
	c := e.client()
	if err := c.W.Send(wire.AppendSMB1Negotiate(nil, "NT LM 0.12", "SMB 2.002", "SMB 2.???")); err != nil {
		t.Fatal(err)
	}
	r := c.Recv()[0]
	n, err := wire.ParseNegotiateResponse(r.Msg)
	if err != nil || n.Dialect != wire.DialectWildcard || r.MessageID != 0 || r.Credits != 1 {
		t.Fatalf("%+v %+v %v", r.Header, n, err)
	}
	c.MessageID = 1
	c.Connect(allDialects...)
	if c.Dialect != wire.Dialect311 {
		t.Errorf("%v", c.Dialect)
	}
	c.MustLogin("ann", "secret")

	c = e.client()
	if err := c.W.Send(wire.AppendSMB1Negotiate(nil, "SMB 2.002")); err != nil {
		t.Fatal(err)
	}
	if n, err = wire.ParseNegotiateResponse(c.Recv()[0].Msg); err != nil || n.Dialect != wire.Dialect202 {
		t.Fatalf("%+v %v", n, err)
	}
	c.Dialect, c.MessageID = wire.Dialect202, 1
	c.MustLogin("ann", "secret")

	c = e.client()
	if err := c.W.Send(wire.AppendSMB1Negotiate(nil, "NT LM 0.12")); err != nil {
		t.Fatal(err)
	}
	c.Dropped()
}

func TestSecondNegotiate(t *testing.T) {
	e := newEnv(t, nil)
	c := e.mounted(wire.Dialect311)
	c.Send(c.Message(smbtest.Request{Command: wire.CmdNegotiate, Body: c.NegotiateBody(wire.Dialect311)}))
	c.Dropped()
}

func TestNegotiateRefusals(t *testing.T) {
	e := newEnv(t, func(c *Config) { c.MinDialect = wire.Dialect300 })
	contexts := func(edit func(*wire.NegotiateContexts)) func([]byte, int) []byte {
		q := wire.NegotiateRequest{Dialects: wire.AppendUint16s(nil, wire.Dialect311)}
		edit(&q.Contexts)
		return q.Append
	}
	hash := func(l *wire.NegotiateContexts, hashes ...uint16) {
		l.Add(wire.PreauthIntegrityCapabilities, func(b []byte) []byte {
			return (&wire.PreauthContext{Hashes: wire.AppendUint16s(nil, hashes...)}).Append(b)
		})
	}
	c := e.client()
	try := func(name string, body func([]byte, int) []byte, want wire.Status) {
		t.Helper()
		if r := c.Do(smbtest.Request{Command: wire.CmdNegotiate, Body: body})[0]; r.Status != want {
			t.Errorf("%s: %v, want %v", name, r.Status, want)
		}
	}
	try("old", c.NegotiateBody(wire.Dialect202, wire.Dialect210), wire.StatusNotSupported)
	try("none", c.NegotiateBody(), wire.StatusInvalidParameter)
	try("unknown", c.NegotiateBody(0x0777), wire.StatusNotSupported)
	try("no contexts", contexts(func(*wire.NegotiateContexts) {}), wire.StatusInvalidParameter)
	try("no hash", contexts(func(l *wire.NegotiateContexts) { hash(l) }), wire.StatusInvalidParameter)
	try("other hash", contexts(func(l *wire.NegotiateContexts) { hash(l, 7) }), wire.StatusSMBNoPreauthOverlap)
	try("two hashes", contexts(func(l *wire.NegotiateContexts) { hash(l, 1); hash(l, 1) }), wire.StatusInvalidParameter)
	for _, typ := range []wire.NegotiateContextType{
		wire.EncryptionCapabilities, wire.SigningCapabilities, wire.CompressionCapabilities, wire.RDMATransformCapabilities, wire.PosixExtensionsAvailable,
	} {
		try("short context", contexts(func(l *wire.NegotiateContexts) {
			hash(l, 1)
			l.Add(typ, func(b []byte) []byte { return append(b, 9) })
		}), wire.StatusInvalidParameter)
	}
	// Unknown contexts, and those that are not answered, do no harm.
	q := contexts(func(l *wire.NegotiateContexts) {
		hash(l, 1)
		l.Add(0x4711, func(b []byte) []byte { return append(b, 1, 2, 3) })
		l.Add(wire.RDMATransformCapabilities, func(b []byte) []byte { return wire.AppendRDMATransformContext(b, 1, 2) })
		l.Add(wire.CompressionCapabilities, func(b []byte) []byte {
			return (&wire.CompressionContext{Algorithms: wire.AppendUint16s(nil, wire.CompressionLZ77)}).Append(b)
		})
		l.Add(wire.EncryptionCapabilities, func(b []byte) []byte { return wire.AppendAlgorithms(b, uint16(99)) })
	})
	r := c.Do(smbtest.Request{Command: wire.CmdNegotiate, Body: q})[0]
	n, err := wire.ParseNegotiateResponse(r.Msg)
	if r.Status != wire.StatusSuccess || err != nil || n.Contexts.Len() != 2 {
		t.Fatalf("%v %+v %v", r.Status, n, err)
	}
	if d, count := n.Contexts.Find(wire.EncryptionCapabilities); count != 1 || binary.LittleEndian.Uint16(d[2:]) != 0 {
		t.Errorf("no common cipher is answered with % x", d)
	}
}
