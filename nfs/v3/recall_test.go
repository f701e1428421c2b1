package v3_test

import (
	"testing"
	"testing/synctest"

	v3 "fileserver/nfs/v3"
	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/vfstest/mem"
)

// cacher is a client of another protocol that may cache a file, and is told to come down.
type cacher struct {
	cache    *lock.Cache
	answers  bool
	recalled int
}

// key is the arbiter's name of the file f.
func (w *world) key() lock.FileKey {
	w.t.Helper()
	root, err := w.fs.Root(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer root.Release()
	n, err := root.Lookup(w.t.Context(), &vfs.Cred{}, "f")
	if err != nil {
		w.t.Fatal(err)
	}
	defer n.Release()
	return n.Identity()
}

func (w *world) cacher() *cacher {
	w.t.Helper()
	k := w.key()
	c := &cacher{answers: true}
	c.cache = w.locks.Cache(k, lock.CacheKey{Client: 1}, lock.CacheRead|lock.CacheHandle|lock.CacheWrite, func(_, to lock.Caching, ack bool) {
		c.recalled++
		if c.answers && ack {
			go c.cache.Acknowledge(to)
		}
	})
	if c.cache == nil {
		w.t.Fatal("nothing can be cached")
	}
	return c
}

// Every procedure that reads, changes or removes a file waits for those who cache it, but not for long.
func TestRecall(t *testing.T) {
	const all = lock.CacheRead | lock.CacheHandle
	for name, test := range map[string]struct {
		do   func(w *world, h v3.Handle) v3.Status
		left lock.Caching
	}{
		"READ":    {func(w *world, h v3.Handle) v3.Status { return w.read(h, 0, 10).Status }, all},
		"WRITE":   {func(w *world, h v3.Handle) v3.Status { return w.write(h, 0, []byte("x"), v3.FileSync).Status }, 0},
		"SETATTR": {func(w *world, h v3.Handle) v3.Status { return w.setattr(h, v3.SetAttr{Size: p(uint64(1))}, nil).Status }, 0},
		"CREATE": {func(w *world, h v3.Handle) v3.Status {
			return w.create(w.root, "f", v3.Unchecked, v3.SetAttr{Size: p(uint64(0))}, [8]byte{}).Status
		}, 0},
		"REMOVE":   {func(w *world, h v3.Handle) v3.Status { return w.remove(v3.ProcRemove, w.root, "f").Status }, 0},
		"RENAME":   {func(w *world, h v3.Handle) v3.Status { return w.rename(w.root, "f", w.root, "g").Status }, 0},
		"replaced": {func(w *world, h v3.Handle) v3.Status { return w.rename(w.root, "other", w.root, "f").Status }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, mem.Options{}, nil)
				h := w.file("f")
				w.file("other")
				c := w.cacher()
				c.answers = false
				w.want(test.do(w, h), v3.ErrJukebox)
				w.want(test.do(w, h), v3.ErrJukebox)
				if c.recalled != 1 {
					t.Errorf("told %d times", c.recalled)
				}
				c.cache.Release()
				c = w.cacher()
				w.want(test.do(w, h), v3.OK)
				if s, _ := c.cache.State(); s != test.left || c.recalled != 1 {
					t.Errorf("it caches %d, and has been told %d times", s, c.recalled)
				}
				c.cache.Release()
			})
		})
	}
}

// An open that is only kept by a cache does not deny for ever.
func TestRecallDeny(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	h := w.file("f")
	k := w.key()
	open, err := w.locks.Open(k, lock.CacheKey{}, lock.Read, lock.Read|lock.Write)
	if err != nil {
		t.Fatal(err)
	}
	var c *lock.Cache
	c = w.locks.Cache(k, lock.CacheKey{Client: 1}, lock.CacheRead|lock.CacheHandle, func(_, to lock.Caching, _ bool) {
		go func() {
			open.Close()
			_ = c.Acknowledge(to)
		}()
	})
	w.want(w.read(h, 0, 1).Status, v3.OK)
	c.Release()
}
