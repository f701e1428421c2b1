package wire

import "net/netip"

// ValidateNegotiate is VALIDATE_NEGOTIATE_INFO: the request (MS-SMB2 2.2.31.4), or the response, which has one dialect
// (2.2.32.6).
type ValidateNegotiate struct {
	Capabilities Capabilities
	GUID         GUID
	SecurityMode uint16
	Dialects     Uint16s // of Dialect
}

const validateFixedLen = 24

// ParseValidateNegotiate reads the input of FSCTL_VALIDATE_NEGOTIATE_INFO.
func ParseValidateNegotiate(b []byte) (v ValidateNegotiate, err error) {
	if err = atLeast(b, validateFixedLen); err != nil {
		return v, err
	}
	v = ValidateNegotiate{Capabilities: Capabilities(le.Uint32(b)), GUID: getGUID(b[4:]), SecurityMode: le.Uint16(b[20:])}
	v.Dialects, err = within(b[validateFixedLen:], 0, 2*uint64(le.Uint16(b[22:])))
	return v, err
}

// Append appends the input.
func (v *ValidateNegotiate) Append(b []byte) []byte {
	b = le.AppendUint16(v.append(b), uint16(v.Dialects.Len()))
	return append(b, v.Dialects...)
}

func (v *ValidateNegotiate) append(b []byte) []byte {
	b = append(le.AppendUint32(b, uint32(v.Capabilities)), v.GUID[:]...)
	return le.AppendUint16(b, v.SecurityMode)
}

// AppendResponse appends the output, which has one dialect.
func (v *ValidateNegotiate) AppendResponse(b []byte) []byte {
	return append(v.append(b), v.Dialects[:2]...)
}

// ParseValidateNegotiateResponse reads the output.
func ParseValidateNegotiateResponse(b []byte) (v ValidateNegotiate, err error) {
	if err = atLeast(b, validateFixedLen); err != nil {
		return v, err
	}
	return ValidateNegotiate{Capabilities(le.Uint32(b)), getGUID(b[4:]), le.Uint16(b[20:]), Uint16s(b[22:24:24])}, nil
}

// Capabilities of a NetworkInterface (MS-SMB2 2.2.32.5).
const (
	InterfaceRSSCapable  uint32 = 0x00000001
	InterfaceRDMACapable uint32 = 0x00000002
)

// NetworkInterface is a NETWORK_INTERFACE_INFO: an address of the server (MS-SMB2 2.2.32.5).
type NetworkInterface struct {
	Index      uint32 // the same for all addresses of an interface
	Capability uint32
	LinkSpeed  uint64 // bit/s
	Addr       netip.Addr
}

const networkInterfaceLen = 152

// Address families of a SOCKADDR_STORAGE (MS-SMB2 2.2.32.5.1).
const (
	familyInterNetwork   = 0x0002
	familyInterNetworkV6 = 0x0017
)

// AddNetworkInterface adds n. It reports whether there was room.
func (l *List) AddNetworkInterface(n *NetworkInterface) bool {
	b := l.begin(8)
	start := len(b)
	b = le.AppendUint32(le.AppendUint32(b, 0), n.Index)
	b = le.AppendUint32(le.AppendUint32(b, n.Capability), 0)
	b = le.AppendUint64(b, n.LinkSpeed)
	if a := n.Addr.Unmap(); a.Is4() {
		v := a.As4()
		b = append(append(b, familyInterNetwork, 0, 0, 0), v[:]...)
	} else {
		v := a.As16()
		b = append(append(b, familyInterNetworkV6, 0, 0, 0, 0, 0, 0, 0), v[:]...)
	}
	return l.end(zeros(b, start+networkInterfaceLen-len(b)), start)
}

// ParseNetworkInterfaces reads the output of FSCTL_QUERY_NETWORK_INTERFACE_INFO. It leaves out addresses that are
// neither IPv4 nor IPv6.
func ParseNetworkInterfaces(b []byte) (list []NetworkInterface, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	for b != nil {
		var e []byte
		if e, b, err = entry(b, networkInterfaceLen, 8); err != nil {
			return nil, err
		}
		n := NetworkInterface{Index: le.Uint32(e[4:]), Capability: le.Uint32(e[8:]), LinkSpeed: le.Uint64(e[16:])}
		switch le.Uint16(e[24:]) {
		case familyInterNetwork:
			n.Addr = netip.AddrFrom4([4]byte(e[28:32]))
		case familyInterNetworkV6:
			n.Addr = netip.AddrFrom16([16]byte(e[32:48]))
		default:
			continue
		}
		list = append(list, n)
	}
	return list, nil
}
