package smb

import (
	"bytes"
	"context"
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// write writes at an offset.
func (c *fileClient) write(id wire.FileID, off uint64, data []byte) wire.Status {
	c.T.Helper()
	q := wire.WriteRequest{FileID: id, Offset: off, Data: data}
	r := c.Do(smbtest.Request{Command: wire.CmdWrite, Body: q.Append, Charge: chargeOf(len(data)), Ask: 128})[0]
	if r.Status == wire.StatusSuccess {
		if resp, err := wire.ParseWriteResponse(r.Msg); err != nil || int(resp.Count) != len(data) {
			c.T.Fatalf("WRITE of %d bytes: %+v, %v", len(data), resp, err)
		}
	}
	return r.Status
}

func chargeOf(n int) uint16 { return uint16((max(n, 1)-1)/(64<<10) + 1) }

// read reads.
func (c *fileClient) read(q wire.ReadRequest) ([]byte, wire.Status) {
	c.T.Helper()
	r := c.Do(smbtest.Request{Command: wire.CmdRead, Body: q.Append, Charge: chargeOf(int(q.Length)), Ask: 128})[0]
	if r.Status != wire.StatusSuccess {
		return nil, r.Status
	}
	resp, err := wire.ParseReadResponse(r.Msg)
	if err != nil {
		c.T.Fatal(err)
	}
	return resp.Data, r.Status
}

// mustRead reads and compares.
func (c *fileClient) mustRead(id wire.FileID, off uint64, want []byte) {
	c.T.Helper()
	got, st := c.read(wire.ReadRequest{FileID: id, Offset: off, Length: uint32(len(want))})
	if st != wire.StatusSuccess || !bytes.Equal(got, want) {
		c.T.Fatalf("READ of %d bytes at %d: %v, %d bytes, equal %v", len(want), off, st, len(got), bytes.Equal(got, want))
	}
}

// pattern bytes that differ by position.
func sample(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16*7)
	}
	return b
}

func TestReadWrite(t *testing.T) {
	for _, d := range []wire.Dialect{wire.Dialect202, wire.Dialect210, wire.Dialect300, wire.Dialect302, wire.Dialect311} {
		c := newFileEnv(t, nil).files(d)
		f := c.must(want("f", wire.FileCreate)).FileID
		data := sample(60000)
		if st := c.write(f, 0, data); st != wire.StatusSuccess {
			t.Fatal(st)
		}
		c.mustRead(f, 0, data)
		c.mustRead(f, 100, data[100:300])
		for _, x := range []struct {
			q  wire.ReadRequest
			n  int
			st wire.Status
		}{
			{wire.ReadRequest{Offset: 59990, Length: 100}, 10, 0},
			{wire.ReadRequest{Offset: 59990, Length: 100, MinimumCount: 10}, 10, 0},
			{wire.ReadRequest{Offset: 59990, Length: 100, MinimumCount: 11}, 0, wire.StatusEndOfFile},
			{wire.ReadRequest{Offset: 60000, Length: 1}, 0, wire.StatusEndOfFile},
			{wire.ReadRequest{Offset: 70000, Length: 1}, 0, wire.StatusEndOfFile},
			{wire.ReadRequest{Offset: 60000}, 0, 0},
			{wire.ReadRequest{Offset: 0, MinimumCount: 1}, 0, wire.StatusEndOfFile},
			{wire.ReadRequest{Offset: 1<<63 - 1, Length: 1}, 0, wire.StatusInvalidParameter},
			{wire.ReadRequest{Offset: ^uint64(0), Length: 1}, 0, wire.StatusInvalidParameter},
			{wire.ReadRequest{Flags: wire.ReadFlagUnbuffered, Length: 512}, 512, 0},
		} {
			x.q.FileID = f
			got, st := c.read(x.q)
			if st != x.st || st == 0 && len(got) != x.n {
				t.Errorf("dialect %#x: %+v: %v, %d bytes", d, x.q, st, len(got))
			}
		}
		if st := c.write(f, 1<<63-10, data[:20]); st != wire.StatusInvalidParameter {
			t.Errorf("a write beyond everything: %v", st)
		}
		c.closeFile(f)
		if _, st := c.read(wire.ReadRequest{FileID: f, Length: 1}); st != wire.StatusFileClosed {
			t.Errorf("a closed file is read: %v", st)
		}
		if st := c.write(f, 0, data[:1]); st != wire.StatusFileClosed {
			t.Errorf("a closed file is written: %v", st)
		}
		c.W.Close()
	}
}

// What is larger than 64 KiB has to be paid for, and nothing is larger than what was negotiated (MS-SMB2 3.3.5.2.5).
func TestReadWriteLimits(t *testing.T) {
	c := newFileEnv(t, nil).files(wire.Dialect311)
	f := c.must(want("f", wire.FileCreate)).FileID
	data := sample(8 << 20)
	for c.Credits < 140 {
		c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Ask: 140})
	}
	for _, n := range []int{64 << 10, 64<<10 + 1, 1 << 20, 8 << 20} {
		if st := c.write(f, 0, data[:n]); st != wire.StatusSuccess {
			t.Fatalf("%d bytes: %v", n, st)
		}
		c.mustRead(f, 0, data[:n])
	}
	for _, x := range []struct {
		n      int
		charge uint16
	}{{64<<10 + 1, 1}, {128<<10 + 1, 2}, {8<<20 + 1, 129}} {
		q := wire.ReadRequest{FileID: f, Length: uint32(x.n)}
		if st := c.Do(smbtest.Request{Command: wire.CmdRead, Body: q.Append, Charge: x.charge, Ask: 140})[0].Status; st != wire.StatusInvalidParameter {
			t.Errorf("READ of %d bytes for %d credits: %v", x.n, x.charge, st)
		}
		if x.n > 1<<20 {
			continue
		}
		w := wire.WriteRequest{FileID: f, Data: data[:x.n]}
		if st := c.Do(smbtest.Request{Command: wire.CmdWrite, Body: w.Append, Charge: x.charge, Ask: 140})[0].Status; st != wire.StatusInvalidParameter {
			t.Errorf("WRITE of %d bytes for %d credits: %v", x.n, x.charge, st)
		}
	}
	c.closeFile(f)
}

// What an open is not granted it cannot do.
func TestDataAccess(t *testing.T) {
	e := newFileEnv(t, nil)
	e.touch("f")
	e.touch("d", "x")
	c := e.files(wire.Dialect311)
	with := func(name string, a wire.AccessMask) wire.FileID {
		q := want(name, wire.FileOpen)
		q.DesiredAccess = a
		return c.must(q).FileID
	}
	for _, x := range []struct {
		a           wire.AccessMask
		read, write wire.Status
	}{
		{wire.FileReadData, 0, wire.StatusAccessDenied},
		{wire.FileExecute, 0, wire.StatusAccessDenied},
		{wire.FileWriteData, wire.StatusAccessDenied, 0},
		{wire.FileReadAttributes, wire.StatusAccessDenied, wire.StatusAccessDenied},
		{wire.FileAppendData, wire.StatusAccessDenied, 0}, // wherever it likes, as with Windows
	} {
		f := with("f", x.a)
		if _, st := c.read(wire.ReadRequest{FileID: f, Length: 1}); st != x.read {
			t.Errorf("READ with access %#x: %v", x.a, st)
		}
		if st := c.write(f, 0, []byte{1}); st != x.write {
			t.Errorf("WRITE with access %#x: %v", x.a, st)
		}
		flush := wire.StatusSuccess
		if x.a&(wire.FileWriteData|wire.FileAppendData) == 0 {
			flush = wire.StatusAccessDenied
		}
		c.Call(wire.CmdFlush, (&wire.FlushRequest{FileID: f}).Append, flush)
		c.closeFile(f)
	}
	f := with("f", wire.FileAppendData)
	for _, w := range []struct {
		off  uint64
		data string
	}{{10, "abcd"}, {appendOffset, "ef"}, {11, "x"}} {
		if st := c.write(f, w.off, []byte(w.data)); st != wire.StatusSuccess {
			t.Errorf("WRITE at %d by who may only append: %v", int64(w.off), st)
		}
	}
	c.closeFile(f)
	f = with("f", wire.FileReadData)
	c.mustRead(f, 10, []byte("axcdef"))
	c.closeFile(f)
	d := with("d", wire.FileListDirectory|wire.FileAddFile)
	if _, st := c.read(wire.ReadRequest{FileID: d, Length: 1}); st != wire.StatusInvalidDeviceRequest {
		t.Errorf("a directory is read: %v", st)
	}
	if st := c.write(d, 0, []byte{1}); st != wire.StatusInvalidDeviceRequest {
		t.Errorf("a directory is written: %v", st)
	}
	c.Call(wire.CmdFlush, (&wire.FlushRequest{FileID: d}).Append, wire.StatusSuccess)
	c.closeFile(d)
}

// Through RDMA, whole and in parts, and the token goes whatever the response is (MS-SMB2 3.3.5.12, 3.3.5.13).
func TestRDMA(t *testing.T) {
	e := newFileEnv(t, nil)
	sc, p := e.rdmaClient()
	sc.Connect(wire.Dialect311)
	sc.MustLogin("ann", "secret")
	sc.Tree(`\\server\data`, wire.StatusSuccess)
	c := &fileClient{sc, e}
	f := c.must(want("f", wire.FileCreate)).FileID
	data := sample(100000)
	mem := make([]byte, 200000)
	send := func(cmd wire.Command, body func([]byte, int) []byte) smbtest.Response {
		return c.Do(smbtest.Request{Command: cmd, Body: body, Charge: 4, Ask: 16})[0]
	}
	for c.Credits < 16 {
		c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty, Ask: 64})
	}
	descriptors := func(token, n uint32) (info []byte) {
		p.Register(token, mem)
		var l wire.Descriptors
		l.Add(50, token, n/2)
		l.Add(uint64(50+n/2), token, n-n/2)
		return l
	}
	copy(mem[50:], data)
	for _, ch := range []wire.Channel{wire.ChannelRDMAV1, wire.ChannelRDMAV1Invalidate} {
		w := wire.WriteRequest{FileID: f, Channel: ch, RemainingBytes: 100000, ChannelInfo: descriptors(1, 100000)}
		r := send(wire.CmdWrite, w.Append)
		if resp, err := wire.ParseWriteResponse(r.Msg); r.Status != 0 || err != nil || resp.Count != 100000 {
			t.Fatalf("WRITE: %v, %+v", r.Status, resp)
		}
		for _, off := range []int{0, 40000, 99990} {
			clear(mem)
			q := wire.ReadRequest{FileID: f, Offset: uint64(off), Length: 100000, Channel: ch, ChannelInfo: descriptors(2, 100000)}
			r := send(wire.CmdRead, q.Append)
			resp, err := wire.ParseReadResponse(r.Msg)
			n := 100000 - off
			if r.Status != 0 || err != nil || int(resp.DataRemaining) != n || resp.DataLength != 0 {
				t.Fatalf("READ at %d: %v, %+v", off, r.Status, resp)
			}
			if !bytes.Equal(mem[50:50+n], data[off:]) || mem[50+n] != 0 || mem[49] != 0 {
				t.Fatalf("READ at %d: wrong data", off)
			}
		}
		copy(mem[50:], data)
	}
	if got := p.Invalidated(); len(got) != 4 {
		t.Errorf("%d tokens are invalid, should be 4", len(got))
	}
	for i, q := range []wire.ReadRequest{
		{FileID: f, Length: 100000, ChannelInfo: descriptors(2, 99999)}, // too little room
		{FileID: f, Offset: 100000, Length: 10, ChannelInfo: descriptors(2, 10)},
		{Length: 10, ChannelInfo: descriptors(2, 10)},
	} {
		q.Channel = wire.ChannelRDMAV1Invalidate
		p.Register(2, mem)
		if r := send(wire.CmdRead, q.Append); r.Status == 0 || len(p.Invalidated()) != 5+i {
			t.Errorf("%d: %v, %d tokens are invalid", i, r.Status, len(p.Invalidated()))
		}
	}
	for i, w := range []wire.WriteRequest{
		{FileID: f, RemainingBytes: 100001, ChannelInfo: descriptors(2, 100000)},
		{FileID: f, RemainingBytes: 1, Data: []byte{1}, ChannelInfo: descriptors(2, 100000)},
		{FileID: f, RemainingBytes: 10},
		{FileID: f, RemainingBytes: 10, ChannelInfo: make([]byte, 15)},
	} {
		w.Channel = wire.ChannelRDMAV1
		if r := send(wire.CmdWrite, w.Append); r.Status != wire.StatusInvalidParameter {
			t.Errorf("%d: %v", i, r.Status)
		}
	}
	c.closeFile(f)
}

// stability notes how stable writes are.
func TestWriteThrough(t *testing.T) {
	for _, x := range []struct {
		options wire.CreateOptions
		flags   uint32
		stable  bool
	}{{0, 0, false}, {wire.FileWriteThrough, 0, true}, {0, wire.WriteFlagWriteThrough, true}, {0, wire.WriteFlagUnbuffered, false}} {
		e := newFileEnv(t, nil)
		c := e.files(wire.Dialect311)
		q := want("f", wire.FileCreate)
		q.Options = x.options
		f := c.must(q).FileID
		fs := &watchedFile{File: c.openOf(f).file}
		c.openOf(f).file = fs
		w := wire.WriteRequest{FileID: f, Flags: x.flags, Data: []byte("abc")}
		c.Call(wire.CmdWrite, w.Append, wire.StatusSuccess)
		if stable := fs.how >= vfs.DataSync; stable != x.stable {
			t.Errorf("%+v: written with stability %d", x, fs.how)
		}
		c.Call(wire.CmdFlush, (&wire.FlushRequest{FileID: f}).Append, wire.StatusSuccess)
		if fs.commits != 1 {
			t.Errorf("FLUSH has made %d commits", fs.commits)
		}
		c.closeFile(f)
		c.W.Close()
	}
}

// watchedFile notes what is asked of a file.
type watchedFile struct {
	vfs.File
	how     vfs.Stability
	commits int
}

func (w *watchedFile) WriteAt(ctx context.Context, p []byte, off int64, s vfs.Stability) (int, error) {
	w.how = s
	return w.File.WriteAt(ctx, p, off, s)
}

func (w *watchedFile) Commit(ctx context.Context, off, n int64) error {
	w.commits++
	return w.File.Commit(ctx, off, n)
}

// openOf is the server's side of an open; the test keeps no reference.
func (c *fileClient) openOf(id wire.FileID) *Open {
	c.T.Helper()
	c.e.srv.mu.Lock()
	s := c.e.srv.sessions[c.SessionID]
	c.e.srv.mu.Unlock()
	o := s.open(id)
	if o == nil {
		c.T.Fatal("no such open")
	}
	o.release()
	return o
}

// Who writes at the end of the file, wherever that is, never overwrites what another writes there at the same time.
func TestAppends(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	c.closeFile(c.must(want("log", wire.FileCreate)).FileID)
	q := want("log", wire.FileOpen)
	q.DesiredAccess = wire.FileAppendData
	const clients, lines = 4, 50
	done := make(chan wire.Status, clients)
	for i := range clients {
		c := e.files(wire.Dialect311)
		f := c.must(q).FileID
		w := wire.WriteRequest{FileID: f, Offset: ^uint64(0), Data: bytes.Repeat([]byte{byte('a' + i)}, 10)}
		go func() {
			for range lines {
				if err := c.W.Send(c.Message(smbtest.Request{Command: wire.CmdWrite, Body: w.Append})); err != nil {
					break
				}
				if m, err := c.W.Recv(smbtest.Timeout); err != nil || le.Uint32(m[8:]) != 0 {
					break
				}
			}
			done <- 0
		}()
	}
	for range clients {
		<-done
	}
	f := c.must(want("log", wire.FileOpen)).FileID
	got, st := c.read(wire.ReadRequest{FileID: f, Length: 60000})
	if st != 0 || len(got) != clients*lines*10 {
		t.Fatalf("%v, %d bytes", st, len(got))
	}
	for ; len(got) > 0; got = got[10:] {
		if !bytes.Equal(got[:10], bytes.Repeat(got[:1], 10)) {
			t.Fatalf("mixed: %q", got[:10])
		}
	}
	c.closeFile(f)
}
