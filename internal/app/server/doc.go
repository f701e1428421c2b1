// Package server assembles a running server from a configuration: state, memory,
// file systems, protocols, transports and metrics; it reloads and stops it.
//
// It is the one place that knows all packages. Protocols and transports do not
// know metrics: they count, or call an observer they declare themselves, and this
// package joins both sides (metrics.go).
package server
