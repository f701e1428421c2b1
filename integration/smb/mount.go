package smb

import (
	"embed"
	"io/fs"
	"slices"
	"strings"

	"fileserver/integration/workload"
)

// Workloads are the workloads that run on cifs.
var Workloads = []workload.Workload{
	{Name: "files"},
	{Name: "small"},
	{Name: "lengths", MTU: "1500"},
	{Name: "mmap"},
	{Name: "locks"},
	{Name: "fio"},
	{Name: "fio-depth"},
	{Name: "git"},
	{Name: "sqlite", Options: []string{"nobrl"}},
	{Name: "tree", Tree: "cmd"},
}

//go:embed scripts
var scripts embed.FS

// Scripts returns this package's scripts for [workload.Script] and [workload.Rig.Boot].
func Scripts() fs.FS { return scripts }

// User and Password are the login of the tests: a user of the server with its own uid.
const (
	User     = "alice"
	Password = "a secret, with 'quotes' & spaces"
)

// Mount holds the parameters of a workload's mount.
type Mount struct {
	Server  string   // the server's address
	Port    string   // its TCP port
	Proto   string   // rdma or tcp
	Vers    string   // the dialect of SMB
	User    string   // whose password is Password
	Options []string // of mount.cifs, besides those for the fields above
	Expect  []string // options that /proc/mounts must show
	Work    string   // path of the program work
	MTU     string   // of the client's network, in bytes; the guest's default if empty
}

// Env returns the environment of a workload.
func (m Mount) Env() []string {
	fs, same := "smb", []string{"vers=" + m.Vers, "hard", "iocharset=utf8"}
	if slices.Contains(m.Options, "posix") {
		fs = "posix"
	} else {
		same = append(same, "mfsymlinks")
	}
	options := append(append([]string{"username=" + m.User}, same...), m.Options...)
	expect := append(same, m.Expect...)
	if m.Proto == "rdma" {
		options, expect = append(options, "rdma"), append(expect, "rdma")
	} else {
		options = append(options, "port="+m.Port)
	}
	return []string{
		"FS=" + fs, "SERVER=" + m.Server, "PORT=" + m.Port, "PROTO=" + m.Proto, "OPTIONS=" + strings.Join(options, ","),
		"EXPECT=" + strings.Join(expect, " "), "PASSWD=" + Password, "WORK=" + m.Work, "MTU=" + m.MTU,
	}
}
