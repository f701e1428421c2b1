//go:build linux && cgo && rdmacore

package verbs

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/rdma"
)

// TestLastEvent: what ends a connection is the last event of its ID, whatever comes after it.
func TestLastEvent(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*id)
		want rdma.EventType
		is   error
	}{
		"the peer disconnects":   {func(id *id) { id.handle(cmEvent{kind: cmDisconnected}) }, rdma.EventDisconnected, nil},
		"Disconnect":             {func(id *id) { _ = id.Disconnect() }, rdma.EventDisconnected, nil},
		"the peer gives up":      {func(id *id) { id.handle(cmEvent{kind: cmConnectError, status: -5}) }, rdma.EventFatal, nil},
		"an address has changed": {func(id *id) { id.handle(cmEvent{kind: cmAddrChange}) }, rdma.EventDeviceRemoval, rdma.ErrDeviceRemoved},
		"the queue pair failed":  {func(id *id) { id.async(asyncQPFatal) }, rdma.EventFatal, nil},
		"the device has gone":    {func(id *id) { id.dev.removed = true; id.async(asyncQPAccessErr) }, rdma.EventDeviceRemoval, rdma.ErrDeviceRemoved},
		"a request has failed": {func(id *id) {
			id.failed(&rdma.WC{Opcode: rdma.OpRead, Status: rdma.StatusRemAccessErr})
		}, rdma.EventFatal, &rdma.CompletionError{Opcode: rdma.OpRead, Status: rdma.StatusRemAccessErr}},
	} {
		t.Run(name, func(t *testing.T) {
			p := bareProvider(t)
			id := bareID(p, bareDevice(p, "d"), false)
			c.end(id)
			id.handle(cmEvent{kind: cmDisconnected})
			id.async(asyncQPReqErr)
			id.established()
			evs := id.rest()
			if len(evs) != 1 || evs[0].Type != c.want {
				t.Fatalf("events %+v, want one of type %v", evs, c.want)
			}
			var completion *rdma.CompletionError
			if want, ok := c.is.(*rdma.CompletionError); ok {
				if !errors.As(evs[0].Err, &completion) || *completion != *want {
					t.Errorf("%v, want %v", evs[0].Err, want)
				}
			} else if !errors.Is(evs[0].Err, c.is) && c.is != nil || c.want == rdma.EventFatal && evs[0].Err == nil {
				t.Errorf("%v, want %v", evs[0].Err, c.is)
			}
			<-id.dead
		})
	}
}

// TestReasonOfFlush: when requests are flushed the connection manager has a moment to say why; after that the connection just ended.
func TestReasonOfFlush(t *testing.T) {
	for name, reason := range map[string]bool{"with a reason": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := bareProvider(t)
				id := bareID(p, bareDevice(p, "d"), false)
				start := time.Now()
				id.failed(&rdma.WC{Status: rdma.StatusWRFlushErr})
				want := reasonTime
				if reason {
					time.Sleep(time.Millisecond)
					id.dev.mu.Lock()
					id.dev.removed = true
					id.dev.mu.Unlock()
					id.cmFinished()
					want = time.Millisecond
				}
				evs := id.rest()
				if took := time.Since(start); took != want {
					t.Errorf("the event came after %v, want %v", took, want)
				}
				if removed := evs[0].Type == rdma.EventDeviceRemoval; len(evs) != 1 || removed != reason {
					t.Errorf("events %+v", evs)
				}
				p.wg.Wait()
			})
		})
	}
}

// TestEstablished: it is told once, and only to the accepting side, whose Connect returns.
func TestEstablished(t *testing.T) {
	p := bareProvider(t)
	for _, active := range []bool{false, true} {
		id := bareID(p, bareDevice(p, "d"), active)
		for range 3 {
			id.handle(cmEvent{kind: cmEstablished})
		}
		_ = id.Disconnect()
		evs := id.rest()
		if n := len(evs); active && n != 1 || !active && (n != 2 || evs[0].Type != rdma.EventEstablished) {
			t.Errorf("active %v: events %+v", active, evs)
		}
		if active && len(id.steps) != 3 {
			t.Errorf("Connect was told %d times", len(id.steps))
		}
		<-id.dead
	}
}

// TestCloseOfID: Close gives everything back, once, whatever has been called before.
func TestCloseOfID(t *testing.T) {
	for name, before := range map[string]func(*id){
		"nothing": func(*id) {}, "Disconnect": func(id *id) { _ = id.Disconnect() }, "Close": func(id *id) { _ = id.Close() },
		"a connection": func(id *id) { id.state = idUp }, "a removal": func(id *id) { id.dev.removed = true },
	} {
		p := bareProvider(t)
		id := bareID(p, bareDevice(p, "d"), true)
		before(id)
		if err := id.Close(); err != nil {
			t.Error(name, err)
		}
		if len(id.rest()) != 1 || len(p.targets) != 0 || len(id.dev.ids) != 0 {
			t.Errorf("%s: %d targets and %d IDs are left", name, len(p.targets), len(id.dev.ids))
		}
	}
}

// TestRemovalOfDevice: every connection is told, objects can be given back, and the device is not taken for there any more.
func TestRemovalOfDevice(t *testing.T) {
	p := bareProvider(t)
	d := bareDevice(p, "d")
	d.closed = true // there is no context to be closed
	p.devices[d.ctx.key] = d
	ids := []*id{bareID(p, d, true), bareID(p, d, false)}
	ids[0].handle(cmEvent{kind: cmDeviceRemoval})
	d.startRemoval()
	for _, id := range ids {
		if evs := id.rest(); len(evs) != 1 || evs[0].Type != rdma.EventDeviceRemoval || !errors.Is(evs[0].Err, rdma.ErrDeviceRemoved) {
			t.Errorf("events %+v", evs)
		}
	}
	p.wg.Wait()
	if len(p.devices) != 0 || len(p.going) != 1 || len(p.targets) != 0 {
		t.Errorf("%d devices, %d going, %d targets", len(p.devices), len(p.going), len(p.targets))
	}
	for _, id := range ids {
		if err := id.Close(); err != nil {
			t.Error(err)
		}
	}
}
