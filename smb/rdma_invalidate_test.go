package smb_test

import (
	"bytes"
	"testing"

	"fileserver/rdma"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

// from302 are the dialects with SMB2_CHANNEL_RDMA_V1_INVALIDATE.
var from302 = []wire.Dialect{wire.Dialect302, wire.Dialect311}

// transfer writes random bytes to a new file through ch, reads them back if reading is set, and returns the region of the last
// operation, and that operation.
func transfer(t *testing.T, p *peer, ch wire.Channel, reading bool) (*region, smbtest.Request) {
	t.Helper()
	size := int(min(p.Negotiate.MaxReadSize, p.Negotiate.MaxWriteSize))
	id, want := p.create("file"), noise(size)
	r := p.register(t, size, rdma.AccessRemoteRead)
	copy(r.bytes(), want)
	p.write(id, 0, size, ch, r.at)
	again := writeRequest(id, 0, size, ch, r.at)
	into := p.register(t, size, rdma.AccessRemoteWrite)
	p.read(id, 0, size, ch, into.at)
	if !bytes.Equal(into.bytes(), want) {
		t.Fatal("other bytes came back")
	}
	if reading {
		r, again = into, readRequest(id, 0, size, ch, into.at)
	}
	return r, again
}

// invalidates: the server gives the key back, and with it the right to use the memory, so that using it once more is the end.
func invalidates(t *testing.T, reading bool) {
	overRDMA(t, from302, func(t *testing.T, _ *world, _ string, p *peer) {
		r, again := transfer(t, p, wire.ChannelRDMAV1Invalidate, reading)
		if r.isOpen() || len(p.given) != 2 {
			t.Fatalf("two operations, and %d tokens invalidated", len(p.given))
		}
		if reading {
			p.ends(again)
		} else {
			p.refuses(again)
		}
	})
}

func TestBVT_Smb2OverRdma_Smb302_Write_SMB2_CHANNEL_RDMA_V1_INVALIDATE(t *testing.T) {
	invalidates(t, false)
}

func TestBVT_Smb2OverRdma_Smb302_Read_SMB2_CHANNEL_RDMA_V1_INVALIDATE(t *testing.T) {
	invalidates(t, true)
}

// keeps: without the wish for invalidation the same descriptor serves again.
func keeps(t *testing.T, reading bool) {
	overRDMA(t, all3x, func(t *testing.T, _ *world, _ string, p *peer) {
		r, again := transfer(t, p, wire.ChannelRDMAV1, reading)
		want := bytes.Clone(r.bytes())
		if reading {
			clear(r.bytes())
		}
		if st := p.Do(again)[0].Status; st != wire.StatusSuccess {
			t.Fatalf("once more: %v", st)
		}
		if !bytes.Equal(r.bytes(), want) {
			t.Error("other bytes came, the second time")
		}
		if !r.isOpen() || len(p.given) > 0 {
			t.Errorf("tokens %x were invalidated", p.given)
		}
	})
}

func TestSmb2OverRdma_Write_SMB2_CHANNEL_RDMA_V1(t *testing.T) { keeps(t, false) }

func TestSmb2OverRdma_Read_SMB2_CHANNEL_RDMA_V1(t *testing.T) { keeps(t, true) }

// unknownTo300: dialect 3.0 has no such channel, and no invalidation either.
func unknownTo300(t *testing.T, reading bool) {
	overRDMA(t, []wire.Dialect{wire.Dialect300}, func(t *testing.T, _ *world, _ string, p *peer) {
		r, _ := transfer(t, p, wire.ChannelRDMAV1, reading)
		q := writeRequest(p.create("file"), 0, r.n, wire.ChannelRDMAV1Invalidate, r.at)
		if reading {
			q = readRequest(p.create("file"), 0, r.n, wire.ChannelRDMAV1Invalidate, r.at)
		}
		if st := p.Do(q)[0].Status; st != wire.StatusInvalidParameter {
			t.Errorf("%v", st)
		}
		if !r.isOpen() {
			t.Error("the token was invalidated")
		}
	})
}

func TestSmb2OverRdma_Smb300_Write_SMB2_CHANNEL_RDMA_V1_INVALIDATE(t *testing.T) {
	unknownTo300(t, false)
}

func TestSmb2OverRdma_Smb300_Read_SMB2_CHANNEL_RDMA_V1_INVALIDATE(t *testing.T) {
	unknownTo300(t, true)
}

// TestKeysComeBack uses one region for operation after operation, as clients on rxe and siw must: it is not opened again before the
// server has given its key back, which every final response does, whatever it says, and no interim one.
func TestKeysComeBack(t *testing.T) {
	overRDMA(t, from302, func(t *testing.T, _ *world, _ string, p *peer) {
		const size = 64 << 10
		id := p.create("file")
		r := p.register(t, size, rdma.AccessRemoteRead|rdma.AccessRemoteWrite)
		p.write(id, 0, size, wire.ChannelRDMAV1Invalidate, r.at)
		bad, tree := wire.FileID{Persistent: 77, Volatile: 77}, p.TreeID
		for name, q := range map[string]struct {
			request func() smbtest.Request
			want    wire.Status
		}{
			"READ":                     {func() smbtest.Request { return readRequest(id, 0, size, 2, r.at) }, wire.StatusSuccess},
			"READ cut by the end":      {func() smbtest.Request { return readRequest(id, size-100, size, 2, r.at) }, wire.StatusSuccess},
			"READ behind the end":      {func() smbtest.Request { return readRequest(id, 10*size, size, 2, r.at) }, wire.StatusEndOfFile},
			"READ of no open":          {func() smbtest.Request { return readRequest(bad, 0, size, 2, r.at) }, wire.StatusFileClosed},
			"READ of too much":         {func() smbtest.Request { return readRequest(id, 0, 2*size, 2, r.at) }, wire.StatusInvalidParameter},
			"READ without the credits": {func() smbtest.Request { q := readRequest(id, 0, 2*size, 2, r.at); q.Charge = 1; return q }, wire.StatusInvalidParameter},
			"READ in no tree": {func() smbtest.Request {
				q := readRequest(id, 0, size, 2, r.at)
				q.Edit = func(h *wire.Header) { h.TreeID = tree + 7 }
				return q
			}, wire.StatusNetworkNameDeleted},
			"WRITE":                       {func() smbtest.Request { return writeRequest(id, 0, size, 2, r.at) }, wire.StatusSuccess},
			"WRITE of no open":            {func() smbtest.Request { return writeRequest(bad, 0, size, 2, r.at) }, wire.StatusFileClosed},
			"WRITE of more than there is": {func() smbtest.Request { return writeRequest(id, 0, size+1, 2, r.at) }, wire.StatusInvalidParameter},
		} {
			r.open(t, rdma.AccessRemoteRead|rdma.AccessRemoteWrite)
			if st := p.Do(q.request())[0].Status; st != q.want {
				t.Errorf("%s: %v, want %v", name, st, q.want)
			}
			if r.isOpen() {
				t.Fatalf("%s: the key did not come back", name)
			}
		}
		// A key comes back once: were it twice, the peer's device would end the connection.
		if p.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess); len(p.given) != 11 {
			t.Errorf("11 operations, and %d tokens invalidated", len(p.given))
		}
	})
}
