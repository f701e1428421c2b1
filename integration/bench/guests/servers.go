package guests

import "fmt"

// server is one of those compared.
type server struct {
	name   string // knfsd, ksmbd, or one that begins with ours
	what   string // in the table
	config string // of ours
	beside bool   // of ours, the other build
}

// servers returns the kernel's server and then ours, for a protocol on a fabric.
func servers(proto, fabric string) ([]server, error) {
	kernel, ok := map[string]string{"nfs": "knfsd", "smb": "ksmbd"}[proto]
	if !ok {
		return nil, fmt.Errorf("no protocol: it is nfs or smb")
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
	return nil, fmt.Errorf("no fabric: it is tcp, siw or rxe")
}

// verbs takes the guest's device through libibverbs.
const verbs = "iwarp: {enabled: false}\nrdma: {devices: [bench]}"

// config is our server's configuration with what differs. The client is in the same guest, and takes no reserved port over iWARP. Its memory is little: what User Mode Linux maps has a limit (integration/rxe).
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
