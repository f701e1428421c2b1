//go:build linux && cgo && rdmacore

package verbs

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"fileserver/rdma"
)

// deviceKey identifies a device as long as somebody has it open: one that goes away
// and returns has another.
type deviceKey struct{ c *C.struct_ibv_device }

// present lists the devices that are there now, by key, and opens those that are
// not known.
func present(known func(deviceKey) bool) (keys []deviceKey, opened []*devContext, err error) {
	var list **C.struct_ibv_device
	var n C.int
	if errno := C.vb_device_list(&list, &n); errno != 0 {
		// libibverbs says ENOSYS also when it has no descriptor left to list the devices with.
		_, statErr := os.Stat("/sys/class/infiniband_verbs")
		if e := syscall.Errno(errno); (e == syscall.ENODEV || e == syscall.ENOSYS) && errors.Is(statErr, os.ErrNotExist) {
			return nil, nil, nil // no RDMA in this kernel, or its modules are not loaded
		}
		return nil, nil, failure("listing the devices", errno)
	}
	defer C.vb_free_device_list(list)
	for _, d := range unsafe.Slice(list, int(n)) {
		key := deviceKey{d}
		keys = append(keys, key)
		if known(key) {
			continue
		}
		c, e := openContext(key)
		if e != nil {
			err = errors.Join(err, e)
		} else {
			opened = append(opened, c)
		}
	}
	return keys, opened, err
}

// devContext is a struct ibv_context, with what there is to know of the device.
type devContext struct {
	c    *C.struct_ibv_context
	key  deviceKey
	name string
	caps rdma.Caps
	cqes int  // entries of a completion queue
	siw  bool // the kernel's software iWARP, which has ways of its own
}

func openContext(key deviceKey) (*devContext, error) {
	c := &devContext{key: key, name: C.GoString(C.vb_device_name(key.c))}
	var err error
	if c.c, err = C.vb_open(key.c); c.c == nil {
		if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
			return nil, fmt.Errorf("rdma/verbs: opening %s: %w: are /dev/infiniband/uverbs* accessible to this user?", c.name, err)
		}
		return nil, fmt.Errorf("rdma/verbs: opening %s: %w", c.name, err)
	}
	if err := c.query(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *devContext) close() { C.vb_close(c.c) }

func (c *devContext) asyncFD() int { return int(c.c.async_fd) }

// vendorSIW is what the kernel's software iWARP calls itself.
const vendorSIW = 0x626d74

// query fills in the capabilities.
func (c *devContext) query() error {
	var d C.struct_ibv_device_attr
	var p C.struct_ibv_port_attr
	if errno := C.vb_query_device(c.c, &d); errno != 0 {
		return failure("querying "+c.name, errno)
	}
	if errno := C.vb_port(c.c, 1, &p); errno != 0 {
		return failure("querying port 1 of "+c.name, errno)
	}
	c.cqes, c.siw = int(d.max_cqe), d.vendor_id == vendorSIW
	caps := rdma.Caps{
		MaxSGE: int(d.max_sge), MaxSGERead: int(d.max_sge_rd), MaxInline: int(C.vb_max_inline(c.c)),
		MaxQPWR: int(d.max_qp_wr) - 1, // and the sentinel
		// The connection manager's fields have eight bits, and 255 has a meaning of its own.
		MaxIRD: min(int(d.max_qp_rd_atom), 254), MaxORD: min(int(d.max_qp_init_rd_atom), 254),
		MaxMsgSize:     int64(p.max_msg_sz),
		SendInvalidate: d.device_cap_flags&C.IBV_DEVICE_MEM_MGT_EXTENSIONS != 0,
	}
	switch {
	case c.key.c.transport_type == C.IBV_TRANSPORT_IWARP:
		caps.Transport, caps.MaxSGERead, caps.InitiatorSpeaksFirst = rdma.TransportIWARP, 1, true
		// Of RFC 5044's 512 bytes Linux passes fewer than 256 on, of which MPA revision 2 takes 4.
		caps.MaxRequestPrivateData, caps.MaxReplyPrivateData = 251, 251
		// siw places Read Responses by the local key's rights.
		caps.ReadSinkNeedsRemoteWrite = !c.siw
		if c.siw {
			caps.SignalFrom = os.Getpagesize() // siw_prepare_fpdu in Linux: what is signalled is copied
		}
	case c.key.c.transport_type == C.IBV_TRANSPORT_IB:
		caps.Transport = rdma.TransportInfiniBand
		if p.link_layer == C.IBV_LINK_LAYER_ETHERNET {
			caps.Transport = rdma.TransportRoCE
		}
		if caps.MaxSGERead == 0 {
			caps.MaxSGERead = caps.MaxSGE
		}
		caps.RNR, caps.WriteCompletionIsRemote = true, true
		caps.MaxRequestPrivateData, caps.MaxReplyPrivateData = 56, 196
	default:
		return fmt.Errorf("%w: %s has no reliable connections", rdma.ErrUnsupported, c.name)
	}
	c.caps = caps
	return nil
}

// nextAsync takes an asynchronous event; err is EAGAIN where there is none.
func (c *devContext) nextAsync() (kind int, handle uint64, err error) {
	var e C.struct_vb_async
	if errno := C.vb_next_async(c.c, &e); errno != 0 {
		return 0, 0, syscall.Errno(errno)
	}
	return int(e.kind), uint64(e.handle), nil
}

// pdHandle is a struct ibv_pd.
type pdHandle struct{ c *C.struct_ibv_pd }

func (c *devContext) allocPD() (pd pdHandle, err error) {
	return pd, failure("allocating a protection domain", C.vb_alloc_pd(c.c, &pd.c))
}

func (pd pdHandle) dealloc() error {
	return failure("deallocating a protection domain", C.vb_dealloc_pd(pd.c))
}

// mrHandle is a struct ibv_mr.
type mrHandle struct{ c *C.struct_ibv_mr }

func (pd pdHandle) register(mem []byte, access rdma.Access) (mr mrHandle, err error) {
	var flags C.int
	for _, a := range []struct {
		ours   rdma.Access
		theirs C.int
	}{
		{rdma.AccessLocalWrite, C.IBV_ACCESS_LOCAL_WRITE},
		{rdma.AccessRemoteWrite, C.IBV_ACCESS_REMOTE_WRITE},
		{rdma.AccessRemoteRead, C.IBV_ACCESS_REMOTE_READ},
	} {
		if access&a.ours != 0 {
			flags |= a.theirs
		}
	}
	errno := C.vb_reg_mr(pd.c, unsafe.Pointer(&mem[0]), C.size_t(len(mem)), flags, &mr.c)
	if errno == 0 {
		return mr, nil
	}
	err = failure(fmt.Sprintf("registering %d bytes", len(mem)), errno)
	var lim unix.Rlimit
	if e := syscall.Errno(errno); (e == syscall.ENOMEM || e == syscall.EPERM || e == syscall.EAGAIN) &&
		unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim) == nil && lim.Cur != unix.RLIM_INFINITY {
		err = fmt.Errorf("%w: registered memory is locked memory, of which this process may have %d bytes: raise the limit (ulimit -l unlimited; LimitMEMLOCK=infinity in the systemd unit)", err, lim.Cur)
	}
	return mr, err
}

func (m mrHandle) deregister() error { return failure("deregistering memory", C.vb_dereg_mr(m.c)) }
func (m mrHandle) lkey() uint32      { return uint32(m.c.lkey) }
func (m mrHandle) rkey() uint32      { return uint32(m.c.rkey) }

func address(mem []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&mem[0]))) }
