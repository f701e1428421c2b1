package smb

import (
	"encoding/binary"
	"testing"
	"time"

	"fileserver/smb/crypt"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// adapt makes a message one that gets past what a client must know: protocol, message IDs, session and tree. All else stays as it is:
// commands, charges, flags, what is related, where the next one begins, and the bodies.
func adapt(c *smbtest.Client, msg []byte) {
	for len(msg) >= wire.HeaderLen {
		binary.LittleEndian.PutUint32(msg, wire.ProtocolSMB2)
		binary.LittleEndian.PutUint16(msg[4:], 64)
		binary.LittleEndian.PutUint64(msg[24:], c.MessageID)
		if binary.LittleEndian.Uint32(msg[flagsOffset:])&uint32(wire.FlagAsyncCommand) == 0 {
			binary.LittleEndian.PutUint32(msg[36:], c.TreeID)
		}
		if msg[40] != 0xff { // one may name another session
			binary.LittleEndian.PutUint64(msg[40:], c.SessionID)
		}
		c.MessageID += uint64(max(binary.LittleEndian.Uint16(msg[6:]), 1))
		next := binary.LittleEndian.Uint32(msg[nextOffset:])
		if next == 0 || uint64(next) > uint64(len(msg)) {
			return
		}
		if c.Sign {
			c.Signer.Sign(msg[:next])
		}
		msg = msg[next:]
	}
}

// FuzzSession sends a message within a session: a whole one, from its first header on, signed or encrypted if the first byte says so. The
// connection may end, and must leave nothing behind.
func FuzzSession(f *testing.F) {
	e := newFileEnv(f, nil)
	e.touch("d", "x")
	for i := range 4 {
		c := e.files(wire.Dialect311)
		file := c.must(want(`d\x`, wire.FileOpen)).FileID
		q := wire.SessionSetupRequest{Flags: uint8(i) & 1, SecurityBuffer: []byte("NTLMSSP\x00\x01\x00\x00\x00")}
		cr := want("new", wire.FileOpenIf)
		for _, msg := range [][]byte{
			c.Message(smbtest.Request{Command: wire.CmdSessionSetup, Body: q.Append}),
			c.Message(smbtest.Request{Command: wire.CmdCreate, Body: cr.Append}, smbtest.Request{Command: wire.CmdClose, Body: (&wire.CloseRequest{FileID: wire.AnyFile}).Append}),
			c.Message(smbtest.Request{Command: wire.CmdRead, Body: (&wire.ReadRequest{FileID: file, Length: 9}).Append}, echo(nil)),
			c.Unrelated(smbtest.Request{Command: wire.CmdLogoff, Body: smbtest.Empty}, echo(nil)),
			c.Message(smbtest.Request{Command: wire.CmdNegotiate, Body: c.NegotiateBody(wire.Dialect311)}),
			c.Message(smbtest.Request{Command: wire.CmdCancel, Body: smbtest.Empty}),
		} {
			f.Add(append([]byte{byte(i)}, msg...))
		}
		c.W.Close()
	}
	e.settled()
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < 1+wire.HeaderLen || len(in) > 60<<10 {
			return
		}
		e := *e
		e.t = t
		c := e.client()
		c.Ciphers = []crypt.Cipher{crypt.GCM128}
		c.Connect(wire.Dialect311)
		c.MustLogin("ann", "secret")
		c.Tree(`\\s\data`, wire.StatusSuccess)
		c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Ask: 300})
		msg := append([]byte(nil), in[1:]...)
		c.Sign = in[0]&1 != 0
		adapt(c, msg)
		if in[0]&2 != 0 {
			msg = c.Seal(msg)
		}
		_ = c.W.Send(msg)
		_, _ = c.W.Recv(5 * time.Millisecond)
		c.W.Close()
		e.settled()
	})
}
