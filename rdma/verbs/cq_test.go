//go:build linux && cgo && rdmacore

package verbs

import (
	"errors"
	"testing"

	"fileserver/rdma"
)

// TestStash: what a waiter has taken from the device is polled first, in order, in pieces.
func TestStash(t *testing.T) {
	c, _ := bareCQ(t, bareDevice(bareProvider(t), "d"), 10)
	c.put([]rdma.WC{{ID: 1}, {ID: 2}, {ID: 3}})
	c.put([]rdma.WC{{ID: 4}})
	var got []uint64
	var wc [3]rdma.WC
	for n := c.Poll(wc[:]); n > 0; n = c.Poll(wc[:]) {
		for _, w := range wc[:n] {
			got = append(got, w.ID)
		}
	}
	if len(got) != 4 || got[0] != 1 || got[3] != 4 {
		t.Errorf("polled %v", got)
	}
	if c.head != 0 || len(c.stash) != 0 || cap(c.stash) == 0 {
		t.Error("the stash is not used again")
	}
}

// TestAttach: a completion queue has room for all that its queues can complete, and is busy as long as it has queues.
func TestAttach(t *testing.T) {
	c, _ := bareCQ(t, bareDevice(bareProvider(t), "d"), 10)
	if err := c.attach(1); !errors.Is(err, rdma.ErrDeviceRemoved) {
		t.Errorf("without a device: %v", err)
	}
	existing(&c.h.c)
	if err := c.attach(6); err != nil {
		t.Fatal(err)
	}
	if err := c.attach(5); err == nil {
		t.Error("11 completions fit a queue of 10")
	}
	if err := c.attach(4); err != nil {
		t.Error(err)
	}
	c.detach(6)
	if err := c.Close(); !errors.Is(err, rdma.ErrBusy) {
		t.Errorf("Close with a queue of 4: %v", err)
	}
	c.detach(4)
	c.h = cqHandle{}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := c.attach(1); !errors.Is(err, rdma.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestCreateCQRefusals: what cannot be had is refused before the device is asked.
func TestCreateCQRefusals(t *testing.T) {
	d := bareDevice(bareProvider(t), "d")
	for _, depth := range []int{-1, 0, 67} { // of 100 entries, a third is for sentinels
		if _, err := d.CreateCQ(depth); err == nil {
			t.Errorf("a queue of %d entries", depth)
		}
	}
	d.removed = true
	if _, err := d.CreateCQ(10); !errors.Is(err, rdma.ErrDeviceRemoved) {
		t.Errorf("on a device that is gone: %v", err)
	}
}
