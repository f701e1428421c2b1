// Package metrics has the server's Prometheus registry, which is not the global one, and its instruments.
//
// The data path is measured by an [Operation], whose labels are resolved when the tables of operations are built. The packages
// count everything else themselves, in atomics; a [Metric] reads those when Prometheus asks. So no protocol and no transport
// imports this package; internal/app/server connects them.
package metrics

import (
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

const namespace = "fileserver"

// Registry is a set of metrics. Its methods are safe for concurrent use.
type Registry struct {
	reg     *prometheus.Registry
	latency *prometheus.HistogramVec
	errors  *prometheus.CounterVec
}

// New returns a registry with the version and the metrics of the process.
func New(version string) *Registry {
	r := &Registry{
		reg: prometheus.NewRegistry(),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "operation_duration_seconds",
			Help: "Time from the decoded call to the complete reply, by protocol and operation.",
			// 10 µs to 42 s. No native histogram: observing one allocates.
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 12),
		}, []string{"protocol", "operation"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "operation_errors_total",
			Help: "Operations that ended with a status other than success, by protocol, operation and status.",
		}, []string{"protocol", "operation", "status"}),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "1, with the version of the server.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	})
	info.Set(1)
	r.reg.MustRegister(r.latency, r.errors, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Operation measures one operation of a protocol. Its methods are safe for concurrent use.
type Operation struct {
	latency prometheus.Observer
	errors  *prometheus.CounterVec // curried with protocol and operation
	failed  sync.Map               // status → prometheus.Counter
}

// Operation returns the instrument of an operation, e.g. "nfs3" and "READ".
func (r *Registry) Operation(protocol, operation string) *Operation {
	labels := prometheus.Labels{"protocol": protocol, "operation": operation}
	return &Operation{latency: r.latency.With(labels), errors: r.errors.MustCurryWith(labels)}
}

// Done counts an operation that took d. It does not allocate.
func (o *Operation) Done(d time.Duration) { o.latency.Observe(d.Seconds()) }

// Failed counts the failure of an operation, in addition to Done.
func (o *Operation) Failed(status string) {
	c, ok := o.failed.Load(status)
	if !ok {
		c, _ = o.failed.LoadOrStore(status, o.errors.WithLabelValues(status))
	}
	c.(prometheus.Counter).Inc()
}

// Kind says whether a metric only grows.
type Kind uint8

// Kinds of metrics.
const (
	Counter Kind = iota
	Gauge
)

// Metric describes values that are read when Prometheus asks for them.
type Metric struct {
	Kind   Kind
	Name   string // without "fileserver_"; of counters with "_total"
	Help   string
	Labels []string
	// Read calls emit for each set of label values there is; it must be quick and safe for concurrent use.
	Read func(emit func(value float64, labels ...string))
}

// Add registers metrics. It panics if a name is taken, which is a programming error.
func (r *Registry) Add(metrics ...Metric) {
	for _, m := range metrics {
		c := &reader{desc: prometheus.NewDesc(namespace+"_"+m.Name, m.Help, m.Labels, nil), kind: prometheus.CounterValue, read: m.Read}
		if m.Kind == Gauge {
			c.kind = prometheus.GaugeValue
		}
		r.reg.MustRegister(c)
	}
}

// reader implements prometheus.Collector.
type reader struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(emit func(float64, ...string))
}

func (c *reader) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

func (c *reader) Collect(ch chan<- prometheus.Metric) {
	c.read(func(v float64, labels ...string) { ch <- prometheus.MustNewConstMetric(c.desc, c.kind, v, labels...) })
}
