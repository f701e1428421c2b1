package nfs

import (
	"context"
	"time"

	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// What the clients of other protocols may still cache of a file, by what an operation does with it.
const (
	KeepToRead   = lock.CacheRead | lock.CacheHandle // data they have written is needed
	KeepToDeny   = lock.CacheRead | lock.CacheWrite  // opens that they have closed already are in the way
	KeepToChange = lock.Caching(0)
)

// recallWait is how long a call waits for the clients that cache. Most answer in milliseconds. One that does not has 35
// seconds, for which a call and what it holds must not wait.
const recallWait = 500 * time.Millisecond

// noCache is the key of NFS, whose clients are given nothing to cache.
var noCache = lock.CacheKey{}

// Recall recalls from clients of other protocols what they cache of the file beyond keep. It returns false if they have not
// answered yet: then the NFS client must try again (NFS3ERR_JUKEBOX, NFS4ERR_DELAY). It costs next to nothing if nobody
// caches the file.
func Recall(ctx context.Context, m *lock.Manager, k lock.FileKey, keep lock.Caching) bool {
	rc := m.Recall(k, noCache, keep)
	return rc == nil || Answered(ctx, rc)
}

// Answered waits a little for a Recall, and reports whether it is done.
func Answered(ctx context.Context, rc *lock.Recall) bool {
	t := time.NewTimer(recallWait)
	defer t.Stop()
	select {
	case <-rc.Done():
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// RecallName is [Recall] of what a name in a directory names, which is about to be removed, renamed or replaced. It ignores
// errors of the lookup: the operation itself meets them.
func RecallName(ctx context.Context, m *lock.Manager, c *vfs.Cred, dir vfs.Node, name string) bool {
	if !m.Caching() {
		return true
	}
	n, err := dir.Lookup(ctx, c, name)
	if err != nil {
		return true
	}
	defer n.Release()
	return Recall(ctx, m, n.Identity(), KeepToChange)
}
