package config

import (
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShareSMB(t *testing.T) {
	c := mustLoad(t, `
shares:
  a: {path: srv}
  b: {path: srv, smb: {enabled: false, encrypt: true, comment: c, case_sensitive: true, hide_dot_files: true, oplocks: false, file_mode: 0660, directory_mode: 2770}}
  c: {path: srv, smb: {file_mode: "600", directory_mode: 0o700}}
  d: {path: srv, smb: {file_mode: &m 0700, directory_mode: *m}}
`)
	for i, want := range []ShareSMB{
		{Enabled: true, Oplocks: true, FileMode: 0o644, DirectoryMode: 0o755},
		{Encrypt: true, Comment: "c", CaseSensitive: true, HideDotFiles: true, FileMode: 0o660, DirectoryMode: 0o2770},
		{Enabled: true, Oplocks: true, FileMode: 0o600, DirectoryMode: 0o700},
		{Enabled: true, Oplocks: true, FileMode: 0o700, DirectoryMode: 0o700},
	} {
		if d := cmp.Diff(want, c.Shares[i].SMB); d != "" {
			t.Errorf("%s: %s", c.Shares[i].Name, d)
		}
	}
	shown := map[string]string{}
	for _, s := range c.Settings() {
		shown[s.Key] = s.Value
	}
	for key, want := range map[string]string{
		"shares.a.smb.file_mode": "0644", "shares.b.smb.directory_mode": "2770", "shares.b.smb.oplocks": "false", "shares.a.smb.oplocks": "true",
	} {
		if shown[key] != want || !Reloadable(key) {
			t.Errorf("%s is %q, want %q; reloadable %v", key, shown[key], want, Reloadable(key))
		}
	}
}

func TestSMBProblems(t *testing.T) {
	share := func(smb string) string { return "shares: {data: {path: srv, smb: {" + smb + "}}}\n" }
	const at = "fileserver.yaml:1: shares.data.smb."
	for _, tc := range []struct{ yaml, want string }{
		{share("file_mode: 0689"), at + `file_mode: "0689" is not a mode; write octal digits, e.g. 0644`},
		{share("file_mode: 10644"), at + `file_mode: "10644" is not a mode; write octal digits, e.g. 0644`},
		{share("file_mode: rw"), at + `file_mode: "rw" is not a mode; write octal digits, e.g. 0644`},
		{share("file_mode: 0444"), at + `file_mode: 0444 does not let its owner read and write; write e.g. 0644`},
		{share("directory_mode: 0644"), at + `directory_mode: 0644 does not let its owner read, write and enter; write e.g. 0755`},
		{share("oplocks: 1"), at + `oplocks: "1" is neither true nor false`},
		{share("case_sensitve: true"), at + `case_sensitve: unknown key; did you mean case_sensitive?`},
		{share("file_mode: [0644]"), at + `file_mode: is a list; write one value`},
		{share("") + "smb: {signing: off}\n", `fileserver.yaml:2: smb.signing: "off" is not known; …`},
		{share("") + "smb: {min_dialect: 4.0.1}\n", `fileserver.yaml:2: smb.min_dialect: "4.0.1" is not known; …`},
		{share("") + "smb: {encryption: require}\n", `fileserver.yaml:2: smb.encryption: "require" is not known; did you mean required?`},
		{share("") + "smb: {interfaces: [eth0]}\n", `fileserver.yaml:2: smb.interfaces[0]: "eth0" does not begin with an address; write e.g. 192.0.2.10/25G/rdma`},
		{share("") + "smb: {interfaces: [192.0.2.1/25]}\n", `fileserver.yaml:2: smb.interfaces[0]: "192.0.2.1/25" has a speed "25" that is none; write e.g. 25G or 100M`},
	} {
		_, err := load(t, tc.yaml)
		if err == nil || !matches(err.Error(), tc.want) {
			t.Errorf("%s: refused with\n%v\nwant\n%s", tc.yaml, err, tc.want)
		}
	}
}

// Interfaces are written as they are read.
func TestInterfaces(t *testing.T) {
	a := netip.MustParseAddr("192.0.2.1")
	for text, want := range map[string]Interface{
		"192.0.2.1":               {Addr: a},
		"192.0.2.1/25000M":        {Addr: a, Speed: 25e9},
		"192.0.2.1/100M/rdma/rss": {Addr: a, Speed: 1e8, RDMA: true, RSS: true},
		"2001:db8::1/rdma":        {Addr: netip.MustParseAddr("2001:db8::1"), RDMA: true},
	} {
		got, err := parseInterface(text)
		if err != nil || got != want || want.String() != text {
			t.Errorf("%s: %+v, %v; written as %s", text, got, err, want)
		}
	}
	if got, err := parseInterface("192.0.2.1/25G"); err != nil || got.(Interface).Speed != 25e9 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := parseInterface("::ffff:192.0.2.1"); err != nil || got.(Interface).Addr != a {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDialects(t *testing.T) {
	c := mustLoad(t, "shares: {data: {path: srv}}\nsmb: {min_dialect: 3.0, max_dialect: 3.1.1}\n")
	if c.SMB.MinDialect != Dialect300 || c.SMB.MaxDialect != Dialect311 {
		t.Errorf("%q to %q", c.SMB.MinDialect, c.SMB.MaxDialect)
	}
}

// Every key is in docs/operations.md, in a table; a share's name is NAME there.
func TestKeysAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]bool{}
	for line := range strings.Lines(string(doc)) {
		cell, ok := strings.CutPrefix(line, "| ")
		if !ok {
			continue
		}
		cell, _, _ = strings.Cut(cell, " |")
		first := ""
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			key := m[1]
			if strings.HasPrefix(key, ".") { // a sibling of the first
				key = first[:strings.LastIndex(first, ".")] + key
			} else {
				first = key
			}
			cells[key] = true
		}
	}
	c := mustLoad(t, "shares: {NAME: {path: srv}}\n")
	for _, s := range c.Settings() {
		if !cells[s.Key] {
			t.Errorf("docs/operations.md has no row for %s", s.Key)
		}
	}
}
