package server

import (
	"sync/atomic"
	"time"

	"fileserver/internal/metrics"
	"fileserver/nfs"
	"fileserver/nfs/rpc"
)

// refusedEvery is the shortest time between two log lines about calls that are refused because of their port.
const refusedEvery = 10 * time.Second

// refusedPorts counts the calls refused because of their port, and logs what to do about it.
type refusedPorts struct {
	log    *Log
	calls  atomic.Int64
	logged atomic.Int64 // time of the last log line, ns since 1970
}

func (s *Server) newRefusedPorts() *refusedPorts {
	o := &refusedPorts{log: s.log}
	s.metrics.Add(metrics.Metric{
		Kind: metrics.Counter, Name: "nfs_refused_ports_total",
		Help: "Calls refused because they do not come from a reserved port (nfs.privileged_ports).",
		Read: func(emit func(float64, ...string)) { emit(float64(o.calls.Load())) },
	})
	return o
}

// refused implements nfs.Exports.RefusedPort.
func (o *refusedPorts) refused(e *nfs.Export, c *rpc.Call) {
	n := o.calls.Add(1)
	now, last := time.Now().UnixNano(), o.logged.Load()
	if now-last < int64(refusedEvery) || !o.logged.CompareAndSwap(last, now) {
		return
	}
	o.log.Warn("call refused: any user of the client can open its port, so the server does not believe the uid in it",
		"share", e.Path, "remote", c.Conn.RemoteAddr, "transport", c.Conn.Transport, "so far", n,
		"fix", "mount as root, without noresvport; or set nfs.privileged_ports: false, or squash: all for the share")
}
