package discover

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// CMListener is somebody who listens by rdma_cm on a device.
type CMListener struct {
	Device string
	Addr   netip.AddrPort // as bound to: mostly the unspecified address
	PID    int            // of the program; 0: it is the kernel, or in another namespace
	Kernel string         // the module of the kernel, e.g. "rpcrdma", "ksmbd"; empty for programs
}

// What netlink's RDMA family calls things (rdma_netlink.h), as far as package nl does not have it.
const (
	nldevResCMIDGet       = 11
	nldevAttrResState     = 27
	nldevAttrResPID       = 28
	nldevAttrResKernName  = 29
	nldevAttrResCMID      = 30
	nldevAttrResCMIDEntry = 31
	nldevAttrResSrcAddr   = 33

	cmStateListen = 8 // enum rdma_cm_state
)

// CMListeners lists who listens by rdma_cm, on every device: what `rdma resource show cm_id` lists. It needs no privilege. Machines whose kernel
// has no RDMA have none.
func CMListeners() ([]CMListener, error) {
	links, err := netlink.RdmaLinkList()
	switch {
	case errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.EAFNOSUPPORT):
		return nil, nil
	case err != nil && !errors.Is(err, netlink.ErrDumpInterrupted):
		return nil, err
	}
	var list []CMListener
	for _, l := range links {
		req := nl.NewNetlinkRequest(nl.RDMA_NL_NLDEV<<nl.RDMA_NL_GET_CLIENT_SHIFT|nldevResCMIDGet, unix.NLM_F_DUMP)
		req.AddData(nl.NewRtAttr(nl.RDMA_NLDEV_ATTR_DEV_INDEX, nl.Uint32Attr(l.Attrs.Index)))
		msgs, err := req.Execute(unix.NETLINK_RDMA, 0)
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return list, err
		}
		for _, m := range msgs {
			list = append(list, parseCMIDs(l.Attrs.Name, m)...)
		}
	}
	return list, nil
}

// parseCMIDs takes those that listen out of one message.
func parseCMIDs(device string, msg []byte) (list []CMListener) {
	for _, table := range attrs(msg) {
		if table.typ != nldevAttrResCMID {
			continue
		}
		for _, entry := range attrs(table.value) {
			if entry.typ == nldevAttrResCMIDEntry {
				if l, ok := parseCMID(entry.value); ok {
					l.Device = device
					list = append(list, l)
				}
			}
		}
	}
	return list
}

// parseCMID reads one; false: it does not listen.
func parseCMID(b []byte) (l CMListener, ok bool) {
	for _, a := range attrs(b) {
		switch t, v := a.typ, a.value; {
		case t == nldevAttrResState && len(v) >= 1:
			ok = v[0] == cmStateListen
		case t == nldevAttrResPID && len(v) >= 4:
			l.PID = int(binary.NativeEndian.Uint32(v))
		case t == nldevAttrResKernName:
			l.Kernel = strings.TrimRight(string(v), "\x00")
		case t == nldevAttrResSrcAddr:
			l.Addr = sockaddr(v)
		}
	}
	return l, ok && l.Addr.IsValid()
}

// attr is an attribute of netlink, its type without the flags (NLA_F_NESTED).
type attr struct {
	typ   uint16
	value []byte
}

// attrs splits attributes; package nl's way panics about some that end early.
func attrs(b []byte) (list []attr) {
	for len(b) >= unix.SizeofNlAttr {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofNlAttr || n > len(b) {
			break
		}
		list = append(list, attr{binary.NativeEndian.Uint16(b[2:]) & 0x3fff, b[unix.SizeofNlAttr:n]})
		b = b[min((n+3)&^3, len(b)):]
	}
	return list
}

// sockaddr reads a struct sockaddr_storage.
func sockaddr(b []byte) netip.AddrPort {
	switch {
	case len(b) >= 8 && binary.NativeEndian.Uint16(b) == unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:]))
	case len(b) >= 24 && binary.NativeEndian.Uint16(b) == unix.AF_INET6:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), binary.BigEndian.Uint16(b[2:]))
	}
	return netip.AddrPort{}
}
