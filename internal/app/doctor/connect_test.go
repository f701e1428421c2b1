package doctor

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fileserver/config"
	"fileserver/internal/app/server"
	"fileserver/internal/app/server/servertest"
	"fileserver/internal/users"
	"fileserver/rdma/iwarp"
	"fileserver/rdma/rdmatest"
	"fileserver/smb/ntlm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// load reads a configuration with a share.
func load(t *testing.T, yaml string, args ...string) *config.Config {
	t.Helper()
	return servertest.Config(t, "shares: {data: {path: data}}\n"+yaml, args...)
}

// serve runs a server on free ports, with a user, and returns a target that leads there.
func serve(t *testing.T, yaml string) Target {
	t.Helper()
	cfg := load(t, yaml, "--listen", "127.0.0.1")
	if err := users.Open(cfg.StateDir).Add(users.User{Name: "ann", NTHash: ntlm.NTHash("secret"), UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}); err != nil {
		t.Fatal(err)
	}
	out := new(servertest.Log)
	s, err := server.Start(cfg, server.NewLog(out, cfg.Log), "test")
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, s.Stop)
	target := Target{Host: "127.0.0.1", IWARP: soft(t), Timeout: 10 * time.Second, NFSPort: 1, NFSRDMAPort: 1, SMBPort: 1, DirectPorts: []uint16{1}}
	if cfg.NFS.Enabled {
		target.NFSPort, target.NFSRDMAPort = out.Addr(t, "nfs", "tcp").Port(), out.Addr(t, "nfs", "iwarp").Port()
	}
	target.SMBPort, target.DirectPorts = out.Addr(t, "smb", "tcp").Port(), []uint16{out.Addr(t, "smb", "iwarp").Port()}
	return target
}

// soft is a provider in software.
func soft(t *testing.T) *iwarp.Provider {
	p, err := iwarp.New(iwarp.Config{Log: rdmatest.Log()})
	return rdmatest.Opened(t, p, err)
}

func connect(t *testing.T, target Target) *Connection {
	t.Helper()
	r, err := Connect(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// summary is what became of each attempt.
func (c *Connection) summary() string {
	var list []string
	for _, a := range c.Attempts {
		list = append(list, fmt.Sprintf("%s/%s=%s:%s", a.Service, a.Transport, a.Code, a.Severity))
	}
	return strings.Join(list, " ")
}

const freePorts = "nfs: {port: 0, rdma_port: 0}\n"

func TestConnect(t *testing.T) {
	target := serve(t, freePorts+"smb: {port: 0, rdma_port: 0}\n")
	target.User, target.Password = "ann", "secret"
	r := connect(t, target)
	want := "nfs/tcp=connected:ok nfs/iwarp=connected:ok nfs/verbs=no-provider:info smb/tcp=connected:ok smb/iwarp=connected:ok smb/verbs=no-provider:info"
	if got := r.summary(); got != want {
		t.Fatalf("%s\nwant %s\n%+v", got, want, r.Attempts)
	}
	if r.Status != Info || r.Status.ExitStatus() != 0 {
		t.Errorf("status %s", r.Status)
	}
	if nfs := r.Attempts[1].NFS; nfs.Credits != 16 { // of the first reply
		t.Errorf("NFS over RDMA: %+v", nfs)
	}
	for _, i := range []int{3, 4} {
		s := r.Attempts[i].SMB
		if s.Dialect != "3.1.1" || s.SigningRequired || s.Encryption != "AES-128-GCM" || !s.MultiChannel || s.MaxReadBytes == 0 {
			t.Errorf("%s: %+v", r.Attempts[i].Transport, s)
		}
		if !listed(s.Interfaces) {
			t.Errorf("%s: the server's interfaces: %+v", r.Attempts[i].Transport, s.Interfaces)
		}
		if !strings.Contains(r.Attempts[i].What, "RDMA at 127.0.0.1") {
			t.Error(r.Attempts[i].What)
		}
	}
	if d := r.Attempts[4].SMB.Direct; d == nil || d.MaxSend != 1364 || d.Credits == 0 {
		t.Errorf("SMB Direct: %+v", d)
	}
}

// listed reports whether the server lists its address for RDMA, and again for TCP with RSS.
func listed(all []SMBInterface) bool {
	return len(all) == 2 && all[0].Address == "127.0.0.1" && all[1].Address == "127.0.0.1" &&
		all[0].RDMA && !all[1].RDMA && all[1].RSS
}

// TestConnectSecured: versions, signing, encryption, and a user who is not let in.
func TestConnectSecured(t *testing.T) {
	target := serve(t, "nfs: {port: 0, rdma_port: 0, versions: [3]}\nsmb: {port: 0, rdma_port: 0, signing: required, encryption: required, min_dialect: 3.1.1}\n")
	target.User, target.Password = "ann", "secret"
	r := connect(t, target)
	if got := r.summary(); strings.Count(got, "connected:ok") != 3 || !strings.Contains(got, "smb/iwarp=connected:warning") || r.Status.ExitStatus() != 1 {
		t.Fatalf("%s\n%+v", got, r.Attempts)
	}
	if a := r.Attempts[4]; len(a.Do) != 2 || !strings.Contains(a.Why, "inside of messages") {
		t.Errorf("%+v", a)
	}
	if a := r.Attempts[0]; a.NFS.Low != 3 || a.NFS.High != 3 || !strings.Contains(a.What, "versions 3 to 3 only") {
		t.Errorf("%+v", a)
	}
	if a := r.Attempts[4]; !a.SMB.SigningRequired || !a.SMB.Encrypted || !listed(a.SMB.Interfaces) || !strings.Contains(a.What, "signing required") {
		t.Errorf("%+v %+v", a, a.SMB)
	}
	target.Password, target.Protos = "wrong", []string{"smb"}
	r = connect(t, target)
	if got := r.summary(); !strings.HasPrefix(got, "smb/tcp=logon:error smb/iwarp=logon:error") || r.Status.ExitStatus() != 2 {
		t.Errorf("%s", got)
	}
}

// TestConnectOther: a server of SMB alone, without RDMA where the client looks.
func TestConnectOther(t *testing.T) {
	target := serve(t, "nfs: {enabled: false}\nsmb: {port: 0, rdma_port: 0}\n")
	free := listen(t, func(net.Conn) {})
	free.Close()
	port := netip.MustParseAddrPort(free.Addr().String()).Port()
	target.NFSPort, target.NFSRDMAPort, target.DirectPorts = port, port, []uint16{port}
	r := connect(t, target)
	want := "nfs/tcp=refused:info nfs/iwarp=refused:info nfs/verbs=no-provider:info smb/tcp=connected:ok smb/iwarp=refused:warning smb/verbs=no-provider:info"
	if got := r.summary(); got != want || r.Status.ExitStatus() != 1 {
		t.Errorf("%s, status %s", got, r.Status)
	}
}

// listen runs a TCP service that does one thing with each connection.
func listen(t *testing.T, serve func(net.Conn)) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l
}

// TestConnectStrangers tries services that are none of ours.
func TestConnectStrangers(t *testing.T) {
	for _, tc := range []struct {
		name  string
		serve func(net.Conn)
		want  string // of nfs/tcp, nfs/iwarp, smb/tcp and smb/iwarp
	}{
		{"silent", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "silent not-iwarp silent not-iwarp"},
		{"hangs up", func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }, "ended not-iwarp ended not-iwarp"},
		{"http", func(c net.Conn) {
			_, _ = c.Read(make([]byte, 512))
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
		}, "garbage not-iwarp garbage not-iwarp"},
		{"echo", func(c net.Conn) { _, _ = io.Copy(c, c) }, "garbage not-iwarp garbage not-iwarp"},
		{"speaks first", func(c net.Conn) {
			_, _ = io.WriteString(c, "220 mail.example.com ESMTP\r\n"+strings.Repeat(" ", 100))
			_, _ = io.Copy(io.Discard, c)
		}, "garbage not-iwarp garbage not-iwarp"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			port := netip.MustParseAddrPort(listen(t, tc.serve).Addr().String()).Port()
			r := connect(t, Target{Host: "127.0.0.1", IWARP: soft(t), Timeout: time.Second, NFSPort: port, NFSRDMAPort: port, SMBPort: port, DirectPorts: []uint16{port}})
			var got []string
			for _, a := range r.Attempts {
				if a.Transport != "verbs" {
					got = append(got, a.Code)
					if a.Why == "" || a.What == "" || a.Error == "" {
						t.Errorf("%+v", a)
					}
				}
			}
			if s := strings.Join(got, " "); s != tc.want || r.Status != Error {
				t.Errorf("%s, want %s, status %s\n%+v", s, tc.want, r.Status, r.Attempts)
			}
		})
	}
}

func TestConnectNames(t *testing.T) {
	if _, err := Connect(t.Context(), Target{Host: "no-such-host.invalid", IWARP: soft(t), Timeout: time.Second}); err == nil {
		t.Error("connected to a host that does not exist")
	}
	p := prober{Target: &Target{Timeout: time.Second, NFSPort: 1}}
	here := netip.MustParseAddr("127.0.0.1")
	// Nothing listens on the port, but the second address says so.
	if a := p.reachable(t.Context(), []netip.Addr{netip.MustParseAddr("255.255.255.255"), here}); a != here {
		t.Errorf("chose %v", a)
	}
}
