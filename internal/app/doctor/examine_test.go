package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"fileserver/config"
	"fileserver/rdma"
	"fileserver/rdma/discover"
)

// machine is one with an Ethernet interface, as root, with a server of the given configuration about to start.
func machine(t *testing.T, yaml string, args ...string) *Facts {
	t.Helper()
	if len(args) == 0 {
		args = []string{"--listen", "0.0.0.0", "--allow", "192.0.2.0/24"}
	}
	f := &Facts{
		Config: load(t, yaml, args...), Topology: &discover.Topology{}, Memlock: Memlock{Unlimited: true}, LowPort: 1024, BindLow: true,
		Modules: Modules{Loaded: map[string]bool{}}, DeviceFiles: map[string]error{}, Users: 1,
	}
	f.netdev("lo", discover.KindLoopback, "127.0.0.1/8", "::1/128")
	f.netdev("eth0", discover.KindPhysical, "192.0.2.1/24", "fe80::1/64")
	return f
}

func (f *Facts) netdev(name string, kind discover.NetdevKind, addrs ...string) *discover.Netdev {
	n := discover.Netdev{Name: name, Index: len(f.Topology.Netdevs) + 1, Kind: kind, MTU: 9000, OperState: "up", Up: true, Carrier: true}
	for _, a := range addrs {
		n.Addrs = append(n.Addrs, netip.MustParsePrefix(a))
	}
	f.Topology.Netdevs = append(f.Topology.Netdevs, n)
	return &f.Topology.Netdevs[len(f.Topology.Netdevs)-1]
}

// device adds an RDMA device on interfaces, with GIDs of version 2 for their addresses.
func (f *Facts) device(name, driver string, tr rdma.Transport, netdevs ...string) *discover.Port {
	p := discover.Port{Num: 1, Transport: tr, State: discover.PortActive, PhysState: "LinkUp", Rate: 100e9, Netdevs: netdevs}
	if tr == rdma.TransportRoCE {
		p.ActiveMTU = 4096
		for _, n := range netdevs {
			for _, a := range f.Topology.Netdev(n).Addrs {
				p.GIDs = append(p.GIDs, discover.GID{Index: len(p.GIDs), Addr: netip.AddrFrom16(a.Addr().As16()), Type: discover.GIDRoCEv2, Netdev: n})
			}
		}
	}
	f.Topology.Devices = append(f.Topology.Devices, discover.Device{
		Name: name, Driver: driver, Software: driver == "rxe" || driver == "siw", NodeType: "CA", Ports: []discover.Port{p},
		CharDevices: []string{"/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0"},
	})
	return &f.Topology.Devices[len(f.Topology.Devices)-1].Ports[0]
}

// on is the report on one interface, in short: its ways, its reasons, and the findings with their severities.
func on(r *Report, name string) string {
	i := r.Interfaces[slices.IndexFunc(r.Interfaces, func(i Interface) bool { return i.Name == name })]
	short := func(v Verdict) string {
		var words []string
		for _, w := range v.Ways {
			words = append(words, strings.TrimSuffix(w.Transport+" "+w.Device, " ")+fmt.Sprint(w.Ports))
		}
		for _, c := range v.WhyNot {
			words = append(words, "-"+c)
		}
		if v.RDMA != (len(v.Ways) > 0) {
			words = append(words, "contradiction")
		}
		return strings.Join(words, " ")
	}
	return "nfs: " + short(i.NFS) + "; smb: " + short(i.SMB)
}

// codes are the findings that are no praise.
func codes(r *Report) string {
	var list []string
	for _, f := range r.Findings {
		if f.Code != "not-running" && f.Severity != OK {
			list = append(list, string(f.Severity)+":"+f.Code)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

const software = "nfs: iwarp[20049]; smb: iwarp[5445]"

func TestExamine(t *testing.T) {
	roce := "nfs: iwarp[20049] roce mlx5_0/1[20049]; smb: iwarp[5445] roce mlx5_0/1[445]"
	for _, tc := range []struct {
		name, yaml string
		args       []string
		change     func(*Facts)
		eth0       string
		codes      string
	}{
		{name: "software only", eth0: software},
		{name: "this machine only", args: []string{"--log-level=info"}, eth0: "nfs: -not-listened; smb: -not-listened", codes: "info:local-only info:local-only info:not-listened"},
		{name: "no users", change: func(f *Facts) { f.Users = 0 }, eth0: "nfs: iwarp[20049]; smb: -smb-no-users", codes: "info:smb-no-users"},
		{name: "no users, but wanted", yaml: "smb: {enabled: true}", change: func(f *Facts) { f.Users = 0 }, eth0: software, codes: "warning:smb-no-users"},
		{name: "users unreadable", change: func(f *Facts) { f.UsersErr = errors.New("permission denied") }, eth0: "nfs: iwarp[20049]; smb: -smb-no-users", codes: "error:smb-no-users"},
		{name: "services off", yaml: "nfs: {enabled: false}", eth0: "nfs: -nfs-off; smb: iwarp[5445]", codes: "info:nfs-off"},
		{name: "smb off", yaml: "smb: {enabled: false}", eth0: "nfs: iwarp[20049]; smb: -smb-off", codes: "info:smb-off"},
		{name: "no RDMA at all", yaml: "iwarp: {enabled: false}", eth0: "nfs: -iwarp-off -no-device; smb: -iwarp-off -no-device", codes: "info:iwarp-off warning:no-rdma warning:no-rdma"},
		{name: "signing", yaml: "smb: {signing: required}", eth0: software, codes: "warning:smb-signing"},
		{name: "encryption", yaml: "smb: {encryption: desired}", eth0: software, codes: "warning:smb-encryption"},
		{name: "old dialect", yaml: "smb: {max_dialect: 2.1}", eth0: "nfs: iwarp[20049]; smb: -smb-dialect", codes: "warning:smb-dialect"},
		{name: "everybody is believed", yaml: "nfs: {privileged_ports: false}", change: func(f *Facts) { f.Config.Shares[0].NFS.Squash = config.SquashRoot }, eth0: software, codes: "warning:nfs-unprivileged"},
		{name: "nobody is believed", yaml: "nfs: {privileged_ports: false}", change: func(f *Facts) { f.Config.Shares[0].NFS.Squash = config.SquashAll }, eth0: software},
		{name: "other ports", yaml: "nfs: {rdma_port: 4791}\nsmb: {rdma_port: 9999}", eth0: "nfs: iwarp[4791]; smb: iwarp[9999]", codes: "info:nfs-port warning:smb-port"},
		{name: "link down", change: func(f *Facts) { f.Topology.Netdev("eth0").Carrier = false }, eth0: "nfs: -link-down; smb: -link-down", codes: "info:local-only info:local-only warning:link-down"},
		{name: "RoCE", change: func(f *Facts) { f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0") }, eth0: roce},
		{name: "iWARP adapter", change: func(f *Facts) { f.device("irdma0", "ice", rdma.TransportIWARP, "eth0") },
			eth0: "nfs: iwarp[20049] iwarp irdma0/1[20049]; smb: iwarp[5445] iwarp irdma0/1[5445]"},
		{name: "rxe, without iWARP", yaml: "iwarp: {enabled: false}", change: func(f *Facts) { f.device("rxe0", "rxe", rdma.TransportRoCE, "eth0") },
			eth0: "nfs: roce rxe0/1[20049] -iwarp-off; smb: roce rxe0/1[445] -iwarp-off", codes: "info:iwarp-off"},
		{name: "siw beside iWARP", change: func(f *Facts) { f.device("siw0", "siw", rdma.TransportIWARP, "eth0") },
			eth0: "nfs: iwarp[20049] -device-not-used; smb: iwarp[5445] -device-not-used", codes: "info:device-not-used"},
		{name: "siw instead", yaml: "iwarp: {enabled: false}", change: func(f *Facts) { f.device("siw0", "siw", rdma.TransportIWARP, "eth0") },
			eth0: "nfs: iwarp siw0/1[20049] -iwarp-off; smb: iwarp siw0/1[5445] -iwarp-off", codes: "info:iwarp-off"},
		{name: "siw on loopback", yaml: "iwarp: {enabled: false}", change: func(f *Facts) { f.device("siw0", "siw", rdma.TransportIWARP, "lo") },
			eth0: "nfs: -iwarp-off -no-device; smb: -iwarp-off -no-device", codes: "info:device-not-used info:iwarp-off warning:no-rdma warning:no-rdma"},
		{name: "devices off", yaml: "rdma: {devices: off}", change: func(f *Facts) { f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0") },
			eth0: "nfs: iwarp[20049] -device-not-used; smb: iwarp[5445] -device-not-used", codes: "warning:device-not-used"},
		{name: "another device", yaml: "rdma: {devices: [mlx5_1]}", change: func(f *Facts) { f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0") },
			eth0: "nfs: iwarp[20049] -device-not-used; smb: iwarp[5445] -device-not-used", codes: "error:device-unknown warning:device-not-used"},
		{name: "port down", change: func(f *Facts) { f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0").State = discover.PortDown },
			eth0: "nfs: iwarp[20049] -port-down; smb: iwarp[5445] -port-down", codes: "warning:port-down"},
		{name: "not built", change: func(f *Facts) {
			f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0")
			f.VerbsBuilt = errors.New("without cgo")
		}, eth0: "nfs: iwarp[20049] -verbs-not-built; smb: iwarp[5445] -verbs-not-built", codes: "warning:verbs-not-built"},
		{name: "no rdma-core", change: func(f *Facts) {
			f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0")
			f.VerbsUsable = errors.New("libibverbs.so.1 not found")
		}, eth0: "nfs: iwarp[20049] -rdma-core-missing; smb: iwarp[5445] -rdma-core-missing", codes: "warning:rdma-core-missing"},
		{name: "memlock", change: func(f *Facts) {
			f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0")
			f.Memlock = Memlock{Limit: 8 << 20, PID: 7}
		}, eth0: "nfs: iwarp[20049] -memlock; smb: iwarp[5445] -memlock", codes: "error:memlock"},
		{name: "memlock does not matter", change: func(f *Facts) { f.Memlock = Memlock{Limit: 8 << 20} }, eth0: software},
		{name: "device file", change: func(f *Facts) {
			f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0")
			f.DeviceFiles["/dev/infiniband/uverbs0"] = errors.New("permission denied")
		}, eth0: "nfs: iwarp[20049] -device-files; smb: iwarp[5445] -device-files", codes: "error:device-files"},
		{name: "rdma_ucm", change: func(f *Facts) {
			f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0")
			f.Topology.Devices[0].CharDevices = []string{"/dev/infiniband/uverbs0"}
		}, eth0: "nfs: iwarp[20049] -module-missing; smb: iwarp[5445] -module-missing", codes: "warning:module-missing"},
		{name: "adapter without its module", change: func(f *Facts) { f.Topology.Netdev("eth0").Driver = "mlx5_core" },
			eth0: "nfs: iwarp[20049] -module-missing; smb: iwarp[5445] -module-missing", codes: "warning:module-missing"},
		{name: "adapter without RDMA", change: func(f *Facts) { f.Topology.Netdev("eth0").Driver, f.Modules.Loaded["irdma"] = "i40e", true },
			eth0: "nfs: iwarp[20049] -no-device; smb: iwarp[5445] -no-device", codes: "info:no-device"},
		{name: "GIDs of version 1", change: func(f *Facts) {
			for i := range f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0").GIDs {
				f.Topology.Devices[0].Ports[0].GIDs[i].Type = discover.GIDRoCEv1
			}
		}, eth0: "nfs: iwarp[20049] -gid-v1; smb: iwarp[5445] -gid-v1", codes: "warning:gid-v1"},
		{name: "no GID", change: func(f *Facts) { f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0").GIDs = nil },
			eth0: "nfs: iwarp[20049] -gid-missing; smb: iwarp[5445] -gid-missing", codes: "warning:gid-missing"},
		{name: "a GID for one of two addresses", change: func(f *Facts) {
			f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0")
			n := f.Topology.Netdev("eth0")
			n.Addrs = append(n.Addrs, netip.MustParsePrefix("192.0.2.77/24"))
		}, eth0: roce, codes: "warning:gid-missing"},
		{name: "small MTU", change: func(f *Facts) { f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0").ActiveMTU = 1024 }, eth0: roce, codes: "info:mtu"},
		{name: "tiny MTU", change: func(f *Facts) { f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0").ActiveMTU = 0 },
			eth0: "nfs: iwarp[20049] -mtu; smb: iwarp[5445] -mtu", codes: "error:mtu"},
		{name: "no subnet manager", change: func(f *Facts) {
			f.Topology.Netdev("eth0").Kind = discover.KindIPoIB
			f.device("mlx5_0", "mlx5_core", rdma.TransportInfiniBand, "eth0").State = discover.PortInit
		}, eth0: "nfs: iwarp[20049] -no-subnet-manager; smb: iwarp[5445] -no-subnet-manager", codes: "warning:no-subnet-manager"},
		{name: "InfiniBand", change: func(f *Facts) {
			f.Topology.Netdev("eth0").Kind = discover.KindIPoIB
			f.device("mlx5_0", "mlx5_core", rdma.TransportInfiniBand, "eth0")
		}, eth0: "nfs: iwarp[20049] infiniband mlx5_0/1[20049]; smb: iwarp[5445] infiniband mlx5_0/1[445]", codes: "info:ipoib"},
		{name: "EFA", change: func(f *Facts) { f.device("efa_0", "efa", rdma.TransportUnknown, "eth0") },
			eth0: "nfs: iwarp[20049] -device-unfit; smb: iwarp[5445] -device-unfit", codes: "info:device-unfit"},
		{name: "the kernel's NFS server", change: func(f *Facts) {
			f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0")
			f.CM = []discover.CMListener{{Device: "mlx5_0", Addr: netip.MustParseAddrPort("0.0.0.0:20049"), Kernel: "rpcrdma"}, {Device: "mlx5_1", Addr: netip.MustParseAddrPort("0.0.0.0:445"), Kernel: "ksmbd"}}
		}, eth0: "nfs: iwarp[20049] -port-taken; smb: iwarp[5445] roce mlx5_0/1[445]", codes: "error:port-taken"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := machine(t, tc.yaml, tc.args...)
			if tc.change != nil {
				tc.change(f)
			}
			r := Examine(f)
			if got := on(r, "eth0"); got != tc.eth0 {
				t.Errorf("eth0:\n got %s\nwant %s", got, tc.eth0)
			}
			if got := codes(r); got != tc.codes {
				t.Errorf("findings:\n got %s\nwant %s", got, tc.codes)
			}
			check(t, r)
		})
	}
}

// check looks at what every report must have.
func check(t *testing.T, r *Report) {
	t.Helper()
	found := map[string]bool{}
	worst := OK
	for _, f := range r.Findings {
		found[f.Code] = true
		if f.What == "" || f.Code == "" || f.Severity.rank() < 0 {
			t.Errorf("finding %+v", f)
		}
		if f.Severity.rank() >= Warning.rank() && f.Why == "" && len(f.Do) == 0 {
			t.Errorf("%s says neither why nor what to type", f.Code)
		}
		for _, s := range f.Do {
			if s.Command == "" || s.On == "" || strings.Contains(s.Command, "%!") {
				t.Errorf("%s: step %+v", f.Code, s)
			}
		}
		if f.Severity.rank() > worst.rank() {
			worst = f.Severity
		}
	}
	if r.Status != worst || r.Schema != Schema {
		t.Errorf("status %s, the worst finding is %s", r.Status, worst)
	}
	for _, i := range r.Interfaces {
		for _, c := range append(slices.Clone(i.NFS.WhyNot), i.SMB.WhyNot...) {
			if !found[c] && c != "link-down" && c != "no-device" {
				t.Errorf("%s: no finding explains %q", i.Name, c)
			}
		}
		if (i.NFS.RDMA || i.SMB.RDMA) != (len(i.Client) > 0) {
			t.Errorf("%s: %d steps for clients", i.Name, len(i.Client))
		}
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(line)); n > 121 && !strings.HasPrefix(strings.TrimSpace(line), "type:") && !strings.HasPrefix(line, "    mount ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if strings.Contains(b.String(), "%!") {
		t.Error(b.String())
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// TestExamineStacked: what is on top of a device that does not serve it.
func TestExamineStacked(t *testing.T) {
	for _, tc := range []struct {
		kind   discover.NetdevKind
		driver string
		tr     rdma.Transport
		want   string // in the finding
	}{
		{discover.KindBridge, "mlx5_core", rdma.TransportRoCE, "ip addr add ADDRESS/24 dev eth0"},
		{discover.KindBond, "mlx5_core", rdma.TransportRoCE, "802.3ad"},
		{discover.KindBridge, "rxe", rdma.TransportRoCE, "rdma link add rxe_up0 type rxe netdev up0"},
		{discover.KindVLAN, "ice", rdma.TransportIWARP, "ip addr add ADDRESS/24 dev eth0"},
	} {
		f := machine(t, "")
		f.device("dev0", tc.driver, tc.tr, "eth0")
		f.netdev("up0", tc.kind, "192.0.2.200/24").Lower = []string{"eth0"}
		r := Examine(f)
		if got := on(r, "up0"); got != "nfs: iwarp[20049] -stacked; smb: iwarp[5445] -stacked" {
			t.Errorf("%s on %s: %s", tc.kind, tc.driver, got)
		}
		i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == "stacked" })
		if text := fmt.Sprintf("%+v", r.Findings[i]); !strings.Contains(text, tc.want) || r.Findings[i].Interface != "up0" {
			t.Errorf("%s", text)
		}
		check(t, r)
	}
	// A bond whose GIDs are in the table is as good as its parts; these have no addresses.
	f := machine(t, "")
	f.netdev("bond0", discover.KindBond, "192.0.2.200/24").Lower = []string{"eth0"}
	eth := f.Topology.Netdev("eth0")
	eth.Upper, eth.Addrs = []string{"bond0"}, nil
	f.device("mlx5_bond_0", "mlx5_core", rdma.TransportRoCE, "bond0")
	r := Examine(f)
	if got := on(r, "bond0"); got != "nfs: iwarp[20049] roce mlx5_bond_0/1[20049]; smb: iwarp[5445] roce mlx5_bond_0/1[445]" {
		t.Error(got)
	}
	if got := on(r, "eth0"); got != "nfs: -no-address; smb: -no-address" {
		t.Error(got)
	}
	check(t, r)
}

// TestExaminePorts: who has the server's ports.
func TestExaminePorts(t *testing.T) {
	at := func(s string, holders ...Process) Listener { return Listener{netip.MustParseAddrPort(s), holders} }
	us := Process{PID: 42, Name: "fileserver", Ours: true}
	for _, tc := range []struct {
		name   string
		listen []Listener
		change func(*Facts)
		eth0   string
		codes  string
		text   string
	}{
		{name: "we run", listen: []Listener{at("0.0.0.0:2049", us), at("0.0.0.0:20049", us), at("0.0.0.0:445", us), at("0.0.0.0:5445", us)}, eth0: software, text: "a server runs: process 42"},
		{name: "we run without SMB Direct", listen: []Listener{at("0.0.0.0:2049", us), at("0.0.0.0:20049", us)}, eth0: "nfs: iwarp[20049]; smb: -not-listening", codes: "warning:not-listening", text: "kill 42"},
		{name: "Samba", listen: []Listener{at("[::]:445", Process{9, "smbd", false})}, eth0: software, codes: "error:port-taken", text: "systemctl stop smbd"},
		{name: "another", listen: []Listener{at("127.0.0.1:20049", Process{9, "nc", false})}, eth0: "nfs: -port-taken; smb: iwarp[5445]", codes: "error:port-taken", text: "nc (process 9)"},
		{name: "on an address of no concern", listen: []Listener{at("[::1]:20049", Process{9, "nc", false})}, eth0: software},
		{name: "knfsd", listen: []Listener{at("0.0.0.0:2049")}, change: func(f *Facts) { f.NFSD = []string{"tcp 2049"} }, eth0: software, codes: "error:port-taken", text: "systemctl stop nfs-server"},
		{name: "ksmbd", listen: []Listener{at("0.0.0.0:5445")}, change: func(f *Facts) { f.Modules.Loaded["ksmbd"] = true }, eth0: "nfs: iwarp[20049]; smb: -port-taken", codes: "error:port-taken", text: "ksmbd.control"},
		{name: "somebody", listen: []Listener{at("0.0.0.0:5445")}, change: func(f *Facts) { f.UID = 1000 }, eth0: "nfs: iwarp[20049]; smb: -port-taken", codes: "error:port-taken", text: "root can see"},
		{name: "we run with a device", listen: []Listener{at("0.0.0.0:2049", us), at("0.0.0.0:20049", us), at("0.0.0.0:445", us), at("0.0.0.0:5445", us)}, change: func(f *Facts) {
			f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0")
			f.CMKnown, f.Servers = true, []Process{us}
			f.CM = []discover.CMListener{{Device: "mlx5_0", Addr: netip.MustParseAddrPort("192.0.2.1:20049"), PID: 42}}
		}, eth0: "nfs: iwarp[20049] roce mlx5_0/1[20049]; smb: iwarp[5445] -not-listening", codes: "warning:not-listening", text: "port 445 of mlx5_0"},
		{name: "ksmbd has the device's", change: func(f *Facts) {
			f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0")
			f.CM = []discover.CMListener{{Device: "mlx5_0", Addr: netip.MustParseAddrPort("[::]:445"), Kernel: "ksmbd"}}
		}, eth0: "nfs: iwarp[20049] roce mlx5_0/1[20049]; smb: iwarp[5445] -port-taken", codes: "error:port-taken", text: "ksmbd.control"},
		{name: "no privilege on the device", change: func(f *Facts) {
			f.device("mlx5_0", "mlx5_core", rdma.TransportRoCE, "eth0")
			f.BindLow, f.LowPort = false, 0
		}, eth0: "nfs: iwarp[20049] roce mlx5_0/1[20049]; smb: iwarp[5445] -port-privilege", codes: "error:port-privilege", text: "AmbientCapabilities"},
		{name: "no privilege", change: func(f *Facts) { f.BindLow, f.UID = false, 1000 }, eth0: software, codes: "error:port-privilege", text: "setcap"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := machine(t, "")
			f.Listeners = tc.listen
			if tc.change != nil {
				tc.change(f)
			}
			r := Examine(f)
			// Without a device there is nothing else.
			got := strings.ReplaceAll(on(r, "eth0"), " -no-device", "")
			found := strings.TrimSpace(strings.ReplaceAll(codes(r), "warning:no-rdma", ""))
			if got != tc.eth0 || found != tc.codes {
				t.Errorf("got %s, %s\nwant %s, %s", got, found, tc.eth0, tc.codes)
			}
			if text := fmt.Sprintf("%+v", r.Findings); !strings.Contains(text, tc.text) {
				t.Errorf("%q is not in %s", tc.text, text)
			}
			check(t, r)
		})
	}
}

func TestExamineConfiguration(t *testing.T) {
	f := &Facts{Topology: &discover.Topology{}, TopologyErr: errors.New("netlink"), Problems: []config.Problem{{Source: "fileserver.yaml:2", Key: "nfs.prot", Text: "unknown key"}}}
	f.netdev("eth0", discover.KindPhysical, "192.0.2.1/24")
	r := Examine(f)
	if got := codes(r); got != "error:config warning:no-addresses" || r.Status.ExitStatus() != 2 || len(r.Interfaces) != 1 {
		t.Errorf("%s, %+v", got, r)
	}
	f = machine(t, "")
	f.Config.Shares, f.Config.File = nil, ""
	f.Problems = []config.Problem{{Key: "shares", Text: "there are none: …"}}
	f.Config.Warnings = []string{"listening on 0.0.0.0, but …"}
	f.Firewalls = []string{"firewalld", "ufw"}
	r = Examine(f)
	if got := codes(r); got != "info:firewall info:no-shares warning:config-warning" || r.Status.ExitStatus() != 1 {
		t.Errorf("%s", got)
	}
	if text := fmt.Sprintf("%+v", r.Findings); !strings.Contains(text, "--add-port=20049/tcp") || !strings.Contains(text, "ufw allow 5445/tcp") {
		t.Error(text)
	}
	statuses := fmt.Sprint(OK.ExitStatus(), Info.ExitStatus(), Warning.ExitStatus(), Error.ExitStatus())
	if statuses != "0 0 1 2" {
		t.Error(statuses)
	}
}
