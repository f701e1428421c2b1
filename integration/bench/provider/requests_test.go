package provider_test

import (
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"fileserver/integration/bench/provider"
	"fileserver/rdma/iwarp"
	"fileserver/rdma/rdmatest/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRequests wants all figures for each provider and length of chain.
func TestRequests(t *testing.T) {
	m := mem.New(mem.Config{})
	w, err := iwarp.New(iwarp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	costs, err := provider.Requests(t.Context(), []provider.Subject{
		{Provider: m, Addr: netip.AddrPortFrom(m.Device(0).Addr(), 0)},
		{Provider: w, Addr: netip.MustParseAddrPort("127.0.0.1:0")},
	}, 2, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if len(costs) != 2*len(provider.Chains) {
		t.Fatalf("%d figures", len(costs))
	}
	for i, c := range costs {
		if c.Provider != []string{"mem", "iwarp"}[i/2] || c.Chain != provider.Chains[i%2] {
			t.Errorf("cost %d is of %s, chain of %d", i, c.Provider, c.Chain)
		}
		if len(c.Whole) != 2 || len(c.Post) != 2 || len(c.Mallocs) != 2 {
			t.Fatalf("%+v", c)
		}
		for k := range c.Whole {
			if c.Post[k] <= 0 || c.Whole[k] <= c.Post[k] || c.Mallocs[k] > 0.5 {
				t.Errorf("%+v", c)
			}
		}
	}
}

// TestChains wants lengths refused that do not divide Depth.
func TestChains(t *testing.T) {
	m := mem.New(mem.Config{})
	for _, n := range []int{-1, 0, 3, 128} {
		if _, err := provider.Connect(t.Context(), m, netip.AddrPortFrom(m.Device(0).Addr(), 0), n); err == nil {
			t.Errorf("chains of %d", n)
		}
	}
}
