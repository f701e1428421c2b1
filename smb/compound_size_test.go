package smb

import (
	"bytes"
	"testing"

	"fileserver/smb/crypt"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// TestCompoundTooLong reads in one compound more than fits in a message: the responses come in several.
func TestCompoundTooLong(t *testing.T) {
	for _, m := range []struct {
		name        string
		rdma, seal  bool
		n, reads    int // bytes of a READ, and how many of them
		wantAtLeast int // messages
	}{
		{"fragmented", true, false, 600 << 10, 3, 3},
		{"fragmented, encrypted", true, true, 340 << 10, 6, 2},
		{"TCP", false, false, 6 << 20, 3, 2},
		{"TCP, encrypted", false, true, 6 << 20, 3, 2},
	} {
		t.Run(m.name, func(t *testing.T) {
			e := newFileEnv(t, nil)
			p := smbtest.NewPipe(t, e.pool, e.srv.Handler, m.rdma)
			sc := smbtest.NewClient(t, p)
			sc.Ciphers = []crypt.Cipher{crypt.GCM128}
			sc.Connect(wire.Dialect311)
			sc.MustLogin("ann", "secret")
			sc.Tree(`\\server\data`, wire.StatusSuccess)
			c := &fileClient{sc, e}
			e.touch("f")
			f, st := c.create(want("f", wire.FileOpen))
			if st != wire.StatusSuccess {
				t.Fatal(st)
			}
			data := sample(m.n)
			for off := 0; off < m.n; off += 512 << 10 {
				if st := c.write(f.FileID, uint64(off), data[off:min(off+512<<10, m.n)]); st != wire.StatusSuccess {
					t.Fatal(st)
				}
			}
			for c.Credits < m.reads*int(chargeOf(m.n)) {
				c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Ask: 256})
			}
			c.Encrypt = m.seal
			q := wire.ReadRequest{FileID: f.FileID, Length: uint32(m.n)}
			reqs := make([]smbtest.Request, m.reads)
			for i := range reqs {
				reqs[i] = smbtest.Request{Command: wire.CmdRead, Body: q.Append, Charge: chargeOf(m.n), Ask: 256}
			}
			c.Send(c.Message(reqs...))
			messages := 0
			for got := 0; got < m.reads; messages++ {
				for _, r := range c.Recv() {
					resp, err := wire.ParseReadResponse(r.Msg)
					if r.Status != wire.StatusSuccess || err != nil || !bytes.Equal(resp.Data, data) {
						t.Fatalf("READ %d: %v, %v, %d bytes", got, r.Status, err, len(resp.Data))
					}
					got++
				}
			}
			if messages < m.wantAtLeast {
				t.Errorf("%d messages, want %d or more", messages, m.wantAtLeast)
			}
			c.Encrypt = false
			c.closeFile(f.FileID)
		})
	}
}

// TestCloseTellsNothingUnasked: without SMB2_CLOSE_FLAG_POSTQUERY_ATTRIB a CLOSE is answered with zeros (MS-SMB2 3.3.5.10).
func TestCloseTellsNothingUnasked(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	f, st := c.create(want("f", wire.FileOpenIf))
	if st != wire.StatusSuccess || c.write(f.FileID, 0, sample(100)) != wire.StatusSuccess {
		t.Fatal(st)
	}
	r := c.Call(wire.CmdClose, (&wire.CloseRequest{FileID: f.FileID}).Append, wire.StatusSuccess)
	if got, err := wire.ParseCloseResponse(r.Msg); err != nil || got != (wire.CloseResponse{}) {
		t.Errorf("%+v, %v", got, err)
	}
}
