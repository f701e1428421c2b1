package v4_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/nfs/v4/state"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// key is the arbiter's name of a file of /data.
func (r *rig) key(name string) lock.FileKey {
	r.t.Helper()
	root, err := r.data.Root(bg)
	if err != nil {
		r.t.Fatal(err)
	}
	defer root.Release()
	n, err := root.Lookup(bg, &vfs.Cred{}, name)
	if err != nil {
		r.t.Fatal(err)
	}
	defer n.Release()
	return n.Identity()
}

// Every operation that reads, changes, locks or removes a file waits for those who cache it, but not for long.
func TestRecall(t *testing.T) {
	const rwh = lock.CacheRead | lock.CacheWrite | lock.CacheHandle
	in := []arg{putroot(), lookup("data")}
	ops := map[string]struct {
		do   func(c *client, fh []byte, s sid) []arg
		left lock.Caching
	}{
		"OPEN": {func(*client, []byte, sid) []arg { return append(in, how{access: 1, owner: "new"}.open("f")) }, lock.CacheRead | lock.CacheHandle},
		"OPEN to lose": {func(*client, []byte, sid) []arg {
			return append(in, how{access: 2, owner: "new", create: &nfsv4.Createhow4_UNCHECKED4{Createattrs: size(0)}}.open("f"))
		}, 0},
		"READ":    {func(_ *client, fh []byte, s sid) []arg { return []arg{putfh(fh), read(s, 0, 1)} }, lock.CacheRead | lock.CacheHandle},
		"bypass":  {func(_ *client, fh []byte, s sid) []arg { return []arg{putfh(fh), read(bypass, 0, 1)} }, lock.CacheRead | lock.CacheHandle},
		"WRITE":   {func(_ *client, fh []byte, s sid) []arg { return []arg{putfh(fh), write(s, 0, "x")} }, 0},
		"SETATTR": {func(_ *client, fh []byte, s sid) []arg { return []arg{putfh(fh), setattr(s, size(1))} }, 0},
		"LOCK": {func(_ *client, fh []byte, s sid) []arg {
			return []arg{putfh(fh), lockNew(s, "l", nfsv4.READ_LT, 0, 1, false)}
		}, 0},
		"REMOVE":   {func(*client, []byte, sid) []arg { return append(in, remove("f")) }, 0},
		"RENAME":   {func(*client, []byte, sid) []arg { return append(in, savefh(), rename("f", "g")) }, 0},
		"replaced": {func(*client, []byte, sid) []arg { return append(in, savefh(), rename("h", "f")) }, 0},
	}
	for name, test := range ops {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				c := r.client("a", 0)
				c.ok(append(in, rw("h"), closeOp(current))...)
				s, fh := c.open("o", 3, 0)
				key := r.key("f")
				// To cache everything it is the client that has the file open already, or the only one.
				holder := lock.CacheKey{Proto: state.ProtoNFS4, Client: c.id}
				if strings.HasPrefix(name, "OPEN") {
					c.ok(putfh(fh), closeOp(s))
					holder = lock.CacheKey{Client: 1}
				}
				told, answers := 0, false
				var cache *lock.Cache
				recall := func(_, to lock.Caching, ack bool) {
					if told++; answers && ack {
						go cache.Acknowledge(to)
					}
				}
				cache = r.cfg.Locks.Cache(key, holder, rwh, recall)
				if cache == nil {
					t.Fatal("nothing can be cached")
				}
				c.want(nfsv4.NFS4ERR_DELAY, test.do(c, fh, s)...)
				c.want(nfsv4.NFS4ERR_DELAY, test.do(c, fh, s)...)
				if told != 1 {
					t.Errorf("told %d times", told)
				}
				cache.Release()
				told, answers = 0, true
				cache = r.cfg.Locks.Cache(key, holder, rwh, recall)
				c.ok(test.do(c, fh, s)...)
				if left, _ := cache.State(); left != test.left || told != 1 {
					t.Errorf("it caches %d, and has been told %d times", left, told)
				}
				cache.Release()
			})
		})
	}
}
