package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Validate checks the values and their combinations. Its error is an *[Error]. [Load] calls it; programs that build a
// configuration themselves should call it, too.
func (c *Config) Validate() error {
	if bad := c.check(); len(bad) > 0 {
		return &Error{Problems: bad}
	}
	return nil
}

type problems []Problem

func (p *problems) add(key, format string, args ...any) {
	*p = append(*p, Problem{Key: key, Text: fmt.Sprintf(format, args...)})
}

func (c *Config) check() []Problem {
	var bad problems
	c.checkListen(&bad)
	c.checkServices(&bad)
	c.checkShares(&bad)
	return bad
}

func (c *Config) checkListen(bad *problems) {
	if len(c.Listen) == 0 {
		bad.add("listen", "is empty; write e.g. 127.0.0.1, or 0.0.0.0 for all of this machine")
	}
	for i, a := range c.Listen {
		all := netip.IPv4Unspecified()
		if a.Is6() {
			all = netip.IPv6Unspecified()
		}
		key := fmt.Sprintf("listen[%d]", i)
		switch {
		case slices.Contains(c.Listen[:i], a):
			bad.add(key, "%s is given twice; remove one", a)
		case a != all && slices.Contains(c.Listen, all):
			bad.add(key, "%s is part of %s; remove one of them", a, all)
		}
	}
}

func (c *Config) checkServices(bad *problems) {
	n := &c.NFS
	c.checkPorts(bad)
	if !n.Enabled && c.SMB.Enabled == SwitchOff {
		bad.add("nfs.enabled", "false, and smb.enabled as well, leaves nothing to serve; set one to true")
	}
	if len(n.Versions) == 0 {
		bad.add("nfs.versions", `is empty; write e.g. ["3", "4.1", "4.2"]`)
	}
	if n.Lease < 10*time.Second || n.Lease > time.Hour {
		bad.add("nfs.lease", "%v is not between 10s and 1h; write e.g. 90s", n.Lease)
	}
	if n.Grace > time.Hour || n.Grace < n.Lease {
		bad.add("nfs.grace", "%v is shorter than nfs.lease (%v) or longer than 1h: clients would miss it; write e.g. %v", n.Grace, n.Lease, n.Lease)
	}
	if n.ReplyCache < 1<<20 {
		bad.add("nfs.reply_cache", "%v is less than 1MiB; write e.g. 64MiB", n.ReplyCache)
	}
	if m := c.IWARP.MaxFPDU; m != 0 && (m < 128 || m > 65544) {
		bad.add("iwarp.max_fpdu", "%d is not between 128 and 65544; write 0 to choose by the peer", m)
	}
	if m := c.Limits.Memory; m < 64<<20 {
		bad.add("limits.memory", "%v is less than 64MiB; write e.g. 1GiB", m)
	}
	if m := c.Limits.ConnectionMemory; m != 0 && (m < 1<<20 || m > c.Limits.Memory) {
		bad.add("limits.connection_memory", "%v is not between 1MiB and limits.memory (%v); write e.g. 64MiB, or 0 for what is usual", m, c.Limits.Memory)
	}
	if m := c.Limits.Connections; m < 1 {
		bad.add("limits.connections", "%d is less than 1; write e.g. 1024", m)
	}
	if m := c.Limits.ConnectionsPerAddress; m < 1 {
		bad.add("limits.connections_per_address", "%d is less than 1; write e.g. 256", m)
	}
	if d := c.Limits.HalfOpenTimeout; d < time.Second || d > time.Hour {
		bad.add("limits.half_open_timeout", "%v is not between 1s and 1h; write e.g. 30s", d)
	}
	if d := c.Limits.IdleTimeout; d != 0 && d < time.Second {
		bad.add("limits.idle_timeout", "%v is less than 1s; write e.g. 10m, or 0s for no limit", d)
	}
	if m := c.Limits.InFlight; m < 1 || m > 1024 {
		bad.add("limits.in_flight", "%d is not between 1 and 1024; write e.g. 128", m)
	}
	if m := c.Limits.LocksPerOwner; m < 1 {
		bad.add("limits.locks_per_owner", "%d is less than 1; write e.g. 65536", m)
	}
	if m := c.Limits.LocksPerClient; m < c.Limits.LocksPerOwner {
		bad.add("limits.locks_per_client", "%d is less than limits.locks_per_owner (%d); write e.g. 262144", m, c.Limits.LocksPerOwner)
	}
	c.checkRDMA(bad)
	c.checkSMB(bad)
	c.checkMetrics(bad)
}

var netbiosName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,15}$`)

func (c *Config) checkSMB(bad *problems) {
	s := &c.SMB
	if s.Name != "" && !netbiosName.MatchString(s.Name) {
		bad.add("smb.name", "%q is no name for a server; use up to 15 letters, digits, '_' and '-'", s.Name)
	}
	if !netbiosName.MatchString(s.Workgroup) {
		bad.add("smb.workgroup", "%q is no name for a workgroup; use up to 15 letters, digits, '_' and '-'", s.Workgroup)
	}
	if order := []Dialect{Dialect202, Dialect210, Dialect300, Dialect302, Dialect311}; slices.Index(order, s.MinDialect) > slices.Index(order, s.MaxDialect) {
		bad.add("smb.min_dialect", "%s is later than smb.max_dialect (%s); swap them", s.MinDialect, s.MaxDialect)
	}
	if s.Encryption == EncryptionRequired && (s.MaxDialect == Dialect202 || s.MaxDialect == Dialect210) {
		bad.add("smb.encryption", "required cannot be had with smb.max_dialect %s; write 3.1.1 there", s.MaxDialect)
	}
}

func (c *Config) checkMetrics(bad *problems) {
	m := &c.Metrics
	if m.Listen == "" {
		if m.Pprof {
			bad.add("metrics.pprof", "needs a listener; set metrics.listen, e.g. 127.0.0.1:9464")
		}
		return
	}
	host, port, err := net.SplitHostPort(m.Listen)
	n, perr := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || perr != nil:
		bad.add("metrics.listen", "%q is not an address and a port; write e.g. 127.0.0.1:9464", m.Listen)
	case n != 0 && (n == uint64(c.NFS.Port) || n == uint64(c.NFS.RDMAPort)):
		bad.add("metrics.listen", "%q takes the port of nfs.port or nfs.rdma_port; write e.g. %s", m.Listen, net.JoinHostPort(host, "9464"))
	case n != 0 && c.SMB.Enabled != SwitchOff && slices.Contains(c.SMB.Port, uint16(n)):
		bad.add("metrics.listen", "%q takes the port of smb.port; write e.g. %s", m.Listen, net.JoinHostPort(host, "9464"))
	}
}

var shareName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,79}$`)

func (c *Config) checkShares(bad *problems) {
	if len(c.Shares) == 0 {
		bad.add("shares", "there are none: nothing would be served; give --share data=./data, or shares: {data: {path: /srv/data}} in a file")
	}
	folded := map[string]string{}
	for i := range c.Shares {
		s := &c.Shares[i]
		key := "shares." + s.Name
		if !shareName.MatchString(s.Name) {
			bad.add(key, "%q is no name for a share; use up to 80 letters, digits, '.', '_' and '-', the first a letter, a digit or '_'", s.Name)
		}
		if other, ok := folded[strings.ToLower(s.Name)]; ok {
			bad.add(key, "differs from shares.%s only in upper and lower case; give it another name", other)
		}
		folded[strings.ToLower(s.Name)] = s.Name
		c.checkPath(bad, key+".path", s.Path)
		if len(s.Allow) == 0 {
			bad.add(key+".allow", "is empty: nobody would be admitted; write e.g. 10.0.0.0/8, or remove the key for this machine only")
		}
		if len(s.NFS.Security) == 0 {
			bad.add(key+".nfs.security", "is empty; write e.g. [sys]")
		}
		if m := s.SMB.FileMode; m&0o600 != 0o600 {
			bad.add(key+".smb.file_mode", "%v does not let its owner read and write; write e.g. 0644", m)
		}
		if m := s.SMB.DirectoryMode; m&0o700 != 0o700 {
			bad.add(key+".smb.directory_mode", "%v does not let its owner read, write and enter; write e.g. 0755", m)
		}
	}
}

func (c *Config) checkPath(bad *problems, key, path string) {
	if path == "" {
		bad.add(key, "is missing; write the directory to publish, e.g. path: /srv/data")
		return
	}
	switch st, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		bad.add(key, "%q does not exist; create it with: mkdir -p %s", path, path)
		return
	case err != nil:
		bad.add(key, "%q cannot be used: %v", path, errors.Unwrap(err))
		return
	case !st.IsDir():
		bad.add(key, "%q is not a directory; name the directory it lies in", path)
		return
	}
	if rel, err := filepath.Rel(realPath(path), realPath(c.StateDir)); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		bad.add(key, "%q contains the state directory %s: clients could read the server's keys; give another --state-dir", path, c.StateDir)
	}
}

// realPath resolves the symbolic links in the part of path that exists.
func realPath(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(realPath(dir), filepath.Base(path))
	}
	return path
}

// warnings finds combinations of listen and allow that keep clients from connecting.
func (c *Config) warnings() []string {
	var beyond netip.Addr // an address of listen that other machines can reach
	for _, a := range c.Listen {
		if !a.IsLoopback() {
			beyond = a
			break
		}
	}
	var out []string
	var closed, open []string
	for i := range c.Shares {
		s := &c.Shares[i]
		local := true
		for _, p := range s.Allow {
			local = local && p.Addr().IsLoopback()
		}
		if local {
			closed = append(closed, s.Name)
		} else {
			open = append(open, s.Name)
		}
	}
	if beyond.IsValid() && len(closed) > 0 {
		out = append(out, fmt.Sprintf("listening on %s, but nobody except this machine is admitted to %s; to admit others type e.g. --allow %s",
			beyond, strings.Join(closed, ", "), networkOf(beyond)))
	}
	if !beyond.IsValid() && len(open) > 0 && len(c.Listen) > 0 {
		out = append(out, fmt.Sprintf("other machines are admitted to %s, but only this machine is listened to; to let them connect type e.g. --listen 0.0.0.0",
			strings.Join(open, ", ")))
	}
	return out
}

// networkOf returns the network of an address of this machine. For a wildcard address it returns the first network found.
func networkOf(a netip.Addr) netip.Prefix {
	addrs, err := net.InterfaceAddrs()
	if err == nil {
		for _, ia := range addrs {
			p, err := netip.ParsePrefix(ia.String())
			if err == nil && !p.Addr().IsLoopback() && (p.Addr() == a || a.IsUnspecified() && p.Addr().Is4() == a.Is4()) {
				return p.Masked()
			}
		}
	}
	return netip.MustParsePrefix("192.168.0.0/16")
}
