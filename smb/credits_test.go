package smb

import (
	"testing"

	"pgregory.net/rapid"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// The window against a model that keeps a set.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWindow()
		model := map[uint64]bool{0: true}
		high := uint64(1)
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				id := rapid.Uint64Range(0, high+2).Draw(t, "id")
				n := rapid.IntRange(1, 5).Draw(t, "n")
				want := true
				for i := range uint64(n) {
					want = want && model[id+i]
				}
				if got := w.take(id, n); got != want {
					t.Fatalf("take(%d, %d) is %v", id, n, got)
				}
				if want {
					for i := range uint64(n) {
						delete(model, id+i)
					}
				}
			},
			"grant": func(t *rapid.T) {
				asked, limit := rapid.IntRange(0, 65535).Draw(t, "asked"), rapid.IntRange(1, maxCredits).Draw(t, "limit")
				n := w.grant(asked, limit)
				if n > max(asked, 1) || len(model) == 0 && n == 0 {
					t.Fatalf("%d of %d asked for", n, asked)
				}
				for range n {
					model[high] = true
					high++
				}
				if len(model) > maxCredits {
					t.Fatalf("%d credits", len(model))
				}
			},
			"": func(t *rapid.T) {
				if w.held != len(model) || w.high-w.low > windowSize {
					t.Fatalf("%d credits, want %d; window %d to %d", w.held, len(model), w.low, w.high)
				}
			},
		})
	})
}

func TestCreditsAreExact(t *testing.T) {
	e := newEnv(t, nil)
	c := e.mounted(wire.Dialect311)
	for _, ask := range []uint16{0, 1, 10, 500, 65535, 65535} {
		before := c.Credits
		r := c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Ask: ask})[0]
		if int(r.Credits) > max(int(ask), 1) || c.Credits < 1 || c.Credits > maxCredits {
			t.Fatalf("asked %d with %d, granted %d", ask, before, r.Credits)
		}
	}
	if c.Credits != maxCredits {
		t.Errorf("%d credits, want %d", c.Credits, maxCredits)
	}
	// All at once, out of order.
	var msgs [][]byte
	for range 300 {
		msgs = append(msgs, c.Message(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty}))
	}
	for i := range msgs {
		c.Send(msgs[len(msgs)-1-i])
	}
	for range msgs {
		if r := c.Recv()[0]; r.Status != wire.StatusSuccess {
			t.Fatal(r.Status)
		}
	}
	if c.Credits != maxCredits {
		t.Errorf("%d credits after, want %d", c.Credits, maxCredits)
	}
}

// Who is not authenticated gets few, but enough.
func TestEarlyCredits(t *testing.T) {
	e := newEnv(t, nil)
	c := e.client()
	c.Connect(wire.Dialect311)
	for range 3 {
		c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Ask: 1000})
	}
	if c.Credits != earlyCredits {
		t.Errorf("%d credits", c.Credits)
	}
}

func TestMessageIDs(t *testing.T) {
	for name, spoil := range map[string]func(c *smbtest.Client, h *wire.Header){
		"twice":     func(c *smbtest.Client, h *wire.Header) { h.MessageID-- },
		"too far":   func(c *smbtest.Client, h *wire.Header) { h.MessageID += uint64(c.Credits) + 1 },
		"a charge":  func(c *smbtest.Client, h *wire.Header) { h.CreditCharge = uint16(c.Credits) + 2 },
		"the break": func(c *smbtest.Client, h *wire.Header) { h.MessageID = ^uint64(0) },
	} {
		e := newEnv(t, nil)
		c := e.mounted(wire.Dialect311)
		c.Send(c.Message(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Edit: func(h *wire.Header) { spoil(c, h) }}))
		c.Dropped()
		_ = name
	}
}

// With 2.0.2 there is no charge: the field means nothing.
func TestNoChargeIn202(t *testing.T) {
	e := newEnv(t, nil)
	c := e.mounted(wire.Dialect202)
	for range 3 {
		c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Edit: func(h *wire.Header) { h.CreditCharge = 0 }})
	}
}

func TestMultiCreditRequests(t *testing.T) {
	e := newEnv(t, nil)
	c := e.mounted(wire.Dialect311)
	c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Ask: 100})
	c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Charge: 16, Ask: 16})
	c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
	// An IOCTL that may answer 128 KiB costs two.
	q := wire.IoctlRequest{Code: wire.FsctlQueryNetworkInterfaceInfo, FileID: wire.AnyFile, Flags: wire.IoctlIsFsctl, MaxOutputResponse: 128 << 10}
	c.Call(wire.CmdIoctl, q.Append, wire.StatusInvalidParameter)
	if r := c.Do(smbtest.Request{Command: wire.CmdIoctl, Body: q.Append, Charge: 2})[0]; r.Status != wire.StatusNotSupported {
		t.Errorf("%v", r.Status)
	}
}
