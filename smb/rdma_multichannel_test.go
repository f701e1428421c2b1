package smb_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"fileserver/rdma"
	"fileserver/smb"
	"fileserver/smb/crypt"
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

// TestChannelsOfTransports binds a session of TCP to SMB Direct, and the other way round, with every way to sign: each channel signs with
// a key of its own, what is encrypted is so with the session's. The session outlives its first connection.
func TestChannelsOfTransports(t *testing.T) {
	type way struct {
		dialect wire.Dialect
		sign    crypt.Algorithm
		cipher  crypt.Cipher
	}
	ways := []way{
		{wire.Dialect300, crypt.AESCMAC, crypt.CCM128}, {wire.Dialect302, crypt.AESCMAC, crypt.CCM128},
		{wire.Dialect311, crypt.HMACSHA256, crypt.GCM128}, {wire.Dialect311, crypt.AESCMAC, crypt.GCM256},
		{wire.Dialect311, crypt.AESGMAC, crypt.CCM256},
	}
	w := newWorld(t, func(c *smb.Config) { c.Interfaces = func() []smb.Interface { return nil } })
	for provider := range w.direct {
		for _, first := range []string{"tcp", provider} {
			for _, x := range ways {
				t.Run(fmt.Sprintf("%s after %s/%v %v", provider, first, x.dialect, x.sign), func(t *testing.T) {
					nc, err := w.dial["tcp"]()
					if err != nil {
						t.Fatal(err)
					}
					defer nc.Close()
					tcp, direct := &peer{Client: smbtest.NewClient(t, smbtest.Over(nc)), w: w}, w.connect(t, provider)
					a, b := tcp, direct
					if first != "tcp" {
						a, b = direct, tcp
					}
					for _, p := range []*peer{a, b} {
						p.Ciphers = []crypt.Cipher{x.cipher}
						if x.dialect == wire.Dialect311 {
							p.SignAlgs = []crypt.Algorithm{x.sign}
						}
						p.Connect(x.dialect)
						if p == b {
							if st, _ := p.Login("ann", "secret", smbtest.Setup{Bind: a.Client}); st != wire.StatusSuccess {
								t.Fatal(st)
							}
							p.TreeID = a.TreeID
							break
						}
						p.MustLogin("ann", "secret")
						p.Tree(`\\server\data`, wire.StatusSuccess)
					}
					if bytes.Equal(a.Key, b.Key) {
						t.Fatal("both channels have one key")
					}
					id, want := a.create("both"), noise(60000)
					for i, p := range []*peer{a, b, a, b} {
						p.Sign, p.Encrypt = i < 2, i >= 2
						q := wire.WriteRequest{FileID: id, Data: want[i:]}
						p.Call(wire.CmdWrite, q.Append, wire.StatusSuccess)
						rd := wire.ReadRequest{FileID: id, Length: uint32(len(want) - i)}
						r := []*peer{a, b}[(i+1)%2]
						r.Sign, r.Encrypt = p.Sign, p.Encrypt
						resp, err := wire.ParseReadResponse(r.Call(wire.CmdRead, rd.Append, wire.StatusSuccess).Msg)
						if err != nil || !bytes.Equal(resp.Data, want[i:]) {
							t.Fatalf("other bytes came by the other channel: %v", err)
						}
					}
					a.Encrypt, b.Encrypt = false, false
					r := direct.register(t, 60000, rdma.AccessRemoteWrite)
					direct.read(id, 0, 59997, wire.ChannelRDMAV1, r.at)
					if !bytes.Equal(r.bytes()[:59997], want[3:]) {
						t.Fatal("RDMA brings other bytes")
					}
					a.W.Close()
					b.Sign = true
					b.Call(wire.CmdFlush, (&wire.FlushRequest{FileID: id}).Append, wire.StatusSuccess)
					b.Call(wire.CmdLogoff, smbtest.Empty, wire.StatusSuccess)
				})
			}
		}
	}
}
