package nfs

import (
	"embed"
	"fmt"
	"io/fs"

	"fileserver/integration/workload"
)

// Versions are those that all is tried in.
var Versions = []string{"3", "4.1", "4.2"}

// Workloads are what users do.
var Workloads = []workload.Workload{
	{Name: "files"},
	{Name: "owners", Root: true},
	{Name: "small"},
	{Name: "lengths", MTU: "1500"},
	{Name: "mmap"},
	{Name: "locks"},
	{Name: "fio"},
	{Name: "git"},
	{Name: "tree", Tree: "."},
}

//go:embed scripts
var scripts embed.FS

// Scripts returns what [workload.Script] and [workload.Rig.Boot] need of this package.
func Scripts() fs.FS { return scripts }

// Mount says how a workload mounts.
type Mount struct {
	Server    string // address
	Export    string // path
	Vers      string // 3, 4.1 or 4.2
	Proto     string // rdma or tcp
	MountPort int    // of MOUNT, for version 3
	Options   string // of mount, besides those that follow from the above
	Work      string // path of the program work
	MTU       string // of the client's network, in bytes; the harness's choice if empty
}

// Env returns the environment of a workload.
func (m Mount) Env() []string {
	options := fmt.Sprintf("proto=%s,port=%d", m.Proto, map[string]int{"rdma": 20049, "tcp": 2049}[m.Proto])
	if m.Vers == "3" {
		options += fmt.Sprintf(",mountport=%d,mountproto=tcp,nolock", m.MountPort)
	}
	if m.Options != "" {
		options += "," + m.Options
	}
	return []string{
		"FS=nfs", "SERVER=" + m.Server, "EXPORT=" + m.Export, "VERS=" + m.Vers, "PROTO=" + m.Proto, "OPTIONS=" + options,
		"WORK=" + m.Work, "MTU=" + m.MTU,
	}
}
