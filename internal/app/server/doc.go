// Package server assembles a running server from a configuration: state, memory, file systems, protocols, transports
// and metrics. It also reloads and stops the server.
//
// It is the only package that knows all others. Protocols and transports do not know the metrics: they count, or call an
// observer interface of their own. This package implements these observers (observe.go, smb_observe.go) and publishes the counts.
package server
