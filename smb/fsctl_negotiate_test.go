package smb

import (
	"net/netip"
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

func TestValidateNegotiate(t *testing.T) {
	e := newEnv(t, nil)
	all := []wire.Dialect{wire.Dialect202, wire.Dialect210, wire.Dialect300, wire.Dialect302}
	right := func(c *smbtest.Client) wire.ValidateNegotiate {
		return wire.ValidateNegotiate{
			Capabilities: c.Caps, GUID: c.GUID, SecurityMode: wire.NegotiateSigningEnabled, Dialects: wire.AppendUint16s(nil, all...),
		}
	}
	connect := func(d ...wire.Dialect) *smbtest.Client {
		c := e.client()
		c.Connect(d...)
		c.MustLogin("ann", "secret")
		c.Tree(`\\s\ipc$`, wire.StatusSuccess)
		c.Sign = true
		return c
	}
	request := func(v wire.ValidateNegotiate) func([]byte, int) []byte {
		q := wire.IoctlRequest{
			Code: wire.FsctlValidateNegotiateInfo, FileID: wire.AnyFile, Flags: wire.IoctlIsFsctl, MaxOutputResponse: 24, Input: v.Append(nil),
		}
		return q.Append
	}
	c := connect(all...)
	r := c.Call(wire.CmdIoctl, request(right(c)), wire.StatusSuccess)
	resp, err := wire.ParseIoctlResponse(r.Msg)
	if err != nil {
		t.Fatal(err)
	}
	v, err := wire.ParseValidateNegotiateResponse(resp.Output)
	if err != nil || v.GUID != c.Negotiate.ServerGUID || v.Capabilities != c.Negotiate.Capabilities ||
		v.SecurityMode != c.Negotiate.SecurityMode || v.Dialects.At(0) != uint16(wire.Dialect302) {
		t.Fatalf("%+v %v", v, err)
	}
	for name, spoil := range map[string]func(*wire.ValidateNegotiate){
		"capabilities": func(v *wire.ValidateNegotiate) { v.Capabilities ^= 1 },
		"GUID":         func(v *wire.ValidateNegotiate) { v.GUID[0]++ },
		"mode":         func(v *wire.ValidateNegotiate) { v.SecurityMode = wire.NegotiateSigningRequired },
		"dialects":     func(v *wire.ValidateNegotiate) { v.Dialects = wire.AppendUint16s(nil, all[:3]...) },
	} {
		c := connect(all...)
		v := right(c)
		spoil(&v)
		c.Send(c.Message(smbtest.Request{Command: wire.CmdIoctl, Body: request(v)}))
		c.Dropped()
		_ = name
	}
	c = connect(wire.Dialect311)
	c.Send(c.Message(smbtest.Request{Command: wire.CmdIoctl, Body: request(right(c))}))
	c.Dropped()
}

// An address with RDMA is listed a second time without, because Linux opens channels over TCP by such entries only.
func TestInterfaces(t *testing.T) {
	want := []wire.NetworkInterface{
		{Index: 2, Capability: wire.InterfaceRDMACapable, LinkSpeed: 25e9, Addr: netip.MustParseAddr("127.0.0.1")},
		{Index: 2, Capability: wire.InterfaceRSSCapable, LinkSpeed: 25e9, Addr: netip.MustParseAddr("127.0.0.1")},
		{Index: 2, Capability: wire.InterfaceRSSCapable, LinkSpeed: 25e9, Addr: netip.MustParseAddr("2001:db8::2")},
		{Index: 3, LinkSpeed: 1e9, Addr: netip.MustParseAddr("192.0.2.9")},
	}
	e := newEnv(t, func(c *Config) {
		c.Interfaces = func() []Interface { // the client's own is to come first
			return []Interface{
				{Index: 2, Addr: want[2].Addr, Speed: 25e9, RSS: true}, {Index: 3, Addr: want[3].Addr, Speed: 1e9}, {Index: 2, Addr: want[0].Addr, Speed: 25e9, RDMA: true},
			}
		}
	})
	c := e.mounted(wire.Dialect311)
	q := wire.IoctlRequest{Code: wire.FsctlQueryNetworkInterfaceInfo, FileID: wire.AnyFile, Flags: wire.IoctlIsFsctl, MaxOutputResponse: 4096}
	resp, err := wire.ParseIoctlResponse(c.Call(wire.CmdIoctl, q.Append, wire.StatusSuccess).Msg)
	if err != nil {
		t.Fatal(err)
	}
	got, err := wire.ParseNetworkInterfaces(resp.Output)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%+v %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
		}
	}
	q.MaxOutputResponse = 300
	c.Call(wire.CmdIoctl, q.Append, wire.StatusBufferTooSmall)
	e.mounted(wire.Dialect210).Call(wire.CmdIoctl, q.Append, wire.StatusNotSupported)
}

func TestIoctlRefusals(t *testing.T) {
	e := newEnv(t, nil)
	c := e.mounted(wire.Dialect311)
	q := wire.IoctlRequest{Code: 0x00ffff00, FileID: wire.AnyFile, Flags: wire.IoctlIsFsctl}
	c.Call(wire.CmdIoctl, q.Append, wire.StatusInvalidDeviceRequest)
	q.Flags = 0
	c.Call(wire.CmdIoctl, q.Append, wire.StatusNotSupported)
	q = wire.IoctlRequest{Code: wire.FsctlQueryNetworkInterfaceInfo, FileID: wire.FileID{Persistent: 1}, Flags: wire.IoctlIsFsctl}
	c.Call(wire.CmdIoctl, q.Append, wire.StatusInvalidParameter)
	q = wire.IoctlRequest{Code: wire.FsctlQueryNetworkInterfaceInfo, FileID: wire.AnyFile, Flags: wire.IoctlIsFsctl, MaxOutputResponse: 1<<32 - 1}
	c.Call(wire.CmdIoctl, q.Append, wire.StatusInvalidParameter)
}
