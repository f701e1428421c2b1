package server

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"fileserver/config"
)

// dialFrom connects from an address of the loopback interface.
func dialFrom(t *testing.T, from string, to netip.AddrPort) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// isClosed reports whether the server closes a connection within wait, without sending anything.
func isClosed(t *testing.T, c net.Conn, wait time.Duration) bool {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(wait))
	n, err := c.Read(make([]byte, 1))
	if n > 0 {
		t.Fatal("the server sent something")
	}
	ne, ok := err.(net.Error)
	return !ok || !ne.Timeout()
}

// A connection counts as open if it stays open for soon. The server may take patience to close one.
const (
	soon     = 100 * time.Millisecond
	patience = 20 * time.Second
)

// TestStrangersAreClosed: on every protocol and transport, connections from addresses that no share admits are closed at accept,
// counted and logged. A reload ends the connections of addresses that are no longer admitted.
func TestStrangersAreClosed(t *testing.T) {
	cfg := configure(t, smbYAML+"allow: [127.0.0.1/32, 127.0.0.3/32]\nmetrics: {listen: '127.0.0.1:0'}\n")
	addUser(t, cfg)
	s, out := start(t, cfg)
	metrics := "http://" + out.Addr(t, "metrics", "tcp").String() + "/metrics"
	ways := []string{"nfs tcp", "smb tcp"}
	admitted := map[string][2]net.Conn{}
	for _, way := range ways {
		proto, transport, _ := strings.Cut(way, " ")
		at := out.Addr(t, proto, transport)
		if !isClosed(t, dialFrom(t, "127.0.0.2", at), patience) {
			t.Errorf("%s: a stranger's connection stays", way)
		}
		admitted[way] = [2]net.Conn{dialFrom(t, "127.0.0.1", at), dialFrom(t, "127.0.0.3", at)}
		for _, c := range admitted[way] {
			if isClosed(t, c, soon) {
				t.Errorf("%s: an admitted client's connection is closed", way)
			}
		}
		want := `fileserver_connections_refused_total{protocol="` + proto + `",reason="not_admitted",transport="tcp"} 1`
		if m := fetch(t, metrics); !strings.Contains(m, want) {
			t.Errorf("%s: no %s in\n%s", way, want, m)
		}
	}
	if !strings.Contains(out.String(), `reason="no share admits the address"`) {
		t.Error("nothing is logged")
	}
	next := *cfg
	next.Shares = slices.Clone(cfg.Shares)
	for i := range next.Shares {
		next.Shares[i].Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.3/32"), netip.MustParsePrefix("127.0.0.2/32")}
	}
	s.Reload(&next)
	for way, c := range admitted {
		if !isClosed(t, c[0], patience) {
			t.Errorf("%s: after the reload a client that is not admitted any more stays", way)
		}
		if isClosed(t, c[1], soon) {
			t.Errorf("%s: after the reload an admitted client is closed", way)
		}
	}
	if isClosed(t, dialFrom(t, "127.0.0.2", out.Addr(t, "nfs", "tcp")), soon) {
		t.Error("after the reload a client that is admitted now is closed")
	}
}

// TestConnectionLimitsConfigured: the limits of the configuration reach every server.
func TestConnectionLimitsConfigured(t *testing.T) {
	cfg := configure(t, smbYAML+"limits: {connections: 7, connections_per_address: 3, half_open_timeout: 5s, idle_timeout: 6s, locks_per_owner: 8, locks_per_client: 9}\n")
	addUser(t, cfg)
	s, _ := start(t, cfg)
	if l := s.locks.Limits(); l.PerOwner != 8 || l.PerClient != 9 {
		t.Errorf("%+v", l)
	}
	l := s.connLimits("x", "y", nil)
	if l.Total != 7 || l.PerClient != 3 || l.HalfOpen != 5*time.Second || l.Idle != 6*time.Second {
		t.Errorf("%+v", l)
	}
	if n := len(s.connections.refused); n != 5 {
		t.Errorf("%d servers have limits", n-1)
	}
	var defaults config.Limits
	if defaults = configure(t, "").Limits; defaults.ConnectionsPerAddress != 256 || defaults.IdleTimeout != 10*time.Minute {
		t.Errorf("%+v", defaults)
	}
}
