package smb

import (
	"bytes"
	"context"
	"testing"

	"fileserver/smb/crypt"
	"fileserver/smb/smbtest"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
)

// mirrored makes READ place Length bytes of zeros with the offset in front, and WRITE pull
// them: what commands do with RDMA, without files.
func mirrored(t *testing.T) {
	oldRead, oldWrite := commands[wire.CmdRead], commands[wire.CmdWrite]
	t.Cleanup(func() { commands[wire.CmdRead], commands[wire.CmdWrite] = oldRead, oldWrite })
	commands[wire.CmdRead] = mirror(true, func(_ context.Context, r *request) wire.Status {
		q := &r.read
		if q.Offset == 99 {
			return wire.StatusEndOfFile
		}
		n := int(q.Length)
		if len(r.into) == 0 {
			data, err := r.payload(wire.ReadResponseLen, n)
			if err != nil {
				return statusDrop
			}
			clear(data)
			r.setPayload(n)
			return r.reply(&wire.ReadResponse{DataOffset: wire.HeaderLen + wire.ReadResponseLen, DataLength: q.Length})
		}
		buf, err := r.conn.memory(n)
		if err != nil {
			return statusDrop
		}
		for i := range buf.Bytes() {
			buf.Bytes()[i] = byte(q.Offset)
		}
		r.placeInto(buf, 0, n)
		if err := r.room(smallRoom); err != nil {
			return statusDrop
		}
		return r.reply(&wire.ReadResponse{DataOffset: wire.HeaderLen + wire.ReadResponseLen, DataRemaining: q.Length})
	})
	commands[wire.CmdWrite] = mirror(false, func(_ context.Context, r *request) wire.Status {
		if r.data == nil {
			return r.pull(int(r.write.RemainingBytes))
		}
		return r.reply(&wire.WriteResponse{Count: uint32(bytes.Count(r.data.Bytes(), []byte{7}))})
	})
}

// mirrorRequest is a READ or WRITE of no file.
type mirrorRequest struct {
	operation
	does func(context.Context, *request) wire.Status
}

func (q mirrorRequest) needs() needs {
	n := q.operation.needs()
	return needs{channel: n.channel, info: n.info}
}

func (q mirrorRequest) run(ctx context.Context, r *request) wire.Status { return q.does(ctx, r) }

// mirror is the command of such.
func mirror(ownRoom bool, does func(context.Context, *request) wire.Status) command {
	return command{tree: true, ownRoom: ownRoom, parse: func(r *request) (operation, error) {
		parse := parseWrite
		if r.hdr.Command == wire.CmdRead {
			parse = parseRead
		}
		q, err := parse(r)
		if q == nil {
			return nil, err
		}
		return mirrorRequest{q, does}, nil
	}}
}

func descriptors(list ...transport.Descriptor) []byte {
	var d wire.Descriptors
	for _, x := range list {
		d.Add(x.Offset, x.Token, x.Length)
	}
	return d
}

func TestPlaceAndPull(t *testing.T) {
	mirrored(t)
	e := newEnv(t, nil)
	c, p := e.rdmaClient()
	c.Connect(wire.Dialect311)
	c.MustLogin("ann", "secret")
	c.Tree(`\\s\data`, wire.StatusSuccess)
	mem := make([]byte, 8192)
	p.Register(5, mem)
	p.Register(6, mem[4096:])
	read := wire.ReadRequest{
		Offset: 3, Length: 6000, Channel: wire.ChannelRDMAV1Invalidate,
		ChannelInfo: descriptors(transport.Descriptor{Token: 5, Length: 4096}, transport.Descriptor{Token: 6, Length: 4096}),
	}
	r := c.Call(wire.CmdRead, read.Append, wire.StatusSuccess)
	if resp, err := wire.ParseReadResponse(r.Msg); err != nil || resp.DataRemaining != 6000 || resp.DataLength != 0 {
		t.Fatalf("%+v %v", resp, err)
	}
	if !bytes.Equal(mem[:6000], bytes.Repeat([]byte{3}, 6000)) || mem[6000] != 0 {
		t.Error("the data is not where it shall be")
	}
	if got := p.Invalidated(); len(got) != 1 || got[0] != 5 {
		t.Fatalf("invalidated %v", got)
	}
	p.Register(7, bytes.Repeat([]byte{7}, 5000))
	write := wire.WriteRequest{RemainingBytes: 5000, Channel: wire.ChannelRDMAV1, ChannelInfo: descriptors(transport.Descriptor{Token: 7, Length: 5000})}
	r = c.Call(wire.CmdWrite, write.Append, wire.StatusSuccess)
	if resp, err := wire.ParseWriteResponse(r.Msg); err != nil || resp.Count != 5000 {
		t.Errorf("%+v %v", resp, err)
	}
	if len(p.Invalidated()) != 1 {
		t.Error("a token of V1 was invalidated")
	}
}

// The token goes back with every final response, whatever it is (notes 2.6).
func TestInvalidateOnErrors(t *testing.T) {
	mirrored(t)
	e := newEnv(t, nil)
	c, p := e.rdmaClient()
	c.Connect(wire.Dialect311)
	c.MustLogin("ann", "secret")
	c.Tree(`\\s\data`, wire.StatusSuccess)
	tree := c.TreeID
	token := uint32(100)
	try := func(name string, q wire.ReadRequest, want wire.Status) {
		t.Helper()
		token++
		p.Register(token, make([]byte, 4096))
		q.Channel = wire.ChannelRDMAV1Invalidate
		if q.ChannelInfo == nil {
			q.ChannelInfo = descriptors(transport.Descriptor{Token: token, Length: 4096})
		}
		c.Call(wire.CmdRead, q.Append, want)
		if got := p.Invalidated(); len(got) == 0 || got[len(got)-1] != token {
			t.Errorf("%s: invalidated %v, want %d", name, got, token)
		}
	}
	try("end of file", wire.ReadRequest{Offset: 99}, wire.StatusEndOfFile)
	c.TreeID = 77
	try("no tree", wire.ReadRequest{}, wire.StatusNetworkNameDeleted)
	c.TreeID = tree
	id := c.SessionID
	c.SessionID++
	try("no session", wire.ReadRequest{}, wire.StatusUserSessionDeleted)
	c.SessionID = id
	// Two in one message: each response with its own token.
	p.Register(1, make([]byte, 64))
	p.Register(2, make([]byte, 64))
	body := func(token uint32) func([]byte, int) []byte {
		q := wire.ReadRequest{Length: 64, Channel: wire.ChannelRDMAV1Invalidate, ChannelInfo: descriptors(transport.Descriptor{Token: token, Length: 64})}
		return q.Append
	}
	c.Send(c.Unrelated(smbtest.Request{Command: wire.CmdRead, Body: body(1)}, smbtest.Request{Command: wire.CmdRead, Body: body(2)}))
	c.Recv()
	c.Recv()
	if got := p.Invalidated(); got[len(got)-2] != 1 || got[len(got)-1] != 2 {
		t.Errorf("invalidated %v", got)
	}
}

func TestChannelsRefused(t *testing.T) {
	mirrored(t)
	e := newEnv(t, nil)
	info := descriptors(transport.Descriptor{Token: 5, Length: 4096})
	tcp := e.mounted(wire.Dialect311)
	for ch := wire.ChannelRDMAV1; ch <= 4; ch++ {
		q := wire.ReadRequest{Length: 10, Channel: ch, ChannelInfo: info}
		tcp.Call(wire.CmdRead, q.Append, wire.StatusInvalidParameter)
	}
	c, p := e.rdmaClient()
	c.Connect(wire.Dialect300)
	c.MustLogin("ann", "secret")
	c.Tree(`\\s\data`, wire.StatusSuccess)
	p.Register(5, make([]byte, 4096))
	q := wire.ReadRequest{Length: 10, Channel: wire.ChannelRDMAV1Invalidate, ChannelInfo: info}
	c.Call(wire.CmdRead, q.Append, wire.StatusInvalidParameter) // 3.0 does not know it
	q.Channel = wire.ChannelRDMAV1
	c.Call(wire.CmdRead, q.Append, wire.StatusSuccess)
	q.Channel = wire.ChannelRDMATransform
	c.Call(wire.CmdRead, q.Append, wire.StatusInvalidParameter)
	for _, bad := range [][]byte{info[:8], append(bytes.Clone(info), 1)} {
		q = wire.ReadRequest{Length: 10, Channel: wire.ChannelRDMAV1, ChannelInfo: bad}
		c.Call(wire.CmdRead, q.Append, wire.StatusInvalidParameter)
	}
	if len(p.Invalidated()) != 0 {
		t.Error("invalidated")
	}
	// What came encrypted does not go in the clear.
	c, p = e.rdmaClient()
	c.Ciphers = []crypt.Cipher{crypt.GCM128}
	c.Connect(wire.Dialect311)
	c.MustLogin("ann", "secret")
	c.Tree(`\\s\data`, wire.StatusSuccess)
	p.Register(5, make([]byte, 4096))
	c.Encrypt = true
	q = wire.ReadRequest{Length: 10, Channel: wire.ChannelRDMAV1Invalidate, ChannelInfo: info}
	c.Call(wire.CmdRead, q.Append, wire.StatusAccessDenied)
	if got := p.Invalidated(); len(got) != 1 {
		t.Errorf("invalidated %v", got)
	}
}

// A READ without RDMA goes out of the buffer it was read into, in the clear and encrypted, of any size.
func TestPayload(t *testing.T) {
	mirrored(t)
	e := newEnv(t, nil)
	c := e.client()
	c.Ciphers = []crypt.Cipher{crypt.GCM128}
	c.Connect(wire.Dialect311)
	c.MustLogin("ann", "secret")
	c.Tree(`\\s\data`, wire.StatusSuccess)
	for _, c.Encrypt = range []bool{false, true} {
		for _, n := range []uint32{0, 1, 1000, 1900, 2048, 1 << 20} {
			q := wire.ReadRequest{Length: n}
			for _, c.Sign = range []bool{false, true} {
				r := c.Call(wire.CmdRead, q.Append, wire.StatusSuccess)
				if resp, err := wire.ParseReadResponse(r.Msg); err != nil || len(resp.Data) != int(n) {
					t.Fatalf("%d bytes: %v", n, err)
				}
			}
		}
	}
}
