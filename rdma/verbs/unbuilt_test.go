//go:build !(linux && cgo && rdmacore)

package verbs

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"fileserver/rdma"
)

var _ rdma.Provider = (*Provider)(nil)

// TestUnbuilt: a binary without the provider says so, and how to get one that has it.
func TestUnbuilt(t *testing.T) {
	p, err := New(Config{})
	if p != nil {
		t.Error("a provider")
	}
	_, devices := p.Devices()
	_, listen := p.Listen(t.Context(), netip.AddrPort{})
	_, resolve := p.Resolve(t.Context(), netip.AddrPort{})
	for name, err := range map[string]error{"New": err, "Built": Built(), "Devices": devices, "Listen": listen, "Resolve": resolve} {
		if !errors.Is(err, rdma.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, word := range []string{"libibverbs-dev", "librdmacm-dev", "make build", "rdmacore"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s does not speak of %s: %v", name, word, err)
			}
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
