package nfs

import (
	"net/netip"
	"slices"
	"testing"

	"fileserver/nfs/rpc"
	"fileserver/vfs"
)

func TestAllows(t *testing.T) {
	e := &Export{Clients: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("203.0.113.7/32")}}
	for addr, want := range map[string]bool{
		"192.0.2.1": true, "192.0.3.1": false, "::ffff:192.0.2.1": true, "2001:db8::1": true, "2001:db9::1": false,
		"203.0.113.7": true, "203.0.113.8": false, "127.0.0.1": false, "::1": false,
	} {
		if e.Allows(netip.MustParseAddr(addr)) != want {
			t.Errorf("%s: %v", addr, !want)
		}
	}
	if e.Allows(netip.Addr{}) {
		t.Error("no address")
	}
	if (&Export{}).Allows(netip.MustParseAddr("127.0.0.1")) {
		t.Error("an export without clients is open")
	}
}

func TestAdmits(t *testing.T) {
	e := &Export{Clients: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, Flavors: []rpc.Flavor{rpc.AuthSys}}
	in, out := &rpc.Conn{RemoteAddr: netip.MustParseAddrPort("192.0.2.1:1")}, &rpc.Conn{RemoteAddr: netip.MustParseAddrPort("192.0.3.1:1")}
	for _, tt := range []struct {
		c    *rpc.Call
		want bool
	}{{&rpc.Call{Conn: in, Flavor: rpc.AuthSys}, true}, {&rpc.Call{Conn: in, Flavor: rpc.AuthNone}, false}, {&rpc.Call{Conn: out, Flavor: rpc.AuthSys}, false}} {
		if e.Admits(tt.c) != tt.want {
			t.Errorf("%+v", tt.c)
		}
	}
}

// TestExportsAdmit: one export that allows an address is enough, and a reload counts at once.
func TestExportsAdmit(t *testing.T) {
	one := &Export{ID: 1, Path: "/one", Clients: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
	two := &Export{ID: 2, Path: "/two", Clients: []netip.Prefix{netip.MustParsePrefix("2001:db8::/32")}}
	var x Exports
	check := func(addr string, want bool) {
		t.Helper()
		if x.Admits(netip.MustParseAddr(addr)) != want {
			t.Errorf("%s: %v", addr, !want)
		}
	}
	check("192.0.2.1", false)
	x.Replace([]*Export{one, two})
	check("192.0.2.1", true)
	check("::ffff:192.0.2.1", true)
	check("2001:db8::1", true)
	check("192.0.3.1", false)
	if x.Admits(netip.Addr{}) {
		t.Error("no address is admitted")
	}
	x.Replace([]*Export{two})
	check("192.0.2.1", false)
	check("2001:db8::1", true)
}

// TestCred: the credential stays as stated, whatever the exports it passes through make of it.
func TestCred(t *testing.T) {
	none := &Export{Squash: SquashNone, AnonUID: 7, AnonGID: 8}
	root := &Export{Squash: SquashRoot, AnonUID: 7, AnonGID: 8}
	all := &Export{Squash: SquashAll, AnonUID: 7, AnonGID: 8}
	sixteen := make([]uint32, 16)
	for i := range sixteen {
		sixteen[i] = uint32(100 + i)
	}
	for _, tt := range []struct {
		e      *Export
		flavor rpc.Flavor
		in     vfs.Cred
		want   vfs.Cred
	}{
		{none, rpc.AuthSys, vfs.Cred{Groups: []uint32{0, 5}}, vfs.Cred{Groups: []uint32{0, 5}}},
		{none, rpc.AuthNone, vfs.Cred{UID: nobody, GID: nobody}, vfs.Cred{UID: 7, GID: 8}},
		{root, rpc.AuthSys, vfs.Cred{Groups: []uint32{0, 5}}, vfs.Cred{UID: 7, GID: 8, Groups: []uint32{8, 5}}},
		{root, rpc.AuthSys, vfs.Cred{UID: 1, GID: 2, Groups: []uint32{8, 0, 5}}, vfs.Cred{UID: 1, GID: 2, Groups: []uint32{8, 5}}},
		{root, rpc.AuthSys, vfs.Cred{UID: 1, Groups: sixteen}, vfs.Cred{UID: 1, GID: 8, Groups: sixteen}},
		{all, rpc.AuthSys, vfs.Cred{UID: 1, GID: 2, Groups: []uint32{3}}, vfs.Cred{UID: 7, GID: 8}},
	} {
		c := &rpc.Call{Flavor: tt.flavor, Cred: *tt.in.Clone()}
		for range 2 {
			got := tt.e.Cred(c)
			if got.UID != tt.want.UID || got.GID != tt.want.GID || !slices.Equal(got.Groups, tt.want.Groups) {
				t.Errorf("%+v became %+v, want %+v", tt.in, got, tt.want)
			}
			if c.Cred.UID != tt.in.UID || c.Cred.GID != tt.in.GID || !slices.Equal(c.Cred.Groups, tt.in.Groups) {
				t.Errorf("the original became %+v", c.Cred)
			}
		}
		if n := testing.AllocsPerRun(100, func() { tt.e.Cred(c) }); n > 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

const nobody = 65534

func TestExports(t *testing.T) {
	var x Exports
	if x.ByID(1) != nil || x.ByPath("/a") != nil || x.List() != nil {
		t.Fatal("exports from nowhere")
	}
	a, b := &Export{ID: 1, Path: "/a"}, &Export{ID: 2, Path: "/b"}
	x.Replace([]*Export{b, a})
	if l := x.List(); len(l) != 2 || l[0] != a || x.ByID(2) != b || x.ByPath("/a") != a || x.ByPath("/") != nil {
		t.Fatalf("%v", l)
	}
	x.Replace([]*Export{b})
	if x.ByID(1) != nil || x.ByPath("/a") != nil || x.ByID(2) != b {
		t.Fatal("the old set goes on")
	}
}

func TestHandle(t *testing.T) {
	e := &Export{ID: 0x01020304}
	for n := 1; n <= vfs.MaxHandle; n++ {
		b := make([]byte, n)
		b[n-1] = byte(n)
		h, _ := vfs.HandleFrom(b)
		wire := AppendHandle(nil, e, h)
		if len(wire) != 4+n || len(wire) > MaxHandle || MaxHandle > 64 {
			t.Fatalf("%d bytes", len(wire))
		}
		id, got, ok := ParseHandle(wire)
		if !ok || id != e.ID || got != h {
			t.Fatalf("%x: %v %x", wire, ok, id)
		}
	}
	for _, n := range []int{0, 1, 4, MaxHandle + 1, 128} {
		if _, _, ok := ParseHandle(make([]byte, n)); ok {
			t.Errorf("a handle of %d bytes", n)
		}
	}
}

func FuzzParseHandle(f *testing.F) {
	f.Add([]byte("0123456789"))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, h, ok := ParseHandle(b)
		if ok && string(AppendHandle(nil, &Export{ID: id}, h)) != string(b) {
			t.Fatalf("%x", b)
		}
	})
}

// TestPorts: who can be any user of the client is not believed; on RDMA the port says nothing, except on iWARP from this machine.
func TestPorts(t *testing.T) {
	both := []rpc.Flavor{rpc.AuthSys, rpc.AuthNone}
	strict := &Export{PrivilegedPorts: true, Flavors: []rpc.Flavor{rpc.AuthSys}}
	anonymous := &Export{PrivilegedPorts: true, Flavors: both}
	call := func(transport, from string, f rpc.Flavor) *rpc.Call {
		return &rpc.Call{Flavor: f, Conn: &rpc.Conn{
			Transport: transport, RemoteAddr: netip.MustParseAddrPort(from), LocalAddr: netip.MustParseAddrPort("192.0.2.9:2049"),
		}}
	}
	for _, tt := range []struct {
		e    *Export
		c    *rpc.Call
		want bool
	}{
		{&Export{}, call("tcp", "192.0.2.1:5000", rpc.AuthSys), true},
		{strict, call("tcp", "192.0.2.1:1023", rpc.AuthSys), true},
		{strict, call("tcp", "192.0.2.1:1024", rpc.AuthSys), false},
		{strict, call("tcp", "192.0.2.1:5000", rpc.AuthNone), false},
		{anonymous, call("tcp", "192.0.2.1:5000", rpc.AuthNone), true},
		{anonymous, call("tcp", "192.0.2.1:5000", rpc.AuthSys), false},
		{strict, call("iwarp", "192.0.2.1:5000", rpc.AuthSys), true},
		{strict, call("iwarp", "192.0.2.9:5000", rpc.AuthSys), false},
		{strict, call("iwarp", "192.0.2.9:700", rpc.AuthSys), true},
		{strict, call("iwarp", "[::ffff:127.0.0.1]:5000", rpc.AuthSys), false},
		{strict, call("roce", "192.0.2.9:5000", rpc.AuthSys), true},
	} {
		if got := tt.e.AllowsPort(tt.c); got != tt.want {
			t.Errorf("%v over %s from %v: %v", tt.c.Flavor, tt.c.Conn.Transport, tt.c.Conn.RemoteAddr, got)
		}
	}
	var x Exports
	told := 0
	x.RefusedPort = func(*Export, *rpc.Call) { told++ }
	lan, wan := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	x.Replace([]*Export{{ID: 1, Path: "/a", Clients: lan, PrivilegedPorts: true}, {ID: 2, Path: "/b", Clients: wan[:0]}})
	user := call("tcp", "192.0.2.1:5000", rpc.AuthSys)
	if !x.PrivilegedPorts() || x.Welcomes(user) || told != 1 || x.Welcomes(call("tcp", "198.51.100.1:9", rpc.AuthSys)) || told != 1 {
		t.Errorf("a user's program, and a stranger: told %d", told)
	}
	x.Replace([]*Export{{ID: 1, Path: "/a", Clients: lan, PrivilegedPorts: true}, {ID: 2, Path: "/b", Clients: wan}})
	if !x.Welcomes(user) || told != 1 {
		t.Error("an export that believes nobody does not welcome a user's program")
	}
}
