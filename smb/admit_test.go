package smb

import (
	"net/netip"
	"testing"
)

// TestServerAdmits: one share that admits an address is enough, and the share of named pipes admits nobody.
func TestServerAdmits(t *testing.T) {
	e := newEnv(t, nil)
	allow := func(p string) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix(p)} }
	check := func(addr string, want bool) {
		t.Helper()
		if e.srv.Admits(netip.MustParseAddr(addr)) != want {
			t.Errorf("%s: %v", addr, !want)
		}
	}
	e.srv.SetShares(nil)
	check("192.0.2.1", false)
	e.srv.SetShares([]*Share{{Name: "one", FS: e.fs, Allow: allow("192.0.2.0/24")}, {Name: "two", FS: e.fs, Allow: allow("2001:db8::/32")}})
	check("192.0.2.1", true)
	check("::ffff:192.0.2.1", true)
	check("2001:db8::1", true)
	check("192.0.3.1", false)
}
