package v4_test

import (
	"testing"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/nfs/xdr"
	"fileserver/vfs/lock"
)

// An extended attribute that an SMB client has open as a stream is changed and removed only as that client shares it, and after it
// has given up what it caches.
func TestXattrOfOpenStream(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 1000)
	c.ok(putroot(), lookup("data"), rw("f"), closeOp(current))
	const attr = "DosStream.s:$DATA"
	set := func(want nfsv4.Nfsstat4) {
		t.Helper()
		if st, _ := c.xattr(73, xdr.AppendString(xdr.AppendString(xdr.AppendUint32(nil, 0), attr), "v")); st != want {
			t.Errorf("SETXATTR: %v, want %v", st, want)
		}
	}
	remove := func(want nfsv4.Nfsstat4) {
		t.Helper()
		if st, _ := c.xattr(75, xdr.AppendString(nil, attr)); st != want {
			t.Errorf("REMOVEXATTR: %v, want %v", st, want)
		}
	}
	set(0)
	file, stream := r.key("f"), lock.FileKey{Object: 77}
	smb := lock.CacheKey{Proto: 3, Client: 1}
	locks := r.cfg.Locks
	locks.NameStream(file, attr, stream)
	o, err := locks.Open(stream, smb, lock.Read, lock.Write)
	if err != nil {
		t.Fatal(err)
	}
	set(nfsv4.NFS4ERR_ACCESS)
	remove(nfsv4.NFS4ERR_ACCESS)
	if err := o.Change(lock.Read, lock.Delete); err != nil {
		t.Fatal(err)
	}
	set(0)
	remove(nfsv4.NFS4ERR_ACCESS)
	if err := o.Change(lock.Read, 0); err != nil {
		t.Fatal(err)
	}
	told := 0
	var cache *lock.Cache
	cache = locks.Cache(stream, smb, lock.CacheRead|lock.CacheWrite|lock.CacheHandle, func(_, to lock.Caching, ack bool) {
		if told++; ack {
			go cache.Acknowledge(to)
		}
	})
	set(0)
	if left, _ := cache.State(); left != 0 || told != 1 {
		t.Errorf("it caches %d, and has been told %d times", left, told)
	}
	remove(0)
	cache.Release()
	o.Close()
	locks.ForgetStream(file, attr, stream)
	set(0)
}
