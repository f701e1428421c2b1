package smb_test

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"

	"fileserver/rdma"
	"fileserver/smb"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

func TestBVT_Smb2MultipleChannel_2Channels_DiffNicTypeDiffTransport(t *testing.T) {
	twoChannels(t, []smb.Interface{
		{Index: 1, Addr: netip.MustParseAddr("127.0.0.1"), Speed: 1e9, RSS: true},
		{Index: 2, Addr: netip.MustParseAddr("127.0.0.2"), Speed: 25e9, RSS: true, RDMA: true},
	})
}

func TestSmb2Multichannel_2Channels_DiffTransport(t *testing.T) {
	twoChannels(t, []smb.Interface{{Index: 1, Addr: netip.MustParseAddr("127.0.0.1"), Speed: 25e9, RSS: true, RDMA: true}})
}

// twoChannels writes a file over TCP, finds out where there is RDMA, binds the session to a connection there, reads the file by it, and
// ends the session from there.
func twoChannels(t *testing.T, interfaces []smb.Interface) {
	w := newWorld(t, func(c *smb.Config) { c.Interfaces = func() []smb.Interface { return interfaces } })
	for provider := range w.direct {
		for _, d := range all3x {
			t.Run(provider+"/"+d.String(), func(t *testing.T) {
				nc, err := w.dial["tcp"]()
				if err != nil {
					t.Fatal(err)
				}
				defer nc.Close()
				main := &peer{Client: smbtest.NewClient(t, smbtest.Over(nc)), w: w}
				main.Connect(d)
				main.MustLogin("ann", "secret")
				main.Tree(`\\server\data`, wire.StatusSuccess)
				main.earn(256)
				id, want := main.create("file"), noise(3<<20+5)
				for at := 0; at < len(want); {
					n := min(1<<20, len(want)-at)
					q := wire.WriteRequest{FileID: id, Offset: uint64(at), Data: want[at : at+n]}
					r := main.Do(smbtest.Request{Command: wire.CmdWrite, Body: q.Append, Charge: 16, Ask: 256})[0]
					if resp, err := wire.ParseWriteResponse(r.Msg); r.Status != wire.StatusSuccess || err != nil || resp.Count != uint32(n) {
						t.Fatalf("%v %+v %v", r.Status, resp, err)
					}
					at += n
				}
				if !slices.ContainsFunc(told(main.Client), func(i wire.NetworkInterface) bool { return i.Capability&wire.InterfaceRDMACapable != 0 }) {
					t.Fatal("the server tells of no address with RDMA")
				}

				p := w.connect(t, provider)
				p.Connect(d)
				if st, _ := p.Login("ann", "secret", smbtest.Setup{Bind: main.Client}); st != wire.StatusSuccess {
					t.Fatalf("the session is not bound: %v", st)
				}
				p.TreeID = main.TreeID
				p.earn(256)
				size := int(p.Negotiate.MaxReadSize)
				r := p.register(t, size, rdma.AccessRemoteWrite)
				for at := 0; at < len(want); at += size {
					n := min(size, len(want)-at)
					p.read(id, uint64(at), n, wire.ChannelRDMAV1, r.at)
					if !bytes.Equal(r.bytes()[:n], want[at:at+n]) {
						t.Fatalf("other bytes at %d", at)
					}
				}
				p.closeFile(id)
				p.Call(wire.CmdTreeDisconnect, smbtest.Empty, wire.StatusSuccess)
				p.Call(wire.CmdLogoff, smbtest.Empty, wire.StatusSuccess)
				main.Call(wire.CmdTreeConnect, (&wire.TreeConnectRequest{Path: wire.AppendUTF16(nil, `\\server\data`)}).Append, wire.StatusUserSessionDeleted)
			})
		}
	}
}

// told asks the server for its addresses.
func told(c *smbtest.Client) []wire.NetworkInterface {
	c.T.Helper()
	q := wire.IoctlRequest{Code: wire.FsctlQueryNetworkInterfaceInfo, FileID: wire.AnyFile, Flags: 1, MaxOutputResponse: 64 << 10}
	r := c.Call(wire.CmdIoctl, q.Append, wire.StatusSuccess)
	resp, err := wire.ParseIoctlResponse(r.Msg)
	if err != nil {
		c.T.Fatal(err)
	}
	list, err := wire.ParseNetworkInterfaces(resp.Output)
	if err != nil {
		c.T.Fatal(err)
	}
	return list
}
