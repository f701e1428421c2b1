package server

import (
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"fileserver/internal/metrics"
	"fileserver/internal/stream"
	"fileserver/nfs/rpc"
	"fileserver/nfs/v4"
	"fileserver/nfs/v4/proto"
	"fileserver/nfsrdma"
)

// rpcObserver implements rpc.Observer.
type rpcObserver struct {
	reg      *metrics.Registry
	rejected [rpc.RejectProcUnavail + 1]atomic.Int64
	replayed [rpc.ReplayWaited + 1]atomic.Int64
}

func newRPCObserver(reg *metrics.Registry) *rpcObserver {
	o := &rpcObserver{reg: reg}
	reg.Add(metrics.Metric{
		Kind: metrics.Counter, Name: "rpc_rejected_total", Labels: []string{"reason"},
		Help: "Calls rejected before any procedure ran, by reason.",
		Read: func(emit func(float64, ...string)) {
			for i := range o.rejected {
				emit(float64(o.rejected[i].Load()), rpc.Rejection(i).String())
			}
		},
	}, metrics.Metric{
		Kind: metrics.Counter, Name: "rpc_replayed_total", Labels: []string{"outcome"},
		Help: "Duplicate calls, by how the reply cache answered them.",
		Read: func(emit func(float64, ...string)) {
			for i := range o.replayed {
				emit(float64(o.replayed[i].Load()), rpc.Replay(i).String())
			}
		},
	})
	return o
}

func (o *rpcObserver) Procedure(p *rpc.Program, _ uint32, name string) rpc.ProcedureObserver {
	return &procedureObserver{o.reg.Operation(fmt.Sprintf("%s%d", p.Name, p.Vers), name), p.StatusText}
}

func (o *rpcObserver) Rejected(_ *rpc.Call, why rpc.Rejection) { o.rejected[why].Add(1) }
func (o *rpcObserver) Replayed(_ *rpc.Call, what rpc.Replay)   { o.replayed[what].Add(1) }

// procedureObserver implements rpc.ProcedureObserver.
type procedureObserver struct {
	op     *metrics.Operation
	status func(uint32) string
}

func (o *procedureObserver) Done(c *rpc.Call, s rpc.AcceptStat, d time.Duration) {
	o.op.Done(d)
	switch {
	case s != rpc.Success:
		o.op.Failed(s.String())
	case c.Status != 0 && o.status != nil:
		o.op.Failed(o.status(c.Status))
	}
}

// nfs4Observer implements v4.Observer: the operations inside COMPOUNDs.
type nfs4Observer struct{ reg *metrics.Registry }

func (o nfs4Observer) Operation(name string) v4.OperationObserver {
	return &nfs4Operation{o.reg.Operation("nfs4", name)}
}

type nfs4Operation struct{ op *metrics.Operation }

func (o *nfs4Operation) Done(status proto.Status, d time.Duration) {
	o.op.Done(d)
	if status != proto.OK {
		o.op.Failed(status.String())
	}
}

// tcpObserver implements rpc.ConnObserver. It counts, and logs why a connection does not use RDMA.
type tcpObserver struct {
	log      *Log
	noRDMA   func(local netip.Addr) string
	maxCalls int

	open, total, in, out atomic.Int64
	noMemory             atomic.Int64 // connections that ended because a message found no memory
}

func (o *tcpObserver) Opened(c *rpc.Conn) {
	o.open.Add(1)
	o.total.Add(1)
	o.log.Info("connection opened", "id", c.ID, "transport", c.Transport, "remote", c.RemoteAddr, "local", c.LocalAddr,
		"calls", o.maxCalls, "no_rdma", o.noRDMA(c.LocalAddr.Addr()))
}

func (o *tcpObserver) Closed(c *rpc.Conn, err error) {
	o.open.Add(-1)
	if errors.Is(err, stream.ErrNoMemory) {
		o.noMemory.Add(1)
	}
	reason := "disconnected"
	if err != nil {
		reason = err.Error()
	}
	o.log.Info("connection closed", "id", c.ID, "transport", c.Transport, "remote", c.RemoteAddr, "reason", reason)
}

func (o *tcpObserver) Received(_ *rpc.Conn, n int) { o.in.Add(int64(n)) }
func (o *tcpObserver) Sent(_ *rpc.Conn, n int)     { o.out.Add(int64(n)) }

// addPoolMetrics publishes the metrics of the buffer pool.
func (s *Server) addPoolMetrics() {
	gauge := func(name, help string, read func() int64) metrics.Metric {
		return metrics.Metric{Kind: metrics.Gauge, Name: name, Help: help,
			Read: func(emit func(float64, ...string)) { emit(float64(read())) }}
	}
	s.metrics.Add(
		gauge("buffers_in_use", "Data buffers in use.", func() int64 { return s.pool.Stats().Buffers }),
		gauge("buffers_in_use_bytes", "Memory of the data buffers in use.", func() int64 { return s.pool.Stats().Bytes }),
		gauge("buffers_mapped_bytes", "Memory mapped for data buffers; all of it is registered with every RDMA device in use.", func() int64 { return s.pool.Stats().Mapped }),
		gauge("buffers_limit_bytes", "Most memory that may be mapped for data buffers (limits.memory).", func() int64 { return s.pool.Stats().Limit }),
		gauge("buffers_waiting", "Requests that wait for a data buffer.", func() int64 { return int64(s.pool.Stats().WaitingFor) }),
	)
}

// addConnMetrics publishes the metrics of NFS connections.
func (s *Server) addConnMetrics(tcp *tcpObserver, over *nfsrdma.Server) {
	// A transport with a listener has metrics before its first connection.
	byTransport := func() map[string]nfsrdma.Totals {
		all := over.TotalsByTransport()
		for _, t := range s.rdma.transports("nfs") {
			if _, ok := all[t]; !ok {
				all[t] = nfsrdma.Totals{}
			}
		}
		return all
	}
	labels := []string{"protocol", "transport"}
	s.metrics.Add(metrics.Metric{
		Kind: metrics.Gauge, Name: "connections", Labels: labels,
		Help: "Connections open, by protocol and transport.",
		Read: func(emit func(float64, ...string)) {
			emit(float64(tcp.open.Load()), "nfs", "tcp")
			for name, t := range byTransport() {
				emit(float64(t.Conns), "nfs", name)
			}
		},
	}, metrics.Metric{
		Kind: metrics.Counter, Name: "connections_total", Labels: labels,
		Help: "Connections accepted, by protocol and transport.",
		Read: func(emit func(float64, ...string)) {
			emit(float64(tcp.total.Load()), "nfs", "tcp")
			for name, t := range byTransport() {
				emit(float64(t.Accepted), "nfs", name)
			}
		},
	}, metrics.Metric{
		Kind: metrics.Counter, Name: "connections_without_memory_total", Labels: labels,
		Help: "Connections closed because a message waited too long for a data buffer.",
		Read: func(emit func(float64, ...string)) { emit(float64(tcp.noMemory.Load()), "nfs", "tcp") },
	}, metrics.Metric{
		Kind: metrics.Counter, Name: "bytes_total", Labels: []string{"path", "direction"},
		Help: "Bytes by the path they took (rdma: placed directly; inline: in messages of RDMA connections; tcp) and the direction seen from the server.",
		Read: func(emit func(float64, ...string)) {
			emit(float64(tcp.in.Load()), "tcp", "in")
			emit(float64(tcp.out.Load()), "tcp", "out")
			t := over.Totals()
			emit(float64(t.ReadBytes), "rdma", "in")
			emit(float64(t.WriteBytes), "rdma", "out")
			emit(float64(t.RecvBytes), "inline", "in")
			emit(float64(t.SendBytes), "inline", "out")
		},
	})
	metric := func(kind metrics.Kind, metric, help string, read func(*nfsrdma.Totals) int64) metrics.Metric {
		return metrics.Metric{Kind: kind, Name: metric, Help: help, Labels: []string{"transport"},
			Read: func(emit func(float64, ...string)) {
				for name, t := range byTransport() {
					emit(float64(read(&t)), name)
				}
			}}
	}
	s.metrics.Add(
		metric(metrics.Gauge, "rpcrdma_credits", "Credits granted to the open connections together.", func(t *nfsrdma.Totals) int64 { return t.Credits }),
		metric(metrics.Gauge, "rpcrdma_calls_running", "Calls in execution: credits in use.", func(t *nfsrdma.Totals) int64 { return int64(t.Running) }),
		metric(metrics.Gauge, "rpcrdma_receives_posted", "Receives posted.", func(t *nfsrdma.Totals) int64 { return int64(t.RecvsPosted) }),
		metric(metrics.Gauge, "rpcrdma_reads_outstanding", "RDMA READs outstanding.", func(t *nfsrdma.Totals) int64 { return int64(t.ReadsOutstanding) }),
		metric(metrics.Counter, "rpcrdma_calls_total", "Calls answered.", func(t *nfsrdma.Totals) int64 { return t.Calls }),
		metric(metrics.Counter, "rpcrdma_invalidates_total", "Replies that invalidated the client's key.", func(t *nfsrdma.Totals) int64 { return t.Invalidates }),
		metric(metrics.Counter, "rpcrdma_refused_version_total", "Calls refused with ERR_VERS.", func(t *nfsrdma.Totals) int64 { return t.ErrVers }),
		metric(metrics.Counter, "rpcrdma_refused_chunk_total", "Calls and replies refused with ERR_CHUNK.", func(t *nfsrdma.Totals) int64 { return t.ErrChunk }),
		metric(metrics.Counter, "rpcrdma_dropped_total", "Messages dropped because they are not calls.", func(t *nfsrdma.Totals) int64 { return t.Dropped }),
	)
}

// addNFS4Metrics publishes how many clients, sessions, opens and locks NFSv4 has.
func (s *Server) addNFS4Metrics(v *v4.Server) {
	s.metrics.Add(metrics.Metric{
		Kind: metrics.Gauge, Name: "nfs4_state", Labels: []string{"kind"},
		Help: "NFSv4 clients, their sessions, and their opens and locks.",
		Read: func(emit func(float64, ...string)) {
			st := v.Clients().Stats()
			emit(float64(st.Clients), "clients")
			emit(float64(st.Sessions), "sessions")
			emit(float64(st.States), "opens_and_locks")
		},
	}, metrics.Metric{
		Kind: metrics.Gauge, Name: "nfs4_reply_cache_bytes",
		Help: "Memory reserved for the reply caches of NFSv4 sessions, of at most nfs.reply_cache.",
		Read: func(emit func(float64, ...string)) { emit(float64(v.Clients().Stats().ReplyCache)) },
	}, metrics.Metric{
		Kind: metrics.Gauge, Name: "nfs4_grace", Help: "1 while clients may reclaim state from before the server's start.",
		Read: func(emit func(float64, ...string)) {
			if v.Clients().Grace().Active() {
				emit(1)
			} else {
				emit(0)
			}
		},
	})
}
