//go:build linux && cgo && rdmacore

package verbs

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"syscall"
	"unsafe"

	"fileserver/rdma"
)

// The shim writes completions into Go's slices: the structures are the same.
var (
	_ [unsafe.Sizeof(rdma.WC{})]struct{}               = [unsafe.Sizeof(C.struct_vb_wc{})]struct{}{}
	_ [unsafe.Offsetof(rdma.WC{}.Status)]struct{}      = [unsafe.Offsetof(C.struct_vb_wc{}.status)]struct{}{}
	_ [unsafe.Offsetof(rdma.WC{}.Opcode)]struct{}      = [unsafe.Offsetof(C.struct_vb_wc{}.op)]struct{}{}
	_ [unsafe.Offsetof(rdma.WC{}.Invalidated)]struct{} = [unsafe.Offsetof(C.struct_vb_wc{}.invalidated)]struct{}{}
	_ [unsafe.Offsetof(rdma.WC{}.ByteLen)]struct{}     = [unsafe.Offsetof(C.struct_vb_wc{}.byte_len)]struct{}{}
	_ [unsafe.Offsetof(rdma.WC{}.InvKey)]struct{}      = [unsafe.Offsetof(C.struct_vb_wc{}.inv_key)]struct{}{}
	_ [unsafe.Offsetof(rdma.WC{}.Imm)]struct{}         = [unsafe.Offsetof(C.struct_vb_wc{}.imm)]struct{}{}
	_ [unsafe.Offsetof(rdma.WC{}.QPN)]struct{}         = [unsafe.Offsetof(C.struct_vb_wc{}.qpn)]struct{}{}

	_ [unsafe.Sizeof(rdma.SGE{})]struct{}          = [unsafe.Sizeof(C.struct_ibv_sge{})]struct{}{}
	_ [unsafe.Offsetof(rdma.SGE{}.Length)]struct{} = [unsafe.Offsetof(C.struct_ibv_sge{}.length)]struct{}{}
	_ [unsafe.Offsetof(rdma.SGE{}.LKey)]struct{}   = [unsafe.Offsetof(C.struct_ibv_sge{}.lkey)]struct{}{}
)

// cqHandle is a struct vb_cq and its channel; zero where it has been destroyed.
type cqHandle struct {
	c  *C.struct_vb_cq
	ch *C.struct_ibv_comp_channel
}

func (c *devContext) createCQ(depth int) (cq cqHandle, err error) {
	return cq, failure("creating a completion queue", C.vb_create_cq(c.c, C.int(depth), &cq.ch, &cq.c))
}

func (h cqHandle) valid() bool { return h.c != nil }
func (h cqHandle) fd() int     { return int(h.ch.fd) }
func (h cqHandle) destroy()    { C.vb_destroy_cq(h.c, h.ch) }

// poll fills wc, and returns how many completions it filled in and how many of them failed.
func (h cqHandle) poll(wc []rdma.WC) (n, failed int) {
	if len(wc) == 0 {
		return 0, 0
	}
	r := uint64(C.vb_poll(h.c, (*C.struct_vb_wc)(unsafe.Pointer(&wc[0])), C.uint32_t(len(wc))))
	return int(uint32(r)), int(r >> 32)
}

// arm asks for an event at the next completion, then polls.
func (h cqHandle) arm(wc []rdma.WC) (n, failed int, err error) {
	r := uint64(C.vb_arm_poll(h.c, (*C.struct_vb_wc)(unsafe.Pointer(&wc[0])), C.uint32_t(len(wc))))
	if h.c.arm_error != 0 {
		err = failure("arming a completion queue", h.c.arm_error)
	}
	return int(uint32(r)), int(r >> 32), err
}

// takeEvent takes the event; err is EAGAIN where there is none.
func (h cqHandle) takeEvent() error {
	if errno := C.vb_take_event(h.c, h.ch); errno != 0 {
		return syscall.Errno(errno)
	}
	return nil
}

func (h cqHandle) detach(index uint32) { C.vb_detach(h.c, C.uint32_t(index)) }

// qpHandle is a struct vb_qp. Its post side and its poll side are guarded by
// different locks.
type qpHandle struct {
	c    *C.struct_vb_qp
	swr  []C.struct_ibv_send_wr
	ssge []rdma.SGE
	rwr  []C.struct_ibv_recv_wr
	rsge []rdma.SGE
}

func createQP(pd pdHandle, scq, rcq cqHandle, handle uint64, cfg rdma.QPConfig) (q qpHandle, err error) {
	c := C.struct_vb_qp_config{
		handle: C.uint64_t(handle), send_depth: C.uint32_t(cfg.SendDepth), recv_depth: C.uint32_t(cfg.RecvDepth),
		send_sge: C.uint32_t(cfg.MaxSendSGE), recv_sge: C.uint32_t(cfg.MaxRecvSGE), max_inline: C.uint32_t(cfg.MaxInline),
	}
	if err := failure("creating a queue pair", C.vb_create_qp(pd.c, scq.c, rcq.c, &c, &q.c)); err != nil {
		return q, err
	}
	q.swr = unsafe.Slice(q.c.swr, cfg.SendDepth)
	q.ssge = unsafe.Slice((*rdma.SGE)(unsafe.Pointer(q.c.ssge)), cfg.SendDepth*cfg.MaxSendSGE)
	q.rwr = unsafe.Slice(q.c.rwr, cfg.RecvDepth)
	q.rsge = unsafe.Slice((*rdma.SGE)(unsafe.Pointer(q.c.rsge)), cfg.RecvDepth*cfg.MaxRecvSGE)
	return q, nil
}

func (q *qpHandle) valid() bool            { return q.c != nil }
func (q *qpHandle) num() uint32            { return uint32(q.c.num) }
func (q *qpHandle) indices() (s, r uint32) { return uint32(q.c.send_index), uint32(q.c.recv_index) }

func (q *qpHandle) toInit(id cmID) error {
	return failure("preparing the queue pair", C.vb_modify(q.c, id.c, C.IBV_QPS_INIT, 0, 0))
}

// toReady makes the transitions that let the queue pair receive and send.
func (q *qpHandle) toReady(id cmID, ird, ord int) error {
	for _, state := range []C.int{C.IBV_QPS_INIT, C.IBV_QPS_RTR, C.IBV_QPS_RTS} {
		if err := failure("making the queue pair ready", C.vb_modify(q.c, id.c, state, C.int(ird), C.int(ord))); err != nil {
			return err
		}
	}
	return nil
}

// fail makes the device stop, and flush what is posted.
func (q *qpHandle) fail() error { return failure("stopping a queue pair", C.vb_fail_qp(q.c)) }

// destroy ends the device's use of buffers; reap and free follow.
func (q *qpHandle) destroy() error { return failure("destroying a queue pair", C.vb_destroy_qp(q.c)) }

func (q *qpHandle) free() {
	C.vb_free_qp(q.c)
	*q = qpHandle{}
}

// outstanding are the requests whose completion has not been polled; unsignalled
// ones are as long as no later one has completed.
func (q *qpHandle) outstanding() (sends, recvs int) {
	return int(C.vb_outstanding(q.c, 0)), int(C.vb_outstanding(q.c, 1))
}

// trailing is how many of the sends will have no completion if they succeed.
func (q *qpHandle) trailing() int { return int(q.c.trailing) }

// reap takes a flushed request out of a destroyed queue pair.
func (q *qpHandle) reap() (wc rdma.WC, ok bool) {
	for recv := range C.int(2) {
		if C.vb_reap(q.c, recv, (*C.struct_vb_wc)(unsafe.Pointer(&wc))) != 0 {
			return wc, true
		}
	}
	return wc, false
}

// Results of posts, besides 0 and errno.
const (
	postFull    = -1
	postPartial = -2
)

var sendOps = [...]C.enum_ibv_wr_opcode{
	rdma.OpSend: C.IBV_WR_SEND, rdma.OpSendInvalidate: C.IBV_WR_SEND_WITH_INV,
	rdma.OpWrite: C.IBV_WR_RDMA_WRITE, rdma.OpRead: C.IBV_WR_RDMA_READ,
}

// Flags of rdma.SendFlags and of enum ibv_send_flags.
var sendFlags = func() (t [16]C.uint) {
	for ours := range t {
		for bit, theirs := range map[rdma.SendFlags]C.uint{
			rdma.SendSignaled: C.IBV_SEND_SIGNALED, rdma.SendFence: C.IBV_SEND_FENCE,
			rdma.SendSolicited: C.IBV_SEND_SOLICITED, rdma.SendInline: C.IBV_SEND_INLINE,
		} {
			if rdma.SendFlags(ours)&bit != 0 {
				t[ours] |= theirs
			}
		}
	}
	return t
}()

// putSGL copies a list. Elements of no length are left out, because to some devices
// 0 is 2 GiB; one stays where it is alone.
func putSGL(to []rdma.SGE, sgl []rdma.SGE) (n int) {
	for _, s := range sgl {
		if s.Length != 0 || len(sgl) == 1 {
			to[n] = s
			n++
		}
	}
	return n
}

// postSend posts a checked chain.
func (q *qpHandle) postSend(wrs []rdma.SendWR, maxSGE int) int {
	for i := range wrs {
		from, to := &wrs[i], &q.swr[i]
		to.wr_id = C.uint64_t(from.ID)
		to.opcode = sendOps[from.Opcode]
		to.send_flags = sendFlags[from.Flags&15]
		to.num_sge = C.int(putSGL(q.ssge[i*maxSGE:], from.SGL))
		*(*uint32)(unsafe.Pointer(&to.anon0)) = from.Invalidate
		*(*uint64)(unsafe.Pointer(&to.wr)) = from.RemoteAddr
		key := from.RKey
		if from.Opcode == rdma.OpSendInvalidate {
			key = from.Invalidate // siw's library looks for it there
		}
		*(*uint32)(unsafe.Add(unsafe.Pointer(&to.wr), 8)) = key
	}
	return int(C.vb_post_send(q.c, C.uint32_t(len(wrs))))
}

// postRecv posts checked receives.
func (q *qpHandle) postRecv(wrs []rdma.RecvWR, maxSGE int) int {
	for i := range wrs {
		to := &q.rwr[i]
		to.wr_id = C.uint64_t(wrs[i].ID)
		to.num_sge = C.int(putSGL(q.rsge[i*maxSGE:], wrs[i].SGL))
	}
	return int(C.vb_post_recv(q.c, C.uint32_t(len(wrs))))
}

// postSentinel posts what completes when everything before it has.
func (q *qpHandle) postSentinel() bool { return C.vb_post_sentinel(q.c) == 0 }

// kept is what an inline request names, copied for a post that comes later.
type kept struct{ c unsafe.Pointer }

func keep(sgl []rdma.SGE) (k kept, sge rdma.SGE) {
	if len(sgl) == 0 {
		return kept{}, rdma.SGE{}
	}
	var n C.uint32_t
	k.c = C.vb_keep((*C.struct_ibv_sge)(unsafe.Pointer(&sgl[0])), C.uint32_t(len(sgl)), &n)
	return k, rdma.SGE{Addr: uint64(uintptr(k.c)), Length: uint32(n)}
}

func (k kept) free() { C.free(k.c) }
