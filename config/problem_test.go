package config

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestProblems checks every line that refuses a bad configuration.
func TestProblems(t *testing.T) {
	const ok = "shares: {data: {path: srv}}\n"
	for _, tc := range []struct {
		name, yaml string
		args       []string
		env        []string
		want       string // lines; "…" stands for anything
	}{
		{name: "range", yaml: "shares:\n  data:\n    path: srv\n    allow: [10.0.0.0/8, 10.0.0.0/33]\n",
			want: `fileserver.yaml:4: shares.data.allow[1]: "10.0.0.0/33" is not an address range; write e.g. 10.0.0.0/8`},
		{name: "host bits", yaml: ok + "allow: 10.0.0.5/8\n",
			want: `fileserver.yaml:2: allow[0]: "10.0.0.5/8" names an address and a range; write 10.0.0.0/8 for the range or 10.0.0.5 for the address`},
		{name: "unknown key", yaml: ok + "nfs:\n  prot: 2049\n",
			want: `fileserver.yaml:3: nfs.prot: unknown key; did you mean port?`},
		{name: "unknown section", yaml: ok + "ftp: {}\n",
			want: `fileserver.yaml:2: ftp: unknown key; …`},
		{name: "upper case", yaml: ok + "NFS: {port: 1}\n",
			want: `fileserver.yaml:2: NFS: unknown key; did you mean nfs?`},
		{name: "share option", yaml: "shares: {data: {path: srv, readonly: true, ftp: {}}}\n",
			want: "fileserver.yaml:1: shares.data.readonly: unknown key; did you mean read_only?\n" +
				"fileserver.yaml:1: shares.data.ftp: unknown key; known here are allow, nfs, path, read_only, smb"},
		{name: "name is no option", yaml: "shares: {data: {path: srv, name: x}}\n",
			want: "fileserver.yaml:1: shares.data.name: unknown key; known here are allow, nfs, path, read_only, smb"},
		{name: "squash", yaml: "shares: {data: {path: srv, nfs: {squash: rot}}}\n",
			want: `fileserver.yaml:1: shares.data.nfs.squash: "rot" is not known; did you mean root?`},
		{name: "all at once", yaml: ok + "nfs: {port: 70000, lease: 90, versions: [3, 5]}\nlog: {format: xml}\nlimits: {memory: lots}\niwarp: {enabled: 1}\n",
			want: `fileserver.yaml:2: nfs.port: "70000" is not a port; write a number from 1 to 65535, or 0 for any that is free
fileserver.yaml:2: nfs.versions[1]: "5" is not known; write one of 3, 4.1, 4.2
fileserver.yaml:2: nfs.lease: "90" has no unit; write 90s for seconds
fileserver.yaml:5: iwarp.enabled: "1" is neither true nor false
fileserver.yaml:4: limits.memory: "lots" is not a size; write e.g. 512MiB or 2GiB
fileserver.yaml:3: log.format: "xml" is not known; write one of text, json`},
		{name: "no value", yaml: ok + "listen:\n", want: `fileserver.yaml:2: listen: has no value; give it one or remove the key`},
		{name: "share without value", yaml: "shares:\n  data:\n", want: "fileserver.yaml:2: shares.data: has no value; give it one or remove the key"},
		{name: "share is a path", yaml: "shares: {data: /srv}\n", want: `fileserver.yaml:1: shares.data: "/srv" is not a mapping; known here are …`},
		{name: "shares is a list", yaml: "shares: [{name: data, path: /srv}]\n", want: `fileserver.yaml:1: shares: is not a mapping of names to shares; write e.g. shares: {data: {path: /srv/data}}`},
		{name: "section is a value", yaml: ok + "nfs: 5\n", want: `fileserver.yaml:2: nfs: "5" is not a mapping; known here are enabled, …`},
		{name: "value is a list", yaml: ok + "nfs: {port: [1]}\n", want: `fileserver.yaml:2: nfs.port: is a list; write one value`},
		{name: "value is a mapping", yaml: ok + "allow: [{a: 1}]\n", want: `fileserver.yaml:2: allow[0]: is a mapping; write a plain value`},
		{name: "duplicate", yaml: ok + "nfs: {port: 1, port: 2}\n", want: `fileserver.yaml: line 2: mapping key "port" already defined at line 2`},
		{name: "syntax", yaml: "shares: {\n", want: `fileserver.yaml: line …`},
		{name: "two documents", yaml: ok + "---\nnfs: {port: 1}\n", want: `fileserver.yaml: has a second document after "---"; write one only`},
		{name: "a list", yaml: "- a\n", want: `fileserver.yaml: is not a mapping of keys to values; write e.g. shares: {data: {path: /srv/data}}`},
		{name: "no file", args: []string{"--config=missing.yaml"}, want: `missing.yaml: cannot be read: no such file or directory`},

		{name: "nothing", want: `shares: there are none: nothing would be served; give --share data=./data, or shares: {data: {path: /srv/data}} in a file`},
		{name: "flag range", args: []string{"--share=data=srv", "--allow=nowhere"}, want: `--allow: "nowhere" is not an address range; write e.g. 10.0.0.0/8`},
		{name: "flag share", args: []string{"--share=srv"}, want: "--share: \"srv\" does not name a share and a directory; write e.g. data=/srv/data"},
		{name: "flag share twice", args: []string{"--share=a=srv", "--share=a=/usr"}, want: `--share: share "a" is given twice; give the second another name`},
		{name: "flag path", args: []string{"--share=a=gone"}, want: `--share: "…/gone" does not exist; create it with: mkdir -p …/gone`},
		{name: "flag port", args: []string{"--share=a=srv", "--listen=127.0.0.1:2049"}, want: `--listen: "127.0.0.1:2049" has a port; write 127.0.0.1, and set the ports with nfs.port and nfs.rdma_port`},
		{name: "variable", args: []string{"--share=a=srv"}, env: []string{"FILESERVER_NFS_PORT=x", "FILESERVER_LISTEN=127.0.0.1,localhost"},
			want: "FILESERVER_LISTEN: \"localhost\" is a name; write 127.0.0.1\nFILESERVER_NFS_PORT: \"x\" is not a port; …"},

		{name: "ports", yaml: ok + "nfs: {rdma_port: 2049}\n", want: `fileserver.yaml:2: nfs.rdma_port: 2049 is the port of nfs.port, too; write e.g. 20049`},
		{name: "metrics port", yaml: ok + "metrics: {listen: '127.0.0.1:2049'}\n", want: `fileserver.yaml:2: metrics.listen: "127.0.0.1:2049" takes the port of nfs.port or nfs.rdma_port; write e.g. 127.0.0.1:9464`},
		{name: "metrics", args: []string{"--share=a=srv", "--metrics=9464"}, want: `--metrics: "9464" is not an address and a port; write e.g. 127.0.0.1:9464`},
		{name: "pprof", yaml: ok + "metrics: {pprof: true}\n", want: `fileserver.yaml:2: metrics.pprof: needs a listener; set metrics.listen, e.g. 127.0.0.1:9464`},
		{name: "grace", yaml: ok + "nfs: {lease: 2m}\n", want: `fileserver.yaml:2: nfs.grace: 1m30s is shorter than nfs.lease (2m0s) …`},
		{name: "nothing enabled", yaml: ok + "nfs: {enabled: false}\nsmb: {enabled: false}\n",
			want: `fileserver.yaml:2: nfs.enabled: false, and smb.enabled as well, leaves nothing to serve; set one to true`},
		{name: "smb ports", yaml: ok + "smb: {port: 2049, rdma_port: 20049}\n",
			want: "fileserver.yaml:2: smb.port: 2049 is the port of nfs.port, too; give it another\nfileserver.yaml:2: smb.rdma_port: 20049 is the port of nfs.rdma_port, too; give it another"},
		{name: "smb values", yaml: ok + "smb: {enabled: yes please, signing: always, max_dialect: 4, interfaces: [x, 10.0.0.1/fast]}\n",
			want: "fileserver.yaml:2: smb.enabled: \"yes please\" is not known; …\nfileserver.yaml:2: smb.signing: \"always\" is not known; …\nfileserver.yaml:2: smb.max_dialect: \"4\" is not known; …\n" +
				"fileserver.yaml:2: smb.interfaces[0]: \"x\" does not begin with an address; …\nfileserver.yaml:2: smb.interfaces[1]: \"10.0.0.1/fast\" has a speed \"fast\" that is none; …"},
		{name: "smb names", yaml: ok + "smb: {name: a name, workgroup: '', min_dialect: 3.0, max_dialect: 2.1, encryption: required}\n",
			want: "fileserver.yaml:2: smb.name: \"a name\" is no name for a server; …\nfileserver.yaml:2: smb.workgroup: \"\" is no name for a workgroup; …\n" +
				"fileserver.yaml:2: smb.min_dialect: 3.0 is later than smb.max_dialect (2.1); swap them\nfileserver.yaml:2: smb.encryption: required cannot be had with smb.max_dialect 2.1; …"},
		{name: "wildcard and more", yaml: ok + "listen: [0.0.0.0, 10.1.1.1, '::1']\n", want: `fileserver.yaml:2: listen[1]: 10.1.1.1 is part of 0.0.0.0; remove one of them`},
		{name: "listen twice", yaml: ok + "listen: [10.1.1.1, 10.1.1.1]\n", want: `fileserver.yaml:2: listen[1]: 10.1.1.1 is given twice; remove one`},
		{name: "wildcard twice", yaml: ok + "listen: [0.0.0.0, 0.0.0.0]\n", want: `fileserver.yaml:2: listen[1]: 0.0.0.0 is given twice; remove one`},
		{name: "empty lists", yaml: "listen: []\nnfs: {versions: []}\nshares: {data: {path: srv, allow: [], nfs: {security: []}}}\n",
			want: "fileserver.yaml:1: listen: is empty; …\nfileserver.yaml:2: nfs.versions: is empty; …\nfileserver.yaml:3: shares.data.allow: is empty: …\nfileserver.yaml:3: shares.data.nfs.security: is empty; …"},
		{name: "limits", yaml: ok + "limits: {memory: 1MiB, connection_memory: 2MiB, connections: 0, connections_per_address: 0, half_open_timeout: 1ms, idle_timeout: 1ms, in_flight: 5000, locks_per_owner: 0, locks_per_client: -1}\niwarp: {max_fpdu: 1}\n",
			want: "fileserver.yaml:3: iwarp.max_fpdu: 1 is not between 128 and 65544; …\nfileserver.yaml:2: limits.memory: 1MiB is less than 64MiB; …\nfileserver.yaml:2: limits.connection_memory: 2MiB is not between 1MiB and limits.memory (1MiB); …\n" +
				"fileserver.yaml:2: limits.connections: 0 is less than 1; …\nfileserver.yaml:2: limits.connections_per_address: 0 is less than 1; …\n" +
				"fileserver.yaml:2: limits.half_open_timeout: 1ms is not between 1s and 1h; …\nfileserver.yaml:2: limits.idle_timeout: 1ms is less than 1s; …\nfileserver.yaml:2: limits.in_flight: 5000 is not between 1 and 1024; …\n" +
				"fileserver.yaml:2: limits.locks_per_owner: 0 is less than 1; …\nfileserver.yaml:2: limits.locks_per_client: -1 is less than limits.locks_per_owner (0); …"},
		{name: "share name", yaml: "shares: {'a/b': {path: srv}}\n", want: `fileserver.yaml:1: shares.a/b: "a/b" is no name for a share; …`},
		{name: "folded names", yaml: "shares: {Data: {path: srv}, data: {path: srv}}\n", want: `fileserver.yaml:1: shares.data: differs from shares.Data only in upper and lower case; give it another name`},
		{name: "no path", yaml: "shares: {data: {read_only: true}}\n", want: `fileserver.yaml:1: shares.data.path: is missing; write the directory to publish, e.g. path: /srv/data`},
		{name: "path is a file", yaml: "shares: {data: {path: fileserver.yaml}}\n", want: `fileserver.yaml:1: shares.data.path: "…/fileserver.yaml" is not a directory; name the directory it lies in`},
		{name: "state in a share", yaml: ok + "state_dir: srv/state\n", want: `fileserver.yaml:1: shares.data.path: "…/srv" contains the state directory …/srv/state: clients could read the server's keys; give another --state-dir`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, kv := range tc.env {
				name, value, _ := strings.Cut(kv, "=")
				t.Setenv(name, value)
			}
			_, err := load(t, tc.yaml, tc.args...)
			if err == nil {
				t.Fatalf("accepted; want\n%s", tc.want)
			}
			if !matches(err.Error(), tc.want) {
				t.Errorf("refused with\n%v\nwant\n%s", err, tc.want)
			}
		})
	}
}

// matches compares line by line; "…" in a line of want stands for anything.
func matches(got, want string) bool {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	if len(g) != len(w) {
		return false
	}
	for i := range g {
		parts := strings.Split(w[i], "…")
		rest, ok := strings.CutPrefix(g[i], parts[0])
		for j, p := range parts[1:] {
			if !ok {
				return false
			}
			k := strings.Index(rest, p)
			if j == len(parts)-2 {
				k = strings.LastIndex(rest, p)
				ok = strings.HasSuffix(rest, p)
			}
			if k < 0 {
				return false
			}
			rest = rest[k+len(p):]
		}
		if !ok || (len(parts) == 1 && rest != "") {
			return false
		}
	}
	return true
}

// FuzzFile loads arbitrary files: each is accepted, or refused with reasons.
func FuzzFile(f *testing.F) {
	f.Add("shares: {data: {path: /usr, allow: [10.0.0.0/8], nfs: {squash: none}}}\nlisten: 0.0.0.0\n")
	f.Add("nfs: {port: 1, versions: [3, 4.1]}\nlog: {level: debug}\niwarp: {crc: always}\n")
	f.Add("a: &a [*a]\n")
	f.Add("shares: {x: &x {path: /usr}, y: *x, z: {<<: *x}}\n")
	f.Add("? {a: b}\n: 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		name := t.TempDir() + "/f.yaml"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fs := pflag.NewFlagSet("fuzz", pflag.ContinueOnError)
		AddFlags(fs)
		if err := fs.Parse([]string{"--config", name}); err != nil {
			t.Fatal(err)
		}
		c, err := Load(fs)
		if (c == nil) == (err == nil) || err != nil && err.Error() == "" {
			t.Errorf("configuration %v, error %v", c, err)
		}
	})
}
