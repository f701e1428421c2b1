package mem_test

import (
	"testing"

	"go.uber.org/goleak"

	"fileserver/rdma"
	"fileserver/rdma/rdmatest"
	"fileserver/rdma/rdmatest/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	for name, caps := range map[string]rdma.Caps{"default": mem.DefaultCaps(), "iwarp": mem.IWARPCaps(), "adapter": mem.AdapterCaps(), "roce": mem.RoCECaps()} {
		t.Run(name, func(t *testing.T) {
			rdmatest.Run(t, func(*testing.T) rdmatest.Harness {
				return rdmatest.Harness{Provider: mem.New(mem.Config{
					Devices:         []mem.DeviceConfig{{Caps: caps}},
					LateEstablished: name == "iwarp",
				})}
			})
		})
	}
}
