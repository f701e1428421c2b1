package smb

import (
	"sync"
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// What is ahead by less than half of all numbers is new, the rest is late (MS-SMB2 3.3.5.2.10).
func TestSequenceNumbers(t *testing.T) {
	var s sequence
	s.start(0)
	for _, x := range []struct {
		n  uint16
		ok bool
	}{
		{0, true}, {0x8000, false}, {0x8001, false}, {0xffff, false}, {0x7fff, true}, {0x7ffe, false}, {0, false},
		{0x8000, true}, {0xffff, true}, {0, true}, {1, true}, {0, false}, {1, true}, {0xffff, false},
	} {
		if s.begin(x.n, false) != x.ok {
			t.Fatalf("%#x: %v", x.n, !x.ok)
		}
		if x.ok {
			s.end(x.n)
		}
	}
	if s.v.Load() != 1<<sequenceShift {
		t.Errorf("%#x is left", s.v.Load())
	}
}

// A replay waits for the requests of the number before.
func TestSequenceReplays(t *testing.T) {
	var s sequence
	s.start(65535)
	for range 2 {
		if !s.begin(65535, false) {
			t.Fatal("late")
		}
	}
	if !s.begin(0, false) || s.begin(0, true) {
		t.Fatal("replayed while two of the number before are being handled")
	}
	s.end(65535)
	if s.begin(0, true) {
		t.Fatal("replayed while one is")
	}
	s.end(65535)
	if !s.begin(0, true) {
		t.Fatal("not replayed")
	}
	s.end(0)
	s.end(0)
	if s.v.Load() != 0 {
		t.Errorf("%#x is left", s.v.Load())
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range uint16(1000) {
				if s.begin(n, false) {
					s.end(n)
				}
			}
		})
	}
	wg.Wait()
	if s.v.Load() != 999<<sequenceShift {
		t.Errorf("%#x is left", s.v.Load())
	}
}

// Late requests change nothing, and may look; before 3.0 the field says nothing.
func TestChannelSequence(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	for _, d := range []wire.Dialect{wire.Dialect210, wire.Dialect300, wire.Dialect311} {
		c := e.files(d)
		f := c.must(want("f", wire.FileOpen)).FileID
		late := wire.StatusFileNotAvailable
		if d < wire.Dialect300 {
			late = wire.StatusSuccess
		}
		wr := wire.WriteRequest{FileID: f, Data: []byte("x")}
		rd := wire.ReadRequest{FileID: f, Length: 1}
		set := wire.SetInfoRequest{Type: wire.InfoFile, Class: wire.FilePositionInformation, FileID: f, Input: make([]byte, 8)}
		ctl := wire.IoctlRequest{Code: wire.FsctlCreateOrGetObjectID, FileID: f, Flags: wire.IoctlIsFsctl, MaxOutputResponse: 64}
		for _, x := range []struct {
			sequence uint16
			modifies wire.Status
		}{{0, 0}, {5, 0}, {4, late}, {5, 0}, {6, 0}, {0x8007, late}, {6, 0}} {
			for _, flags := range []wire.HeaderFlags{0, wire.FlagReplayOperation} {
				for _, q := range []struct {
					cmd  wire.Command
					body func([]byte, int) []byte
					want wire.Status
				}{
					{wire.CmdWrite, wr.Append, x.modifies}, {wire.CmdSetInfo, set.Append, x.modifies}, {wire.CmdIoctl, ctl.Append, x.modifies},
					{wire.CmdRead, rd.Append, 0}, {wire.CmdFlush, (&wire.FlushRequest{FileID: f}).Append, 0},
				} {
					r := c.Do(smbtest.Request{Command: q.cmd, Body: q.body, Edit: func(h *wire.Header) {
						h.Status = wire.Status(x.sequence)
						h.Flags |= flags
					}})[0]
					if r.Status != q.want {
						t.Errorf("%v: %v with number %#x: %v, want %v", d, q.cmd, x.sequence, r.Status, q.want)
					}
				}
			}
		}
		c.closeFile(f)
	}
}

// CANCELs take no credits, and no memory however many there are.
func TestManyCancels(t *testing.T) {
	e := newEnv(t, nil)
	c := e.loggedIn(wire.Dialect311)
	msg := c.Message(smbtest.Request{Command: wire.CmdCancel, Body: smbtest.Empty})
	for range 10_000 {
		if err := c.W.Send(msg); err != nil {
			t.Fatal(err)
		}
		if n := e.pool.Stats().Buffers; n > 2 {
			t.Fatalf("%d buffers", n)
		}
	}
	c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
}

// Multichannel is for clients that say they know of it (MS-SMB2 3.3.5.4).
func TestMultiChannelCapability(t *testing.T) {
	for _, offered := range []wire.Capabilities{0, wire.CapMultiChannel} {
		for _, here := range []bool{false, true} {
			e := newEnv(t, func(c *Config) {
				if !here {
					c.Interfaces = nil
				}
			})
			for _, d := range allDialects {
				c := e.client()
				c.Caps = offered
				c.Connect(d)
				got := c.Machine.Negotiate.Capabilities & wire.CapMultiChannel
				if want := offered; here && d >= wire.Dialect300 && got != want || (!here || d < wire.Dialect300) && got != 0 {
					t.Errorf("%v, offered %#x, supported %v: %#x", d, offered, here, got)
				}
			}
		}
	}
}
