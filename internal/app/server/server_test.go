package server

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"fileserver/config"
	"fileserver/internal/app/server/servertest"
	"fileserver/internal/slab"
	"fileserver/nfs/mount"
	"fileserver/nfs/rpc"
	"fileserver/nfs/rpc/rpcclient"
	"fileserver/nfs/xdr"
	"fileserver/nfsrdma"
	"fileserver/rdma"
	"fileserver/rdma/iwarp"
	"fileserver/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output is the log of a server.
type output struct{ servertest.Log }

// configure loads a configuration with free ports of 127.0.0.1, and with one share if it names none. The flags override it.
func configure(t *testing.T, yaml string, args ...string) *config.Config {
	t.Helper()
	if yaml == "" {
		yaml = "shares: {data: {path: data}}\nnfs: {port: 0, rdma_port: 0}\n"
	}
	return servertest.Config(t, yaml, append([]string{"--listen", "127.0.0.1"}, args...)...)
}

// start runs a server; it is stopped when the test ends.
func start(t *testing.T, cfg *config.Config) (*Server, *output) {
	t.Helper()
	return startWith(t, system{}, cfg)
}

func startWith(t *testing.T, sys system, cfg *config.Config) (*Server, *output) {
	t.Helper()
	out := new(output)
	s, err := startOn(sys, cfg, NewLog(out, cfg.Log), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log:\n%s", out)
		}
	})
	servertest.StopAtEnd(t, s.Stop)
	return s, out
}

const nfsProgram = 100003

func nullCall(xid uint32) []byte {
	return rpc.AppendCall(nil, xid, nfsProgram, 4, 0, rpc.AuthNone, nil)
}

// checkNull checks the reply to nullCall.
func checkNull(t *testing.T, reply []byte, xid uint32) {
	t.Helper()
	d := xdr.NewDecoder(reply)
	if got := [...]uint32{d.Uint32(), d.Uint32(), d.Uint32(), d.Uint32(), d.Uint32(), d.Uint32()}; got != [...]uint32{xid, 1, 0, 0, 0, 0} {
		t.Errorf("reply to NULL is %v (%v)", got, d.Err())
	}
}

// nullOverTCP calls the NULL procedure of NFSv4, and closes the connection.
func nullOverTCP(t *testing.T, at netip.AddrPort) {
	t.Helper()
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	msg := nullCall(7)
	if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, 1<<31|uint32(len(msg))), msg...)); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 4+24)
	if _, err := io.ReadFull(c, reply); err != nil {
		t.Fatal(err)
	}
	checkNull(t, reply[4:], 7)
}

// nullOverRDMA does the same over iWARP.
func nullOverRDMA(t *testing.T, at netip.AddrPort) {
	t.Helper()
	p, err := iwarp.New(iwarp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	pool := slab.New(slab.Config{Debug: true})
	mems := &domains{pool: pool}
	c, err := nfsrdma.Dial(t.Context(), p, at, nfsrdma.ClientConfig{Memory: func(d rdma.Device) (*rdma.Memory, error) { return mems.attach(d) }})
	if err != nil {
		t.Fatal(err)
	}
	var resp nfsrdma.Response
	if err := c.Do(t.Context(), &nfsrdma.Request{Head: nullCall(8)}, &resp); err != nil {
		t.Error(err)
	} else {
		checkNull(t, resp.Head, 8)
	}
	for _, step := range []func() error{c.Close, p.Close, mems.close, pool.Close} {
		if err := step(); err != nil {
			t.Error(err)
		}
	}
}

func TestServesOnTCPAndRDMA(t *testing.T) {
	_, out := start(t, configure(t, "", "--metrics", "127.0.0.1:0"))
	nullOverTCP(t, out.Addr(t, "nfs", "tcp"))
	nullOverRDMA(t, out.Addr(t, "nfs", "iwarp"))

	for _, want := range []string{
		`msg="connection opened" id=\d+ transport=tcp remote=127.0.0.1:\d+ local=127.0.0.1:\d+ calls=128 no_rdma="the client did not ask for it \(mount option rdma\)"`,
		`msg="connection opened" id=\d+ transport=iwarp remote=127.0.0.1:\d+ local=127.0.0.1:\d+ device=iwarp credits=128 inline_out=4096 inline_in=4096 reads=\d+`,
		`msg=serving version=test shares=\[data\]`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no line %q", want)
		}
	}

	admin := "http://" + out.Addr(t, "metrics", "tcp").String()
	for _, want := range []string{
		`fileserver_operation_duration_seconds_count{operation="NULL",protocol="nfs4"} 2`,
		`fileserver_connections_total{protocol="nfs",transport="tcp"} 1`,
		`fileserver_connections_total{protocol="nfs",transport="iwarp"} 1`,
		`fileserver_bytes_total{direction="out",path="tcp"} 28`,
		`fileserver_bytes_total{direction="out",path="inline"}`,
		`fileserver_rpcrdma_calls_total{transport="iwarp"} 1`,
		`fileserver_rdma_registered_bytes{device="iwarp"} 1.6777216e+07`,
		`fileserver_iwarp_terminates_total{direction="in"} 0`,
		`fileserver_buffers_limit_bytes 1.073741824e+09`,
		`fileserver_rpc_replayed_total{outcome="answered"} 0`,
	} {
		if text := fetch(t, admin+"/metrics"); !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if text := fetch(t, admin+"/healthz"); text != "ok\n" {
		t.Errorf("health: %q", text)
	}
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWithoutIWARP(t *testing.T) {
	_, out := start(t, configure(t, "shares: {data: {path: data}}\nnfs: {port: 0}\niwarp: {enabled: false}\n"))
	nullOverTCP(t, out.Addr(t, "nfs", "tcp"))
	if !strings.Contains(out.String(), `no_rdma="no RDMA device that is used has the address 127.0.0.1; iwarp.enabled is false`) || strings.Contains(out.String(), "transport=iwarp") {
		t.Errorf("log:\n%s", out)
	}
}

// TestOneListenerFails takes a port: the other transport is served, and the log has the reason.
func TestOneListenerFails(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cfg := configure(t, "")
	cfg.NFS.RDMAPort = netip.MustParseAddrPort(taken.Addr().String()).Port()
	_, out := start(t, cfg)
	nullOverTCP(t, out.Addr(t, "nfs", "tcp"))
	if !regexp.MustCompile(`no_rdma="there is no listener for it: .*another program listens there`).MatchString(out.String()) ||
		!strings.Contains(out.String(), `level=ERROR msg="a service is missing"`) {
		t.Errorf("log:\n%s", out)
	}
}

func TestNoListenerIsFatal(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cfg := configure(t, "")
	cfg.NFS.Port = netip.MustParseAddrPort(taken.Addr().String()).Port()
	cfg.NFS.RDMAPort = cfg.NFS.Port
	if s, err := Start(cfg, NewLog(io.Discard, cfg.Log), "test"); err == nil {
		t.Errorf("started; stopping: %v", s.Stop(context.Background()))
	} else if !strings.Contains(err.Error(), "another program listens there; stop it, or set nfs.port or nfs.rdma_port") {
		t.Errorf("%v", err)
	}
}

// TestOneAddressMissing: the server listens on the addresses that exist.
func TestOneAddressMissing(t *testing.T) {
	cfg := configure(t, "")
	cfg.Listen = append(cfg.Listen, netip.MustParseAddr("192.0.2.77"))
	_, out := start(t, cfg)
	nullOverTCP(t, out.Addr(t, "nfs", "tcp"))
	if !strings.Contains(out.String(), "192.0.2.77:0") || !strings.Contains(out.String(), "this machine has no such address; see ip addr") {
		t.Errorf("log:\n%s", out)
	}
}

func TestStateDirectoryIsHeld(t *testing.T) {
	cfg := configure(t, "")
	start(t, cfg)
	if _, err := Start(cfg, NewLog(io.Discard, cfg.Log), "test"); err == nil || !strings.Contains(err.Error(), "is in use by another server") {
		t.Errorf("second server: %v", err)
	}
	st, err := os.Stat(cfg.StateDir)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("state directory: mode %v, %v", st.Mode(), err)
	}
}

func TestReload(t *testing.T) {
	cfg := configure(t, "")
	s, out := start(t, cfg)
	other := configure(t, "shares: {data: {path: data, read_only: true}, more: {path: data, allow: [10.0.0.0/8], nfs: {squash: none, security: [sys, none]}}}\nnfs: {lease: 33s}\nlog: {level: debug}\n")
	other.Shares[0].Path = cfg.Shares[0].Path
	was := s.exports.ByPath("/data")
	s.Reload(other)

	data, more := s.exports.ByPath("/data"), s.exports.ByPath("/more")
	if data == nil || more == nil || !data.ReadOnly || data.FS != was.FS || data.ID != was.ID {
		t.Fatalf("exports after the reload: %+v, %+v", data, more)
	}
	if !more.Allows(netip.MustParseAddr("10.1.1.1")) || more.Allows(netip.MustParseAddr("127.0.0.1")) || !more.AllowsFlavor(rpc.AuthNone) || data.AllowsFlavor(rpc.AuthNone) {
		t.Errorf("more: %+v", more)
	}
	if !regexp.MustCompile(`msg="configuration read again" shares="\[data more\]" changed=.*shares.data.read_only.* "needs a restart"=.*nfs.lease`).MatchString(out.String()) {
		t.Errorf("log:\n%s", out)
	}
	if !s.log.Enabled(t.Context(), -4) {
		t.Error("the level is not debug")
	}

	// If a share cannot be opened, everything stays as it is.
	bad := *other
	bad.Shares = append([]config.Share(nil), other.Shares...)
	bad.Shares[1].Path = "/nonexistent"
	s.Reload(&bad)
	if s.exports.ByPath("/more") != more || !strings.Contains(out.String(), `the new configuration is refused, the old one stays" problems="[share more: `) {
		t.Errorf("log:\n%s", out)
	}

	// A share removed is gone.
	less := *other
	less.Shares = other.Shares[:1]
	s.Reload(&less)
	if s.exports.ByPath("/more") != nil || s.exports.ByPath("/data") == nil {
		t.Error("the share is still there, or the other gone")
	}
}

// TestReloadOfAnotherDisk: after a disk was mounted at the path of a share, a reload serves it and opens no other share again.
func TestReloadOfAnotherDisk(t *testing.T) {
	cfg := configure(t, "")
	path := cfg.Shares[0].Path
	s, _ := start(t, cfg)
	names := func() (list []string) {
		t.Helper()
		root, err := s.exports.ByPath("/data").FS.Root(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer root.Release()
		_, err = root.ReadDir(t.Context(), &vfs.Cred{UID: uint32(os.Geteuid())}, 0, 0, false, func(e *vfs.DirEntry) bool {
			list = append(list, e.Name)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	reload := func(want string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(path, want), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		was := s.exports.ByPath("/data").FS
		s.Reload(cfg)
		if got := names(); len(got) != 1 || got[0] != want {
			t.Errorf("the share holds %v after the reload, want [%s]", got, want)
		}
		is := s.exports.ByPath("/data").FS
		if is == was {
			t.Error("the file system is the same")
		}
		if s.Reload(cfg); s.exports.ByPath("/data").FS != is {
			t.Error("opened anew though nothing has changed")
		}
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	reload("in another directory")
	if os.Geteuid() != 0 {
		return // to mount needs the superuser
	}
	if err := unix.Mount("none", path, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
	reload("on another disk")
}

func TestExportIDsDoNotCollideSilently(t *testing.T) {
	// Two names with the same FNV-1a hash.
	a, b := "costarring", "liquid"
	if exportID(a) != exportID(b) {
		t.Fatal("they have not")
	}
	cfg := configure(t, "")
	share := cfg.Shares[0]
	cfg.Shares = nil
	for _, name := range []string{a, b} {
		share.Name = name
		cfg.Shares = append(cfg.Shares, share)
	}
	if _, err := Start(cfg, NewLog(io.Discard, cfg.Log), "test"); err == nil || !strings.Contains(err.Error(), "file handles would be alike") {
		t.Errorf("%v", err)
	}
}

// TestPrivilegedPorts: if the server believes the uid of callers, calls from ordinary ports are refused and counted, and the log says
// what to do.
func TestPrivilegedPorts(t *testing.T) {
	cfg := configure(t, "shares: {data: {path: data, nfs: {squash: none}}, all: {path: data, nfs: {squash: all}}}\nnfs: {port: 0, rdma_port: 0}\n", "--metrics", "127.0.0.1:0")
	s, out := start(t, cfg)
	if s.exports.ByPath("/all").PrivilegedPorts || !s.exports.ByPath("/data").PrivilegedPorts {
		t.Fatal("only who is believed must call from a reserved port")
	}
	nc, err := new(net.Dialer).DialContext(t.Context(), "tcp", out.Addr(t, "nfs", "tcp").String())
	if err != nil {
		t.Fatal(err)
	}
	c := rpcclient.New(nc, rpc.AuthSys, rpc.AppendAuthSys(nil, 0, "", 0, 0, nil))
	defer c.Close()
	for range 3 {
		_, res, err := c.Do(t.Context(), rpcclient.Call{Prog: mount.Program, Vers: mount.Version, Proc: mount.ProcMnt, Args: [][]byte{(&mount.PathArgs{Path: "/data"}).Append(nil)}})
		if d := xdr.NewDecoder(res); err != nil || mount.Status(d.Uint32()) != mount.ErrAcces {
			t.Fatalf("MNT: %x, %v", res, err)
		}
	}
	if n := strings.Count(out.String(), "nfs.privileged_ports: false"); n != 1 {
		t.Errorf("%d lines in the log:\n%s", n, out)
	}
	if text := fetch(t, "http://"+out.Addr(t, "metrics", "tcp").String()+"/metrics"); !strings.Contains(text, "fileserver_nfs_refused_ports_total 3") {
		t.Errorf("metrics:\n%s", text)
	}
}
