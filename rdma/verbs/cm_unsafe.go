//go:build linux && cgo && rdmacore

package verbs

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
)

// Kinds of connection manager events (enum rdma_cm_event_type), and of
// asynchronous ones (enum ibv_event_type), that are looked at.
const (
	cmAddrResolved    = C.RDMA_CM_EVENT_ADDR_RESOLVED
	cmAddrError       = C.RDMA_CM_EVENT_ADDR_ERROR
	cmRouteResolved   = C.RDMA_CM_EVENT_ROUTE_RESOLVED
	cmRouteError      = C.RDMA_CM_EVENT_ROUTE_ERROR
	cmConnectRequest  = C.RDMA_CM_EVENT_CONNECT_REQUEST
	cmConnectResponse = C.RDMA_CM_EVENT_CONNECT_RESPONSE
	cmConnectError    = C.RDMA_CM_EVENT_CONNECT_ERROR
	cmUnreachable     = C.RDMA_CM_EVENT_UNREACHABLE
	cmRejected        = C.RDMA_CM_EVENT_REJECTED
	cmEstablished     = C.RDMA_CM_EVENT_ESTABLISHED
	cmDisconnected    = C.RDMA_CM_EVENT_DISCONNECTED
	cmDeviceRemoval   = C.RDMA_CM_EVENT_DEVICE_REMOVAL
	cmAddrChange      = C.RDMA_CM_EVENT_ADDR_CHANGE
	cmTimewaitExit    = C.RDMA_CM_EVENT_TIMEWAIT_EXIT

	asyncQPFatal     = C.IBV_EVENT_QP_FATAL
	asyncQPReqErr    = C.IBV_EVENT_QP_REQ_ERR
	asyncQPAccessErr = C.IBV_EVENT_QP_ACCESS_ERR
	asyncCommEst     = C.IBV_EVENT_COMM_EST
	asyncDeviceFatal = C.IBV_EVENT_DEVICE_FATAL
	asyncCQErr       = C.IBV_EVENT_CQ_ERR
	asyncPortActive  = C.IBV_EVENT_PORT_ACTIVE
	asyncPortErr     = C.IBV_EVENT_PORT_ERR
)

// cmEvent is an event of the connection manager. It has been acknowledged.
type cmEvent struct {
	handle  uint64
	cm      cmID // a request's new ID
	kind    int
	status  int
	ird     int // READs the peer will have outstanding
	ord     int // READs of ours the peer answers
	retry   int // rnr_retry_count
	private []byte
}

// channel is a struct rdma_event_channel.
type channel struct {
	c  *C.struct_rdma_event_channel
	ev *C.struct_vb_event
}

func newChannel() (channel, error) {
	c, err := C.vb_new_channel()
	if c == nil {
		return channel{}, cmError("opening the connection manager", err)
	}
	return channel{c: c, ev: (*C.struct_vb_event)(C.calloc(1, C.sizeof_struct_vb_event))}, nil
}

// cmError explains what users can do something about.
func cmError(what string, err error) error {
	switch {
	case errors.Is(err, syscall.ENODEV):
		return fmt.Errorf("rdma/verbs: %s: no RDMA device: %w", what, err)
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOSYS):
		return fmt.Errorf("rdma/verbs: %s: %w: is the kernel module rdma_ucm loaded (modprobe rdma_ucm)?", what, err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("rdma/verbs: %s: %w: is /dev/infiniband/rdma_cm accessible to this user?", what, err)
	}
	return fmt.Errorf("rdma/verbs: %s: %w", what, err)
}

func (ch channel) fd() int { return int(ch.c.fd) }

// next takes an event, and acknowledges it; err is EAGAIN where there is none.
func (ch channel) next() (cmEvent, error) {
	if errno := C.vb_next_event(ch.c, ch.ev); errno != 0 {
		return cmEvent{}, syscall.Errno(errno)
	}
	e := ch.ev
	return cmEvent{
		handle: uint64(e.handle), cm: cmID{e.id}, kind: int(e.kind), status: int(e.status),
		ird: int(e.ird), ord: int(e.ord), retry: int(e.rnr_retry),
		private: C.GoBytes(unsafe.Pointer(&e.private_data[0]), C.int(e.private_len)),
	}, nil
}

func (ch channel) destroy() {
	C.vb_destroy_channel(ch.c)
	C.free(unsafe.Pointer(ch.ev))
}

// cmID is a struct rdma_cm_id; zero where it has been destroyed. Its events carry
// the handle it was made with.
type cmID struct{ c *C.struct_rdma_cm_id }

func (ch channel) newID(handle uint64) (id cmID, err error) {
	return id, failure("rdma_create_id", C.vb_create_id(ch.c, C.uint64_t(handle), &id.c))
}

func (id cmID) valid() bool             { return id.c != nil }
func (id cmID) setHandle(handle uint64) { C.vb_set_handle(id.c, C.uint64_t(handle)) }

func (id cmID) bind(addr netip.AddrPort) error {
	sa, err := sockaddr(addr)
	if err != nil {
		return err
	}
	if addr.Addr().Is6() {
		if err := failure("IPv6 only", C.vb_only_v6(id.c)); err != nil {
			return err
		}
	}
	return failure("binding to "+addr.String(), C.vb_bind(id.c, unsafe.Pointer(&sa)))
}

func (id cmID) listen(backlog int) error {
	return failure("listening on "+id.local().String(), C.vb_listen(id.c, C.int(backlog)))
}

func (id cmID) resolveAddr(addr netip.AddrPort, ms int) error {
	sa, err := sockaddr(addr)
	if err != nil {
		return err
	}
	return failure("resolving "+addr.String(), C.vb_resolve_addr(id.c, unsafe.Pointer(&sa), C.int(ms)))
}

func (id cmID) resolveRoute(ms int) error {
	return failure("resolving the route", C.vb_resolve_route(id.c, C.int(ms)))
}

// param makes a struct vb_param. IRD, ORD and the length of the private data have been checked.
func param(q *qp, p rdma.ConnParams) *C.struct_vb_param {
	c := &C.struct_vb_param{ird: C.uint8_t(p.IRD), ord: C.uint8_t(p.ORD), rnr_retry: C.uint8_t(min(7, max(0, p.RNRRetry)))}
	if q != nil {
		c.qpn = C.uint32_t(q.num)
	}
	for i, b := range p.PrivateData {
		c.private_data[i] = C.uint8_t(b)
	}
	c.private_len = C.uint8_t(len(p.PrivateData))
	return c
}

func (id cmID) connect(q *qp, p rdma.ConnParams) error {
	return failure("rdma_connect", C.vb_connect(id.c, param(q, p)))
}

func (id cmID) accept(q *qp, p rdma.ConnParams) error {
	return failure("rdma_accept", C.vb_accept(id.c, param(q, p)))
}

func (id cmID) reject(private []byte) error {
	return failure("rdma_reject", C.vb_reject(id.c, param(nil, rdma.ConnParams{PrivateData: private})))
}

func (id cmID) establish() error { return failure("rdma_establish", C.vb_establish(id.c)) }

// heard tells the connection manager that the peer has sent something: its last
// message of the handshake may have been lost.
func (id cmID) heard() error {
	return failure("rdma_notify", C.vb_notify(id.c, C.IBV_EVENT_COMM_EST))
}

func (id cmID) disconnect() error { return failure("rdma_disconnect", C.vb_disconnect(id.c)) }

// destroy waits until the ID's events have been acknowledged.
func (id cmID) destroy() error { return failure("rdma_destroy_id", C.vb_destroy_id(id.c)) }

// device is the kernel device's identity; zero while the ID is bound to none.
func (id cmID) device() deviceKey {
	if id.c.verbs == nil {
		return deviceKey{}
	}
	return deviceKey{id.c.verbs.device}
}

// orphan lets the driver take the ID's device away; see vb_orphan.
func (id cmID) orphan() {
	if id.c.verbs != nil {
		C.vb_orphan(id.c.verbs)
	}
}

func (id cmID) local() netip.AddrPort  { return addrPort(C.vb_local(id.c)) }
func (id cmID) remote() netip.AddrPort { return addrPort(C.vb_remote(id.c)) }

// sockaddr is a struct sockaddr_in or sockaddr_in6.
func sockaddr(a netip.AddrPort) (sa [unix.SizeofSockaddrInet6]byte, err error) {
	addr := a.Addr().Unmap()
	binary.BigEndian.PutUint16(sa[2:], a.Port())
	if addr.Is4() {
		binary.NativeEndian.PutUint16(sa[:], unix.AF_INET)
		ip := addr.As4()
		copy(sa[4:], ip[:])
		return sa, nil
	}
	binary.NativeEndian.PutUint16(sa[:], unix.AF_INET6)
	ip := addr.As16()
	copy(sa[8:], ip[:])
	if zone := addr.Zone(); zone != "" {
		index, err := strconv.Atoi(zone)
		if err != nil {
			i, err := net.InterfaceByName(zone)
			if err != nil {
				return sa, err
			}
			index = i.Index
		}
		binary.NativeEndian.PutUint32(sa[24:], uint32(index))
	}
	return sa, nil
}

func addrPort(p unsafe.Pointer) netip.AddrPort {
	sa := unsafe.Slice((*byte)(p), unix.SizeofSockaddrInet6)
	port := binary.BigEndian.Uint16(sa[2:])
	switch binary.NativeEndian.Uint16(sa) {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(sa[4:8])), port)
	case unix.AF_INET6:
		a := netip.AddrFrom16([16]byte(sa[8:24])).Unmap()
		if scope := binary.NativeEndian.Uint32(sa[24:]); scope != 0 && a.IsLinkLocalUnicast() {
			a = a.WithZone(zone(int(scope)))
		}
		return netip.AddrPortFrom(a, port)
	}
	return netip.AddrPort{}
}

func zone(index int) string {
	if i, err := net.InterfaceByIndex(index); err == nil {
		return i.Name
	}
	return strconv.Itoa(index)
}
