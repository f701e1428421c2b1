package smb

import (
	"sync"
	"sync/atomic"
	"testing"

	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
	"fileserver/vfs/lock"
)

// otherProto is a protocol beside SMB that caches and locks.
const otherProto = 77

// cachedElsewhere has a file of c's be cached by a client of another protocol, so that who writes it has to wait for that.
func (c *fileClient) cachedElsewhere(id wire.FileID) (lock.FileKey, *lock.Cache) {
	o := c.open(id)
	key := o.key
	o.release()
	k := lock.CacheKey{Proto: otherProto, Client: 1}
	cache := c.e.srv.cfg.Locks.Cache(key, k, lock.CacheRead|lock.CacheHandle, func(_, _ lock.Caching, _ bool) {})
	if cache == nil {
		c.T.Fatal("the arbiter grants nothing")
	}
	return key, cache
}

// waits sends a WRITE that has to wait, and returns its interim response.
func (c *fileClient) waits(id wire.FileID, data string) smbtest.Response {
	c.T.Helper()
	q := wire.WriteRequest{FileID: id, Data: []byte(data)}
	c.Send(c.Message(smbtest.Request{Command: wire.CmdWrite, Body: q.Append}))
	r := c.Recv()[0]
	if r.Status != wire.StatusPending {
		c.T.Fatalf("WRITE: %v", r.Status)
	}
	return r
}

// What has changed while a WRITE waited for others to give up caching is heeded: it must not write through a lock that was taken, nor
// to a file that its client has closed, and so claims nothing of.
func TestWriteAfterWait(t *testing.T) {
	for name, x := range map[string]struct {
		meanwhile func(c *fileClient, id wire.FileID, key lock.FileKey)
		want      wire.Status
	}{
		"nothing": {func(*fileClient, wire.FileID, lock.FileKey) {}, wire.StatusSuccess},
		"a lock": {func(c *fileClient, _ wire.FileID, key lock.FileKey) {
			if c.e.srv.cfg.Locks.Lock(key, lock.Owner{Proto: otherProto, Client: 2}, lock.Range{Len: 1}, true) != nil {
				c.T.Error("the lock is refused")
			}
		}, wire.StatusFileLockConflict},
		"closed": {func(c *fileClient, id wire.FileID, _ lock.FileKey) { c.closeFile(id) }, wire.StatusFileClosed},
		"tree disconnected": {func(c *fileClient, _ wire.FileID, _ lock.FileKey) {
			c.Call(wire.CmdTreeDisconnect, smbtest.Empty, wire.StatusSuccess)
		}, wire.StatusNetworkNameDeleted},
		"logged off": {func(c *fileClient, _ wire.FileID, _ lock.FileKey) {
			c.Call(wire.CmdLogoff, smbtest.Empty, wire.StatusSuccess)
		}, wire.StatusUserSessionDeleted},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFileEnv(t, nil)
			c, other := e.files(wire.Dialect311), e.files(wire.Dialect311)
			id := c.must(want("f", wire.FileCreate)).FileID
			reader := other.must(want("f", wire.FileOpen)).FileID
			key, cache := c.cachedElsewhere(id)
			p := c.waits(id, "new")
			x.meanwhile(c, id, key)
			cache.Release()
			if r := c.Recv()[0]; r.MessageID != p.MessageID || r.AsyncID != p.AsyncID || r.Status != x.want {
				t.Errorf("%v (message %d), want %v", r.Status, r.MessageID, x.want)
			}
			e.srv.cfg.Locks.UnlockAll(key, lock.Owner{Proto: otherProto, Client: 2})
			if size := other.all(reader).Standard.EndOfFile; (size > 0) != (x.want == wire.StatusSuccess) {
				t.Errorf("the file has %d bytes", size)
			}
			other.closeFile(reader)
		})
	}
}

// A WRITE that waits can be cancelled, and then it does not write.
func TestWriteCancelled(t *testing.T) {
	e := newFileEnv(t, nil)
	c := e.files(wire.Dialect311)
	id := c.must(want("f", wire.FileCreate)).FileID
	_, cache := c.cachedElsewhere(id)
	p := c.waits(id, "new")
	c.cancel(p)
	cache.Release()
	if size := c.all(id).Standard.EndOfFile; size != 0 {
		t.Errorf("the file has %d bytes", size)
	}
	c.closeFile(id)
}

// Many end a wait at the same time, before and after it is parked: the request goes on once.
func TestWaitEndsOnce(t *testing.T) {
	w := withWaiting(t)
	e := newEnv(t, nil)
	c := e.mounted(wire.Dialect311)
	for i := range 300 {
		c.Send(c.Message(pending(nil)))
		<-w.st // run has not returned yet
		w.mu.Lock()
		one := w.waits[i]
		w.mu.Unlock()
		var wg sync.WaitGroup
		var firsts atomic.Int32
		for _, st := range []wire.Status{wire.StatusSuccess, wire.StatusCancelled, wire.StatusRangeNotLocked} {
			wg.Go(func() {
				if one.end(st) {
					firsts.Add(1)
				}
			})
		}
		wg.Wait()
		if n := firsts.Load(); n != 1 {
			t.Fatalf("the wait has ended %d times", n)
		}
		if p := c.Recv()[0]; p.Status != wire.StatusPending {
			t.Fatalf("%+v", p.Header)
		}
		if r := c.Recv()[0]; r.Command != wire.CmdChangeNotify || r.AsyncID == 0 || r.Status != one.status {
			t.Fatalf("%+v, want %v", r.Header, one.status)
		}
	}
	c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess) // and no other response
}
