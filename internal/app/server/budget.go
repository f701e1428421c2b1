package server

import (
	"fmt"
	"strings"

	"fileserver/internal/budget"
	"fileserver/internal/metrics"
)

// transports is the number of servers that accept connections: NFS and SMB, each over TCP and over RDMA.
const transports = 4

// fewDescriptors is the number of descriptors below which the log has a warning.
const fewDescriptors = 16384

// budgets divide the limits of the machine among shares and clients.
type budgets struct {
	shares *budget.Shares
	files  *budget.Files // files that clients of all protocols have open
	conns  int           // connections on each transport
}

// newBudgets divides a number of descriptors. limit is the configured number of connections on each transport.
func newBudgets(log *Log, descriptors, limit int) budgets {
	plan := budget.PlanDescriptors(descriptors)
	b := budgets{budget.NewShares(0, plan.Cache), budget.NewFiles(plan.Files), min(limit, max(plan.Connections/transports, 1))}
	if descriptors < fewDescriptors || b.conns < limit {
		log.Warn("the process may have few file descriptors; raise RLIMIT_NOFILE (systemd: LimitNOFILE=1048576, a shell: ulimit -Hn)",
			"descriptors", descriptors, "open files of all clients", plan.Files, "connections on each transport", b.conns)
	}
	return b
}

// budgeted is a file system that has a part of the budget.
type budgeted interface{ Budget() *budget.Share }

// stats calls f with the name of each share and how much of its part is used.
func (set shareSet) stats(f func(name string, s budget.ShareStats)) {
	for _, name := range set.names() {
		if fs, ok := set[name].fs.(budgeted); ok {
			f(name, fs.Budget().Stats())
		}
	}
}

// stalled names the shares in which calls are running, for the log.
func (s *Server) stalled() string {
	var list []string
	s.inForce().stats(func(name string, u budget.ShareStats) {
		if u.Running > 0 {
			list = append(list, fmt.Sprintf("%s (%d calls)", name, u.Running))
		}
	})
	return strings.Join(list, ", ")
}

// addBudgetMetrics publishes how much of the budgets is used.
func (s *Server) addBudgetMetrics() {
	share := func(kind metrics.Kind, name, help string, read func(budget.ShareStats) float64) metrics.Metric {
		return metrics.Metric{Kind: kind, Name: name, Help: help, Labels: []string{"share"},
			Read: func(emit func(float64, ...string)) {
				s.inForce().stats(func(name string, u budget.ShareStats) { emit(read(u), name) })
			}}
	}
	files := func(name, help string, read func(used, limit int) int) metrics.Metric {
		return metrics.Metric{Kind: metrics.Gauge, Name: name, Help: help,
			Read: func(emit func(float64, ...string)) { emit(float64(read(s.budgets.files.Used()))) }}
	}
	s.metrics.Add(
		share(metrics.Gauge, "share_calls", "Calls inside the file system of a share.", func(u budget.ShareStats) float64 { return float64(u.Running) }),
		share(metrics.Gauge, "share_calls_limit", "Calls that may be inside the file system of a share at once.", func(u budget.ShareStats) float64 { return float64(u.Limit) }),
		share(metrics.Gauge, "share_calls_waiting", "Calls that wait because as many as allowed are inside.", func(u budget.ShareStats) float64 { return float64(u.Waiting) }),
		share(metrics.Counter, "share_calls_refused_total", "Calls refused because too many waited, or they had waited for too long.", func(u budget.ShareStats) float64 { return float64(u.Refused) }),
		files("open_files", "Files that clients have open.", func(used, _ int) int { return used }),
		files("open_files_limit", "Files that all clients together may have open; it follows RLIMIT_NOFILE.", func(_, limit int) int { return limit }),
	)
}
