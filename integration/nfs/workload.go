package nfs

import (
	"embed"
	"fmt"
	"io/fs"

	"fileserver/integration/workload"
)

// Versions are the versions of NFS that the tests use.
var Versions = []string{"3", "4.1", "4.2"}

// Workloads are the workloads that run on NFS.
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

// Scripts returns this package's scripts for [workload.Script] and [workload.Rig.Boot].
func Scripts() fs.FS { return scripts }

// Mount holds the parameters of a workload's mount.
type Mount struct {
	Server    string // the server's address
	Export    string // the export's path
	Vers      string // 3, 4.1 or 4.2
	Proto     string // rdma or tcp
	MountPort int    // port of MOUNT, for version 3
	Options   string // of mount, besides those for the fields above
	Work      string // path of the program work
	MTU       string // of the client's network, in bytes; the guest's default if empty
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
