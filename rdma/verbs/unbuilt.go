//go:build !(linux && cgo && rdmacore)

package verbs

import (
	"context"
	"fmt"
	"net/netip"

	"fileserver/rdma"
)

// Built returns nil where the provider is compiled into this binary, otherwise an
// error that says how to get one that has it. It wraps [rdma.ErrUnsupported].
func Built() error {
	return fmt.Errorf("%w: this binary was built without libibverbs: install libibverbs-dev, librdmacm-dev and a C compiler, and build with make build (go build -tags rdmacore, CGO_ENABLED=1, Linux)", rdma.ErrUnsupported)
}

// Provider implements [rdma.Provider]; in this binary there is none.
type Provider struct{}

// New fails with the error of [Built].
func New(Config) (*Provider, error) { return nil, Built() }

// Close implements io.Closer.
func (*Provider) Close() error { return nil }

// Name implements [rdma.Provider].
func (*Provider) Name() string { return "verbs" }

// Devices implements [rdma.Provider].
func (*Provider) Devices() ([]rdma.Device, error) { return nil, Built() }

// Listen implements [rdma.Provider].
func (*Provider) Listen(context.Context, netip.AddrPort) (rdma.Listener, error) { return nil, Built() }

// Resolve implements [rdma.Provider].
func (*Provider) Resolve(context.Context, netip.AddrPort) (rdma.ID, error) { return nil, Built() }
