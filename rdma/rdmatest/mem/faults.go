package mem

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/rdma"
)

// Point is where a fault strikes.
type Point uint8

// Points.
const (
	AtWork     Point = iota // before a send-queue request is executed
	AtPostSend              // in PostSend
	AtPostRecv              // in PostRecv
	AtRegister              // in RegMR
	AtConnect               // in Connect, before the peer learns of it
	AtAccept                // in Accept
)

// Fault is something that goes wrong on a device. One of the fields below Times
// says what.
type Fault struct {
	At    Point
	Op    []rdma.Opcode // AtWork: requests that count; none: all
	Skip  int           // opportunities to let pass
	Times int           // how often it strikes; 0: once; negative: always

	Err    error         // the call fails with it (all points but AtWork)
	Delay  time.Duration // AtWork: the queue stands still that long
	Status rdma.Status   // AtWork: the request completes with it, which ends the connection
	Drop   bool          // AtWork: the connection is lost
	RNR    bool          // AtWork: a SEND meets no RECV
	BadKey bool          // AtWork: the peer does not know the key of a WRITE or READ
}

// faults are a device's.
type faults struct {
	armed atomic.Int32 // the fast path looks no further
	mu    sync.Mutex
	list  []*Fault
}

// Inject arms a fault. Faults armed first strike first, one at a time.
func (d *Device) Inject(f Fault) {
	if f.Times == 0 {
		f.Times = 1
	}
	d.faults.mu.Lock()
	defer d.faults.mu.Unlock()
	d.faults.list = append(d.faults.list, &f)
	d.faults.armed.Store(int32(len(d.faults.list)))
}

// Heal disarms all faults.
func (d *Device) Heal() {
	d.faults.mu.Lock()
	defer d.faults.mu.Unlock()
	d.faults.list = nil
	d.faults.armed.Store(0)
}

// take is one opportunity; the result, if any, strikes.
func (fs *faults) take(at Point, op rdma.Opcode) *Fault {
	if fs.armed.Load() == 0 {
		return nil
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for i, f := range fs.list {
		if f.At != at || at == AtWork && len(f.Op) > 0 && !slices.Contains(f.Op, op) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				fs.list = slices.Delete(fs.list, i, i+1)
				fs.armed.Store(int32(len(fs.list)))
			}
		}
		hit := *f
		return &hit
	}
	return nil
}

// HoldReads keeps the READs of this device outstanding, as slow peers do, until
// ReleaseReads.
func (d *Device) HoldReads() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holding = true
}

// ReleaseReads executes the READs held back.
func (d *Device) ReleaseReads() {
	d.mu.Lock()
	d.holding = false
	ids := d.connectionsLocked()
	d.mu.Unlock()
	for _, id := range ids {
		id.link.mu.Lock()
		if id.qp != nil {
			id.qp.answerReads()
			id.qp.run()
		}
		id.link.mu.Unlock()
	}
}

// Outstanding is how many READs are held back on the whole device.
func (d *Device) Outstanding() int {
	d.mu.Lock()
	ids := d.connectionsLocked()
	d.mu.Unlock()
	n := 0
	for _, id := range ids {
		id.link.mu.Lock()
		if id.qp != nil {
			n += len(id.qp.reads)
		}
		id.link.mu.Unlock()
	}
	return n
}

// Remove takes the device away: its connections end with [rdma.EventDeviceRemoval],
// and the listeners on it, if it is their last device, with [rdma.ErrDeviceRemoved].
// A device that comes back is another one ([Provider.Add]).
func (d *Device) Remove() {
	d.mu.Lock()
	d.removed = true
	ids := d.connectionsLocked()
	d.mu.Unlock()
	d.provider.fabric.remove(d)
	for _, id := range ids {
		id.link.mu.Lock()
		id.link.endLocked(id, rdma.Event{Type: rdma.EventDeviceRemoval, Err: rdma.ErrDeviceRemoved})
		id.link.mu.Unlock()
	}
}

// connectionsLocked lists the IDs, oldest first.
func (d *Device) connectionsLocked() []*ID {
	ids := make([]*ID, 0, len(d.ids))
	for id := range d.ids {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b *ID) int { return int(a.seq) - int(b.seq) })
	return ids
}
