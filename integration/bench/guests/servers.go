package guests

import "fmt"

// server is one of the servers that are compared.
type server struct {
	name   string // knfsd or ksmbd; ours begin with "ours"
	what   string // its name in the table
	config string // the configuration, if it is ours
	beside bool   // it is the other build of ours
}

// servers returns the kernel's server and then ours, for a protocol on a fabric.
func servers(proto, fabric string) ([]server, error) {
	kernel, ok := map[string]string{"nfs": "knfsd", "smb": "ksmbd"}[proto]
	if !ok {
		return nil, fmt.Errorf("-proto must be nfs or smb")
	}
	all := []server{{name: kernel, what: kernel}}
	switch fabric {
	case "tcp":
		return append(all, server{name: "ours", what: "TCP", config: config("iwarp: {enabled: false}\nrdma: {devices: off}")}), nil
	case "siw":
		return append(all,
			server{name: "ours", what: "iWARP in Go", config: config("iwarp: {enabled: true}\nrdma: {devices: off}")},
			server{name: "ours-verbs", what: "libibverbs", config: config(verbs)}), nil
	case "rxe":
		return append(all, server{name: "ours-verbs", what: "libibverbs", config: config(verbs)}), nil
	}
	return nil, fmt.Errorf("-fabric must be tcp, siw or rxe")
}

// verbs is the configuration that uses the guest's device through libibverbs.
const verbs = "iwarp: {enabled: false}\nrdma: {devices: [bench]}"

// config returns our server's configuration; rdma is the part that differs. The client is in the same guest and has no reserved port
// over iWARP. The memory limit is small, because User Mode Linux's mappings are limited (integration/rxe).
func config(rdma string) string {
	return `listen: [198.18.1.2]
allow: [198.18.1.0/24]
state_dir: /tmp/state
shares:
  data:
    path: /srv/bench
    nfs: {squash: none}
smb: {enabled: true}
metrics: {listen: "127.0.0.1:9464", pprof: true}
log: {level: warn}
limits: {memory: 128MiB}
nfs: {privileged_ports: false}
` + rdma + "\n"
}
