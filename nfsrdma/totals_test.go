package nfsrdma

import (
	"testing"
	"time"

	"fileserver/rdma/rdmatest/mem"
)

// TestTotalsOutliveConnections counts what two connections did, one of them ended.
func TestTotalsOutliveConnections(t *testing.T) {
	e := newEnv(t, options{caps: mem.IWARPCaps(), server: Config{Credits: 8}})
	first, second := e.dial(ClientConfig{}), e.dial(ClientConfig{})
	echo(t, e, first, 100000)
	echo(t, e, second, 1000)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); e.srv.Totals().Conns != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the closed connection is still counted as open")
		}
	}
	got := e.srv.Totals()
	if got.Accepted != 2 || got.Credits != 8 || got.Calls != 2 || got.ReadBytes != 101000 || got.WriteBytes != 101000 || got.Sends != 2 {
		t.Errorf("%+v", got)
	}
}
