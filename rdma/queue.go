package rdma

import "context"

// Opcode is the operation of a work request or completion.
type Opcode uint8

// Operations of work requests (enum ibv_wr_opcode), and OpRecv, which only
// completions carry.
const (
	OpSend Opcode = iota
	OpSendInvalidate
	OpWrite
	OpRead
	OpRecv
	OpSendImm
	OpWriteImm
	OpCompareSwap
	OpFetchAdd
	OpBindMW
)

// String names the operation as the verbs do.
func (o Opcode) String() string {
	names := [...]string{"SEND", "SEND_WITH_INV", "RDMA_WRITE", "RDMA_READ", "RECV",
		"SEND_WITH_IMM", "RDMA_WRITE_WITH_IMM", "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD", "BIND_MW"}
	if int(o) < len(names) {
		return names[o]
	}
	return "UNKNOWN"
}

// SendFlags modify a send-queue request (enum ibv_send_flags).
type SendFlags uint8

// Flags of send-queue requests.
const (
	SendSignaled  SendFlags = 1 << iota // a completion is wanted on success, too
	SendFence                           // start only after all earlier READs are complete
	SendSolicited                       // mark the message as solicited
	SendInline                          // the data is copied at the post; its buffer is free at once
)

// SendWR is a send-queue work request (struct ibv_send_wr). A chain is a slice;
// the provider copies what it needs, so the slice and the SGL may be reused when
// the post returns.
type SendWR struct {
	ID         uint64 // returned in the completion
	Opcode     Opcode
	Flags      SendFlags
	SGL        []SGE
	RemoteAddr uint64 // OpWrite, OpRead
	RKey       uint32 // OpWrite, OpRead
	Invalidate uint32 // OpSendInvalidate: the peer's key to invalidate
	Imm        uint32
}

// RecvWR is a receive-queue work request (struct ibv_recv_wr).
type RecvWR struct {
	ID  uint64
	SGL []SGE
}

// Status is the outcome of a work request (enum ibv_wc_status).
type Status uint8

// Outcomes of work requests.
const (
	StatusSuccess Status = iota
	StatusLocLenErr
	StatusLocQPOpErr
	StatusLocProtErr
	StatusWRFlushErr
	StatusRemInvReqErr
	StatusRemAccessErr
	StatusRemOpErr
	StatusRetryExcErr
	StatusRNRRetryExcErr
	StatusGeneralErr
)

// String describes the status as ibv_wc_status_str does.
func (s Status) String() string {
	names := [...]string{"success", "local length error", "local QP operation error", "local protection error",
		"work request flushed", "remote invalid request error", "remote access error", "remote operation error",
		"transport retry counter exceeded", "RNR retry counter exceeded", "general error"}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// WC is a work completion (struct ibv_wc).
type WC struct {
	ID          uint64
	Status      Status
	Opcode      Opcode
	Invalidated bool   // a RECV whose message invalidated InvKey
	ByteLen     uint32 // bytes received (OpRecv) or read (OpRead)
	InvKey      uint32
	Imm         uint32
	QPN         uint32
}

// CQ is a completion queue. One goroutine at a time polls it.
type CQ interface {
	// Poll moves up to len(wc) completions, oldest first, into wc and returns
	// how many. It never blocks.
	Poll(wc []WC) int
	// Wait blocks until the queue is not empty, ctx ends, or the queue is
	// closed ([ErrClosed]). It arms the queue, polls again and spins as the
	// provider needs; it may return nil with the queue empty.
	Wait(ctx context.Context) error
	// Close destroys the queue, once no queue pair uses it. A Wait in progress returns.
	Close() error
}

// QPConfig sizes a queue pair (struct ibv_qp_init_attr).
type QPConfig struct {
	SendCQ, RecvCQ CQ
	SendDepth      int // outstanding send-queue requests
	RecvDepth      int // outstanding receive-queue requests
	MaxSendSGE     int // 0: 1
	MaxRecvSGE     int // 0: 1
	MaxInline      int
}

// QP is a reliably connected queue pair. Posting is safe from several
// goroutines; requests of one call stay together and in order.
type QP interface {
	// Num is the queue pair's number, as in [WC].QPN.
	Num() uint32
	// PostSend posts the chain with one doorbell. When it fails nothing of the
	// chain has been posted: [ErrQueueFull] (the caller keeps count and does
	// not let this happen), [ErrNotConnected] after the connection has ended,
	// [ErrUnsupported], or an error that names the bad request. A request that
	// is well formed but denied (key, bounds) fails in its completion.
	PostSend(wrs []SendWR) error
	// PostRecv posts receives; allowed from creation, before the connection is made.
	PostRecv(wrs []RecvWR) error
}
