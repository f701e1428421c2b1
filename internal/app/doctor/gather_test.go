package doctor

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fileserver/config"
	"fileserver/rdma/discover"
)

// tree writes files, "path: content" each, below a new root; "path -> target" is a symbolic link.
func tree(t *testing.T, lines ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, l := range lines {
		var err error
		name, content, _ := strings.Cut(l, ": ")
		if link, to, ok := strings.Cut(l, " -> "); ok {
			name = link
			err = errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755), os.Symlink(to, filepath.Join(root, name)))
		} else {
			err = errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755), os.WriteFile(filepath.Join(root, name), []byte(content+"\n"), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	tcpHead = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	tcpFile = tcpHead +
		"   0: 0100007F:4E51 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1001 1 0000000000000000 100 0 0 10 0\n" +
		"   1: 00000000:01BD 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1002 1 0000000000000000 100 0 0 10 0\n" +
		"   2: 0100007F:4E51 0100007F:C000 01 00000000:00000000 00:00000000 00000000     0        0 1003 1 0000000000000000 100 0 0 10 0\n" +
		"   3: nonsense\n"
	tcp6File = tcpHead +
		"   0: 00000000000000000000000000000000:0801 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1004 1 0 100 0 0 10 0\n" +
		"   1: 0000000000000000FFFF00000100007F:1545 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1005 1 0 100 0 0 10 0\n"
)

func TestGather(t *testing.T) {
	cfg := load(t, "", "--listen", "0.0.0.0", "--allow", "192.0.2.0/24")
	root := tree(t,
		"proc/net/tcp: "+tcpFile, "proc/net/tcp6: "+tcp6File,
		"proc/42/fd/3 -> socket:[1001]", "proc/42/fd/4 -> socket:[1001]", "proc/42/fd/5 -> pipe:[1002]", "proc/42/comm: fileserver", "proc/42/exe -> /usr/local/bin/fileserver",
		"proc/42/limits: Limit                     Soft Limit           Hard Limit           Units\nMax locked memory         8388608              8388608              bytes",
		"proc/42/status: Name:\tfileserver\nCapEff:\t0000000000000400",
		"proc/77/fd/9 -> socket:[1002]", "proc/77/comm: smbd", "proc/77/exe -> /usr/sbin/smbd",
		"proc/self/status: CapEff:\t0000000000000000", "proc/fs/nfsd/portlist: rdma 20049\ntcp 2049",
		"proc/sys/net/ipv4/ip_unprivileged_port_start: 80", "proc/sys/kernel/osrelease: 7.2.13",
		"sys/module/rdma_ucm/refcnt: 0", "lib/modules/7.2.13/modules.dep: kernel/drivers/infiniband/hw/mlx5/mlx5_ib.ko.xz: kernel/x.ko",
		"lib/modules/7.2.13/modules.builtin: kernel/drivers/infiniband/core/ib-core.ko",
		"etc/ufw/ufw.conf: # /etc\nENABLED=yes", "run/firewalld/locked: ",
		"sys/class/net/eth0/ifindex: 2", "sys/class/net/eth0/operstate: up", "sys/class/net/eth0/flags: 0x1003", "sys/class/net/eth0/carrier: 1", "sys/class/net/eth0/mtu: 9000",
		"sys/class/infiniband/rxe0 -> ../../devices/rxe0", "sys/devices/rxe0/node_type: 1: CA", "sys/devices/rxe0/parent: eth0",
		"sys/devices/rxe0/ports/1/state: 4: ACTIVE", "sys/devices/rxe0/ports/1/link_layer: Ethernet",
		"sys/class/infiniband_verbs/uverbs0/ibdev: rxe0", "dev/infiniband/rdma_cm: ",
	)
	f := Gather(Source{Config: cfg, Root: root, VerbsUsable: func() error { return errors.New("no library") },
		CM: func() ([]discover.CMListener, error) {
			return []discover.CMListener{{Device: "rxe0", Addr: netip.MustParseAddrPort("0.0.0.0:9999"), PID: 77}, {Device: "rxe0", PID: 77}}, nil
		},
		Links: func() (map[string]discover.Netdev, error) {
			return map[string]discover.Netdev{"eth0": {Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}}}, nil
		}})
	var got []string
	for _, l := range f.Listeners {
		got = append(got, fmt.Sprint(l.Addr, " ", l.Holders))
	}
	if want := []string{"127.0.0.1:20049 [{42 fileserver true}]", "0.0.0.0:445 [{77 smbd false}]", "[::]:2049 []", "127.0.0.1:5445 []"}; !slices.Equal(got, want) {
		t.Errorf("listeners %v", got)
	}
	if f.Memlock != (Memlock{Limit: 8388608, PID: 42}) {
		t.Errorf("memlock %+v", f.Memlock)
	}
	if !f.BindLow || f.LowPort != 80 || !slices.Equal(f.NFSD, []string{"rdma 20049", "tcp 2049"}) || !slices.Equal(f.Firewalls, []string{"firewalld", "ufw"}) {
		t.Errorf("%v %v %q %q", f.BindLow, f.LowPort, f.NFSD, f.Firewalls)
	}
	if !f.CMKnown || len(f.CM) != 2 || !slices.Equal(f.Servers, []Process{{77, "smbd", false}}) {
		t.Errorf("%+v %+v", f.CM, f.Servers)
	}
	m := &f.Modules
	if !m.Loaded["rdma_ucm"] || m.missing("rdma_ucm") || m.missing("mlx5_ib") || m.missing("ib_core") || !m.missing("irdma") {
		t.Errorf("modules %+v", m)
	}
	uverbs := filepath.Join(root, "dev/infiniband/uverbs0")
	if len(f.DeviceFiles) != 2 || !errors.Is(f.DeviceFiles[uverbs], unix.ENOENT) || f.VerbsUsable == nil {
		t.Errorf("device files %v, usable %v", f.DeviceFiles, f.VerbsUsable)
	}
	r := Examine(f)
	if got := codes(r); got != "error:device-files error:memlock error:port-taken info:firewall info:smb-no-users warning:gid-missing warning:rdma-core-missing" {
		t.Errorf("%s", got)
	}
	check(t, r)
}

// TestGatherNothing: a machine that says nothing.
func TestGatherNothing(t *testing.T) {
	bad := &config.Error{Problems: []config.Problem{{Text: "bad"}}}
	f := Gather(Source{Root: tree(t), Err: bad, Links: func() (map[string]discover.Netdev, error) { return nil, nil }})
	if len(f.Problems) != 1 || f.Config != nil || f.LowPort != 1024 || f.Modules.missing("siw") || f.Modules.Available != nil {
		t.Errorf("%+v", f)
	}
	if f := Gather(Source{Root: tree(t), Err: errors.New("odd")}); len(f.Problems) != 1 || f.Problems[0].Text != "odd" {
		t.Errorf("%+v", f.Problems)
	}
	cfg := load(t, "")
	if f := Gather(Source{Root: tree(t), Config: cfg}); !f.Memlock.Unlimited || f.Users != 0 {
		t.Errorf("%+v", f)
	}
}

// TestGatherHere looks at the machine that the test runs on: its own listener.
func TestGatherHere(t *testing.T) {
	l := listen(t, nil)
	port := netip.MustParseAddrPort(l.Addr().String())
	f := Gather(Source{Config: load(t, "")})
	i := slices.IndexFunc(f.Listeners, func(l Listener) bool { return l.Addr == port })
	if i < 0 || len(f.Listeners[i].Holders) != 1 || f.Listeners[i].Holders[0].PID != os.Getpid() || !f.Listeners[i].ours() {
		t.Fatalf("%v is not among %+v", port, f.Listeners)
	}
	check(t, Examine(f))
}

func TestBytes(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 bytes", 8388608: "8 MiB", 1 << 30: "1 GiB", 1000: "1000 bytes", 65537: "64 KiB", 8<<20 + 1: "8192 KiB", 1 << 60: "1048576 TiB"} {
		if got := bytesOf(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
