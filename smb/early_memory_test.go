package smb

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// der makes an element with a length of two bytes.
func der(tag byte, content []byte) []byte {
	return append([]byte{tag, 0x82, byte(len(content) >> 8), byte(len(content))}, content...)
}

// What nobody has authenticated for costs its own size a few times, whatever it claims and however it is made.
func TestEarlyMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const size = 60 << 10
	many := func(n int, v uint16) []uint16 { return bytesOf(n, v) }
	setup := func(token []byte) smbtest.Request {
		return smbtest.Request{Command: wire.CmdSessionSetup, Body: (&wire.SessionSetupRequest{SecurityBuffer: token}).Append}
	}
	negotiate := func(c *smbtest.Client, q *wire.NegotiateRequest) []byte {
		q.SecurityMode = 1
		return c.Message(smbtest.Request{Command: wire.CmdNegotiate, Body: q.Append})
	}
	mechs := der(0x60, append([]byte{0x06, 0x06, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x02}, der(0xa0, der(0x30, der(0xa0, der(0x30, bytes.Repeat([]byte{0x06, 0x01, 0x2a}, size/3)))))...))
	for name, x := range map[string]struct {
		negotiated bool
		make       func(c *smbtest.Client) []byte
	}{
		"dialects": {false, func(c *smbtest.Client) []byte {
			return negotiate(c, &wire.NegotiateRequest{Dialects: wire.AppendUint16s(nil, append(many(size/2, 0x0777), uint16(wire.Dialect302))...)})
		}},
		"contexts": {false, func(c *smbtest.Client) []byte {
			q := &wire.NegotiateRequest{Dialects: wire.AppendUint16s(nil, wire.Dialect311)}
			for range size / 8 {
				q.Contexts.Add(0x7777, func(b []byte) []byte { return b })
			}
			return negotiate(c, q)
		}},
		"ciphers": {false, func(c *smbtest.Client) []byte {
			q := &wire.NegotiateRequest{Dialects: wire.AppendUint16s(nil, wire.Dialect311)}
			q.Contexts.Add(wire.PreauthIntegrityCapabilities, func(b []byte) []byte {
				return (&wire.PreauthContext{Hashes: wire.AppendUint16s(nil, wire.HashSHA512), Salt: make([]byte, 32)}).Append(b)
			})
			q.Contexts.Add(wire.EncryptionCapabilities, func(b []byte) []byte { return wire.AppendAlgorithms(b, many(size/2, 9)...) })
			return negotiate(c, q)
		}},
		"SMB1": {false, func(*smbtest.Client) []byte {
			return wire.AppendSMB1Negotiate(nil, append(make([]string, size/2-20), "SMB 2.???")...)
		}},
		"mechanisms": {true, func(c *smbtest.Client) []byte { return c.Message(setup(mechs)) }},
		"nested":     {true, func(c *smbtest.Client) []byte { return c.Message(setup(bytes.Repeat([]byte{0xa0, 0x80}, size/2))) }},
		"NTLM": {true, func(c *smbtest.Client) []byte {
			return c.Message(setup(append([]byte("NTLMSSP\x00\x01\x00\x00\x00\x01\x02\x00\x00"), make([]byte, size)...)))
		}},
		"echoes":      {true, func(c *smbtest.Client) []byte { return c.Unrelated(echo(nil), echo(nil), echo(nil), echo(nil)) }},
		"many echoes": {true, func(c *smbtest.Client) []byte { return c.Unrelated(echoes(size / 72)...) }},
		"no command":  {true, func(c *smbtest.Client) []byte { return c.Message(smbtest.Request{Command: 99, Body: smbtest.Empty}) }},
		"zeros":       {true, func(*smbtest.Client) []byte { return make([]byte, size) }},
		"compression": {true, func(*smbtest.Client) []byte { return append([]byte{0xfc, 'S', 'M', 'B'}, make([]byte, size)...) }},
		"encrypted":   {true, func(*smbtest.Client) []byte { return append([]byte{0xfd, 'S', 'M', 'B'}, make([]byte, size)...) }},
		"tree connect": {true, func(c *smbtest.Client) []byte {
			return c.Message(smbtest.Request{Command: wire.CmdTreeConnect, Body: (&wire.TreeConnectRequest{Path: make([]byte, size)}).Append})
		}},
	} {
		e := newEnv(t, nil)
		worst := uint64(0)
		var length int
		for range 3 { // what the runtime does now and then is not the message's
			c := e.client()
			if x.negotiated {
				c.Connect(wire.Dialect302)
			}
			msg := x.make(c)
			length = len(msg)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := c.W.Send(msg); err != nil {
				t.Fatal(err)
			}
			_, _ = c.W.Recv(100 * time.Millisecond)
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; worst == 0 || got < worst {
				worst = got
			}
			c.W.Close()
		}
		if most := uint64(2*length + 8<<10); worst > most {
			t.Errorf("%s: a message of %d bytes costs %d, more than %d", name, length, worst, most)
		}
	}
}

// bytesOf is n times v.
func bytesOf(n int, v uint16) []uint16 {
	list := make([]uint16, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// echoes are n ECHOs.
func echoes(n int) (list []smbtest.Request) {
	for range n {
		list = append(list, echo(nil))
	}
	return list
}
