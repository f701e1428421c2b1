package v4_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"
)

// TestConcurrency has clients do everything at once, to themselves and to each other; what is
// left over at the end, and the race detector, are the check.
func TestConcurrency(t *testing.T) {
	r := newRig(t)
	var wg sync.WaitGroup
	for i := range 3 {
		c := r.client(fmt.Sprint("client", i), uint32(i))
		for slot := range 4 {
			w := *c // with a slot of its own
			w.slot = uint32(slot)
			w.seq[0] = 0
			if slot == 0 {
				w.seq = c.seq
			}
			wg.Go(func() { w.work(slot) })
		}
	}
	ticks, stop := context.WithCancel(bg)
	wg2 := sync.WaitGroup{}
	wg2.Go(func() {
		for ticks.Err() == nil {
			r.server.Tick()
		}
	})
	wg.Wait()
	stop()
	wg2.Wait()
}

// work opens, locks, reads, writes, unlocks and closes a file that all others do too.
func (c *client) work(n int) {
	for i := range 50 {
		name := fmt.Sprint("f", i%3)
		res, st := c.try(putroot(), lookup("data"), how{access: 3, owner: fmt.Sprint("o", n%2), create: &nfsv4.Createhow4_UNCHECKED4{Createattrs: mode(0o666)}}.open(name), getfh())
		if st != nfsv4.NFS4_OK {
			c.t.Errorf("OPEN: %v", st)
			return
		}
		s, fh := opened(res[2]).Stateid, handle(res[3])
		s.Seqid = 0
		if res, st := c.try(putfh(fh), lockNew(s, fmt.Sprint("l", n), nfsv4.WRITE_LT, uint64(n), 2, false)); st == nfsv4.NFS4_OK {
			l := locked(res[1])
			l.Seqid = 0
			c.try(putfh(fh), read(l, 0, 100), lockU(l, 0, 100), freeStateID(l))
		}
		c.try(putfh(fh), write(s, uint64(n), "data"), read(s, 0, 100))
		switch i % 5 {
		case 0:
			c.try(putfh(fh), closeOp(s)) // another may have, with the same owner
		case 1:
			c.try(putroot(), lookup("data"), remove(name))
		case 2:
			c.try(putfh(fh), downgrade(s, 1, 0))
		case 3:
			c.try(putroot(), lookup("data"), savefh(), rename(name, "f0"))
		default:
			c.try(putroot(), lookup("data"), readdir(0, 4096, 1, 4, 20))
		}
	}
}

// TestRun: leases and the grace period end by themselves.
func TestRun(t *testing.T) {
	open, restart := stored(t)
	r := newRig(t, open)
	a := r.client("a", 1)
	a.ok(putroot(), lookup("data"), rw("f"))
	synctest.Test(t, func(t *testing.T) {
		clock, base := time.Now(), r.now.Add(time.Hour)
		r.cfg.Now = func() time.Time { return base.Add(time.Since(clock)) }
		restart(r)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { r.server.Run(ctx) })
		time.Sleep(89 * time.Second)
		if !r.server.Clients().Grace().Active() {
			t.Error("grace is over too early")
		}
		time.Sleep(2 * time.Second)
		if r.server.Clients().Grace().Active() {
			t.Error("grace does not end")
		}
		cancel()
		wg.Wait()
	})
}
