package mem

import (
	"fmt"
	"net/netip"
	"sync"

	"fileserver/rdma"
)

// Fabric joins the devices of several providers.
type Fabric struct {
	mu        sync.Mutex
	listeners map[netip.AddrPort]*Listener
	hosts     uint32 // addresses given out
	port      uint16 // last port given out
}

// NewFabric makes a fabric without devices.
func NewFabric() *Fabric {
	return &Fabric{listeners: make(map[netip.AddrPort]*Listener), port: 32767}
}

// host is the next free address: 10.0.0.1, 10.0.0.2 …
func (f *Fabric) host() netip.Addr {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts++
	return netip.AddrFrom4([4]byte{10, byte(f.hosts >> 16), byte(f.hosts >> 8), byte(f.hosts)})
}

// ephemeral is the next port for connecting sides and zero-port listeners.
func (f *Fabric) ephemeral() uint16 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.port++; f.port == 0 {
		f.port = 32768
	}
	return f.port
}

func (f *Fabric) bind(l *Listener) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range l.addrs {
		if f.listeners[a] != nil {
			return fmt.Errorf("mem: %v: address already in use", a)
		}
	}
	for _, a := range l.addrs {
		f.listeners[a] = l
	}
	return nil
}

func (f *Fabric) unbind(l *Listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range l.addrs {
		if f.listeners[a] == l {
			delete(f.listeners, a)
		}
	}
}

// remove takes a device's addresses from their listeners.
func (f *Fabric) remove(d *Device) {
	var lost []*Listener
	f.mu.Lock()
	for a, l := range f.listeners {
		if l.devices[a] == d {
			delete(f.listeners, a)
			lost = append(lost, l)
		}
	}
	f.mu.Unlock()
	for _, l := range lost {
		l.lose()
	}
}

func (f *Fabric) listener(addr netip.AddrPort) *Listener {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listeners[addr]
}

// DefaultCaps are those of a generous device.
func DefaultCaps() rdma.Caps {
	return rdma.Caps{
		Transport: rdma.TransportMem, MaxSGE: 16, MaxSGERead: 16, MaxInline: 256, MaxQPWR: 8192,
		MaxIRD: 32, MaxORD: 32, MaxMsgSize: 1 << 30,
		MaxRequestPrivateData: 196, MaxReplyPrivateData: 196,
		RNR: true, WriteCompletionIsRemote: true, SendInvalidate: true,
	}
}

// IWARPCaps imitate a software iWARP device.
func IWARPCaps() rdma.Caps {
	return rdma.Caps{
		Transport: rdma.TransportMem, MaxSGE: 6, MaxSGERead: 1, MaxInline: 80, MaxQPWR: 4096,
		MaxIRD: 16, MaxORD: 16, MaxMsgSize: 1<<32 - 1,
		MaxRequestPrivateData: 252, MaxReplyPrivateData: 252,
		InitiatorSpeaksFirst: true, SendInvalidate: true,
	}
}

// AdapterCaps imitate an iWARP adapter: as [IWARPCaps], with keys of sinks that cross the wire.
func AdapterCaps() rdma.Caps {
	c := IWARPCaps()
	c.ReadSinkNeedsRemoteWrite = true
	return c
}

// RoCECaps imitate a RoCE v2 device, with messages of at most 8 MiB.
func RoCECaps() rdma.Caps {
	return rdma.Caps{
		Transport: rdma.TransportMem, MaxSGE: 30, MaxSGERead: 30, MaxInline: 220, MaxQPWR: 4096,
		MaxIRD: 16, MaxORD: 16, MaxMsgSize: 8 << 20,
		MaxRequestPrivateData: 56, MaxReplyPrivateData: 196,
		RNR: true, WriteCompletionIsRemote: true, SendInvalidate: true,
	}
}
