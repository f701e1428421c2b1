package discover

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// cmID is an entry as the kernel writes it.
func cmID(state byte, addr netip.AddrPort, pid uint32, kernel string) *nl.RtAttr {
	e := nl.NewRtAttr(nldevAttrResCMIDEntry|unix.NLA_F_NESTED, nil)
	e.AddRtAttr(nldevAttrResState, []byte{state})
	sa := make([]byte, 128)
	binary.BigEndian.PutUint16(sa[2:], addr.Port())
	if addr.Addr().Is4() {
		binary.NativeEndian.PutUint16(sa, unix.AF_INET)
		copy(sa[4:], addr.Addr().AsSlice())
	} else {
		binary.NativeEndian.PutUint16(sa, unix.AF_INET6)
		copy(sa[8:], addr.Addr().AsSlice())
	}
	e.AddRtAttr(nldevAttrResSrcAddr, sa)
	if pid != 0 {
		e.AddRtAttr(nldevAttrResPID, nl.Uint32Attr(pid))
	} else {
		e.AddRtAttr(nldevAttrResKernName, []byte(kernel+"\x00"))
	}
	return e
}

func cmTable() []byte {
	t := nl.NewRtAttr(nldevAttrResCMID|unix.NLA_F_NESTED, nil)
	t.AddChild(cmID(cmStateListen, netip.MustParseAddrPort("0.0.0.0:20049"), 0, "rpcrdma"))
	t.AddChild(cmID(cmStateListen, netip.MustParseAddrPort("[2001:db8::1]:445"), 77, ""))
	t.AddChild(cmID(5, netip.MustParseAddrPort("192.0.2.1:445"), 77, "")) // connected
	return bytes.Join([][]byte{nl.NewRtAttr(nl.RDMA_NLDEV_ATTR_DEV_NAME, []byte("rxe0\x00")).Serialize(), t.Serialize()}, nil)
}

func TestCMIDs(t *testing.T) {
	want := []CMListener{
		{Device: "rxe0", Addr: netip.MustParseAddrPort("0.0.0.0:20049"), Kernel: "rpcrdma"},
		{Device: "rxe0", Addr: netip.MustParseAddrPort("[2001:db8::1]:445"), PID: 77},
	}
	if got := parseCMIDs("rxe0", cmTable()); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	// The machine of the test may have devices, and may have none.
	if _, err := CMListeners(); err != nil {
		t.Error(err)
	}
}

// FuzzCMIDs: nothing that netlink could say does harm.
func FuzzCMIDs(f *testing.F) {
	b := cmTable()
	for n := range len(b) {
		f.Add(b[:n])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, l := range parseCMIDs("d", b) {
			if !l.Addr.IsValid() {
				t.Errorf("%+v", l)
			}
		}
	})
}
