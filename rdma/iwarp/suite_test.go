package iwarp

import (
	"testing"

	"fileserver/rdma/rdmatest"
)

// TestSuite runs the providers' common suite in the modes that differ on the wire.
func TestSuite(t *testing.T) {
	for _, name := range []string{"default", "mtu crc"} {
		t.Run(name, func(t *testing.T) {
			open := func(i int) rdmatest.Open {
				return func(t *testing.T) rdmatest.Harness {
					return rdmatest.Harness{Provider: testProvider(t, modes[name][i]), Listen: loopback}
				}
			}
			rdmatest.RunPair(t, open(1), open(0))
		})
	}
}
