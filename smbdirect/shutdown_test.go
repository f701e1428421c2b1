package smbdirect

import (
	"context"
	"testing"
	"time"

	"fileserver/smb/transport"
)

// TestShutdownLeavesVanishedPeers: a READ that its peer never answers does not use up the time to stop.
func TestShutdownLeavesVanishedPeers(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		p := e.newPeer()
		p.negotiate(usual())
		server := e.srv.Conns()[0]
		e.p.Device(0).HoldReads()
		dst, _ := e.pools["server"].TryGet(1000)
		done := make(doneChan, 1)
		from := []transport.Descriptor{{Offset: 1, Token: 1, Length: 1000}}
		if err := server.Read(dst, 0, 1000, from, done); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.srv.Shutdown(ctx); err != nil || time.Since(began) > 2*drainPatience {
			t.Errorf("shutdown after %v: %v", time.Since(began), err)
		}
		if err := <-done; err == nil {
			t.Error("the READ succeeded")
		}
		<-p.closed
		dst.Release()
	})
}
