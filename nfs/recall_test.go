package nfs

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/vfstest/mem"
)

func TestRecall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, root := context.Background(), &vfs.Cred{}
		fs := mem.New(mem.Options{})
		dir, _ := fs.Root(ctx)
		defer dir.Release()
		n, _, err := dir.Create(ctx, root, "f", true, &vfs.SetAttr{Mask: vfs.AttrMode})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Release()
		m := lock.New()
		k := n.Identity()
		looked := 0
		fs.SetHook(func(_ context.Context, op mem.Op, _ vfs.Handle) error {
			if op == mem.OpLookup {
				looked++
			}
			return nil
		})
		if !Recall(ctx, m, k, KeepToChange) || !RecallName(ctx, m, root, dir, "f") || looked != 0 {
			t.Error("somebody caches, or was looked for")
		}
		const all = lock.CacheRead | lock.CacheHandle | lock.CacheWrite
		var c *lock.Cache
		answer := func(d time.Duration) func(from, to lock.Caching, ack bool) {
			return func(_, to lock.Caching, ack bool) {
				if ack {
					go func() { time.Sleep(d); _ = c.Acknowledge(to) }()
				}
			}
		}
		c = m.Cache(k, lock.CacheKey{Client: 1}, all, answer(time.Millisecond))
		if start := time.Now(); !Recall(ctx, m, k, KeepToRead) || time.Since(start) != time.Millisecond {
			t.Error("a client that answers is not waited for")
		}
		if s, _ := c.State(); s != lock.CacheRead|lock.CacheHandle {
			t.Errorf("it caches %d", s)
		}
		if !RecallName(ctx, m, root, dir, "none") || !RecallName(ctx, m, root, dir, "f") || looked != 2 {
			t.Error("recall by name")
		}
		if s, _ := c.State(); s != 0 {
			t.Errorf("it caches %d", s)
		}
		c.Release()
		c = m.Cache(k, lock.CacheKey{Client: 1}, all, answer(time.Hour))
		start := time.Now()
		if Recall(ctx, m, k, KeepToDeny) || time.Since(start) != recallWait {
			t.Error("a client that does not answer")
		}
		done, cancel := context.WithCancel(ctx)
		cancel()
		if Recall(done, m, k, KeepToChange) {
			t.Error("nobody waits for this")
		}
		c.Release()
		time.Sleep(2 * time.Hour)
	})
}
