package server

import (
	"fmt"
	"sync/atomic"
	"time"

	"fileserver/internal/metrics"
	"fileserver/smb/tcp"
	"fileserver/smb/transport"
	"fileserver/smb/wire"
	"fileserver/smbdirect"
)

// smbObserver implements smb.Observer.
type smbObserver struct {
	log         *Log
	ops         [wire.Commands]*metrics.Operation
	open, total [2]atomic.Int64 // over TCP, over RDMA
	failed      atomic.Int64
	tcp         *tcp.Server
	direct      *smbdirect.Server // nil: not served
}

func newSMBObserver(s *Server) *smbObserver {
	o := &smbObserver{log: s.log}
	for c := range wire.Commands {
		o.ops[c] = s.metrics.Operation("smb", c.String())
	}
	labels := []string{"transport"}
	both := func(v *[2]atomic.Int64) func(func(float64, ...string)) {
		return func(emit func(float64, ...string)) {
			emit(float64(v[0].Load()), "tcp")
			emit(float64(v[1].Load()), "rdma")
		}
	}
	s.metrics.Add(
		metrics.Metric{Kind: metrics.Gauge, Name: "smb_connections", Labels: labels, Help: "SMB connections open, by transport.", Read: both(&o.open)},
		metrics.Metric{Kind: metrics.Counter, Name: "smb_connections_total", Labels: labels, Help: "SMB connections accepted, by transport.", Read: both(&o.total)},
		metrics.Metric{Kind: metrics.Counter, Name: "smb_login_failures_total", Help: "SMB authentications that failed.",
			Read: func(emit func(float64, ...string)) { emit(float64(o.failed.Load())) }},
		metrics.Metric{Kind: metrics.Counter, Name: "smb_tcp_bytes_total", Labels: []string{"direction"}, Help: "Bytes of SMB over TCP.",
			Read: func(emit func(float64, ...string)) {
				if o.tcp != nil {
					st := o.tcp.Stats()
					emit(float64(st.Received), "in")
					emit(float64(st.Sent), "out")
				}
			}},
		metrics.Metric{Kind: metrics.Gauge, Name: "smbdirect_credits", Labels: []string{"side"},
			Help: "SMB Direct credits of all connections: ours, granted by peers, and those granted to peers.",
			Read: func(emit func(float64, ...string)) {
				var ours, theirs int
				if o.direct != nil {
					for _, c := range o.direct.Conns() {
						st := c.Stats()
						ours, theirs = ours+st.SendCredits, theirs+st.PeerCredits
					}
				}
				emit(float64(ours), "ours")
				emit(float64(theirs), "peers")
			}},
		metrics.Metric{Kind: metrics.Counter, Name: "smbdirect_bytes_total", Labels: []string{"path", "direction"},
			Help: "Bytes of SMB Direct by the path they took (rdma: placed directly; inline: in messages) and the direction seen from the server.",
			Read: func(emit func(float64, ...string)) {
				if o.direct != nil {
					t := o.direct.Totals()
					emit(float64(t.ReadBytes), "rdma", "in")
					emit(float64(t.WriteBytes), "rdma", "out")
					emit(float64(t.RecvBytes), "inline", "in")
					emit(float64(t.SendBytes), "inline", "out")
				}
			}},
		metrics.Metric{Kind: metrics.Counter, Name: "smbdirect_invalidates_total",
			Help: "SMB Direct messages that invalidated the client's token.",
			Read: func(emit func(float64, ...string)) {
				if o.direct != nil {
					emit(float64(o.direct.Totals().Invalidates))
				}
			}},
	)
	return o
}

// kind returns the index of a connection's transport in the counters.
func kind(i *transport.Info) int {
	if i.MaxReadWrite > 0 {
		return 1
	}
	return 0
}

// Opened implements smb.Observer.
func (o *smbObserver) Opened(i *transport.Info) {
	o.open[kind(i)].Add(1)
	o.total[kind(i)].Add(1)
	o.log.Info("connection opened", "protocol", "smb", "id", i.ID, "transport", i.Transport, "remote", i.RemoteAddr, "local", i.LocalAddr)
}

// Closed implements smb.Observer.
func (o *smbObserver) Closed(i *transport.Info, err error) {
	o.open[kind(i)].Add(-1)
	reason := "disconnected"
	if err != nil {
		reason = err.Error()
	}
	o.log.Info("connection closed", "protocol", "smb", "id", i.ID, "transport", i.Transport, "remote", i.RemoteAddr, "reason", reason)
}

// Done implements smb.Observer.
func (o *smbObserver) Done(c wire.Command, st wire.Status, d time.Duration) {
	if c >= wire.Commands {
		return
	}
	o.ops[c].Done(d)
	if st.Failed() && st != wire.StatusMoreProcessingRequired && st != wire.StatusNoMoreFiles {
		o.ops[c].Failed(fmt.Sprintf("%#08x", uint32(st)))
	}
}

// LoginFailed implements smb.Observer.
func (o *smbObserver) LoginFailed(*transport.Info) { o.failed.Add(1) }
