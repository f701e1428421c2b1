package workload

import (
	"embed"
	"errors"
	"io/fs"
)

// Workload is a script with its requirements.
type Workload struct {
	Name    string
	MTU     string   // of the network, in bytes: Ethernet's for workloads whose lengths should meet the edges of packets; the guest's default if empty
	Options []string // of the mount
	Root    bool     // the server must run as root
	Tree    string   // the part of the Go source tree that must be in the share afterwards
}

//go:embed scripts
var scripts embed.FS

// serverScript returns the script of a guest with only the server.
func serverScript() (string, error) {
	var whole string
	for _, name := range []string{"common", "server", "beside"} {
		text, err := scripts.ReadFile("scripts/" + name + ".sh")
		if err != nil {
			return "", err
		}
		whole += string(text)
	}
	return whole, nil
}

// Script returns the script of a workload: common.sh, the protocol's lib.sh, the workload itself, the protocol's end.sh, and the end of a
// server in the guest. own is the protocol's directory "scripts". A workload there takes precedence over one of this package.
func Script(own fs.FS, name string) (string, error) {
	var whole string
	for _, part := range []struct {
		name string
		from []fs.FS
	}{
		{"common", []fs.FS{scripts}}, {"server", []fs.FS{scripts}}, {"lib", []fs.FS{own}}, {name, []fs.FS{own, scripts}},
		{"end", []fs.FS{own}}, {"finish", []fs.FS{scripts}},
	} {
		var text []byte
		err := fs.ErrNotExist
		for _, from := range part.from {
			if errors.Is(err, fs.ErrNotExist) {
				text, err = fs.ReadFile(from, "scripts/"+part.name+".sh")
			}
		}
		if err != nil {
			return "", err
		}
		whole += string(text)
	}
	return whole, nil
}
