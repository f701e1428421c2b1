package mem

import (
	"context"
	"crypto/rand"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"fileserver/vfs"
)

// Options limit a file system and choose what it simulates. The zero value is unlimited, and as stable as memory is.
type Options struct {
	MaxBytes    int64  // bytes of data; 0: 1 TiB is reported and nothing enforced
	MaxFiles    int64  // objects; 0: unlimited
	MaxLink     uint32 // names per object; 0: 65000
	MaxFileSize int64  // bytes; 0: 2^63-1
	// Crashable keeps what is needed for [FS.Crash]; writes then allocate.
	Crashable bool
	// UnstableMetadata makes changes of names and attributes volatile until SyncMeta. It implies Crashable.
	UnstableMetadata bool
}

// FS is a file system in memory. It implements [vfs.FS].
type FS struct {
	opt  Options
	fsid [16]byte

	hook   atomic.Pointer[Hook]
	closed atomic.Bool
	used   atomic.Int64 // bytes of data
	count  atomic.Int64 // objects
	nextID atomic.Uint64
	refs   atomic.Int64 // Nodes outstanding
	opens  atomic.Int64 // Files open

	ns   sync.RWMutex
	root *inode

	shards  [64]shard
	files   fileList
	journal journal
}

// shard is a part of the table of handles.
type shard struct {
	mu sync.RWMutex
	m  map[vfs.Handle]*inode
}

// New makes an empty file system whose root belongs to 0:0 and has mode 0755.
func New(opt Options) *FS {
	fs := newFS(opt)
	rand.Read(fs.fsid[:])
	in := fs.newInode(vfs.KindDirectory, now())
	in.attr.Mode, in.attr.Nlink = 0o755, 2
	in.dir = newDir(in)
	fs.root = in
	fs.count.Add(1)
	fs.enter(in)
	return fs
}

func newFS(opt Options) *FS {
	if opt.MaxLink == 0 {
		opt.MaxLink = 65000
	}
	if opt.MaxFileSize == 0 {
		opt.MaxFileSize = math.MaxInt64
	}
	if opt.UnstableMetadata {
		opt.Crashable = true
	}
	fs := &FS{opt: opt}
	fs.nextID.Store(1)
	fs.journal.on = opt.UnstableMetadata
	for i := range fs.shards {
		fs.shards[i].m = make(map[vfs.Handle]*inode)
	}
	return fs
}

// Root implements [vfs.FS].
func (fs *FS) Root(ctx context.Context) (vfs.Node, error) {
	if fs.closed.Load() {
		return nil, vfs.ErrIO
	}
	return fs.root.ref(), nil
}

// Resolve implements [vfs.FS].
func (fs *FS) Resolve(ctx context.Context, h vfs.Handle) (vfs.Node, error) {
	if err := fs.begin(ctx, OpResolve, nil); err != nil {
		return nil, err
	}
	if h.Len() != handleLen {
		return nil, vfs.ErrBadHandle
	}
	s := fs.shardOf(h)
	s.mu.RLock()
	defer s.mu.RUnlock()
	in := s.m[h]
	if in == nil {
		return nil, vfs.ErrStale
	}
	return in.ref(), nil
}

// StatFS implements [vfs.FS].
func (fs *FS) StatFS(ctx context.Context, c *vfs.Cred) (vfs.StatFS, error) {
	if err := fs.begin(ctx, OpStatFS, nil); err != nil {
		return vfs.StatFS{}, err
	}
	total, files := fs.opt.MaxBytes, fs.opt.MaxFiles
	if total == 0 {
		total = 1 << 40
	}
	if files == 0 {
		files = 1 << 32
	}
	free, ffree := uint64(max(0, total-fs.used.Load())), uint64(max(0, files-fs.count.Load()))
	return vfs.StatFS{
		TotalBytes: uint64(total), FreeBytes: free, AvailBytes: free,
		TotalFiles: uint64(files), FreeFiles: ffree, AvailFiles: ffree,
		BlockSize: blockSize,
	}, nil
}

// SyncMeta implements [vfs.FS].
func (fs *FS) SyncMeta(ctx context.Context, nodes ...vfs.Node) error {
	if err := fs.begin(ctx, OpSyncMeta, nil); err != nil {
		return err
	}
	for _, n := range nodes {
		in, ok := n.(*inode)
		if !ok || in.fs != fs {
			return vfs.ErrXDev
		}
		if err := in.syncMeta(); err != nil {
			return err
		}
	}
	return nil
}

func (in *inode) syncMeta() error {
	in.mu.Lock()
	if in.fs.closed.Load() {
		in.mu.Unlock()
		return vfs.ErrIO
	}
	in.undo.syncMeta(in.attr.Size)
	in.mu.Unlock()
	return in.fs.journal.sync(in)
}

// Caps implements [vfs.FS].
func (fs *FS) Caps() vfs.Caps {
	return vfs.Caps{
		FSID: fs.fsid, MaxName: maxName, MaxLink: fs.opt.MaxLink, MaxFileSize: fs.opt.MaxFileSize,
		StableMetadata: !fs.opt.UnstableMetadata, ChangeIsCounter: true, TimeGranularity: 1,
		Holes: true, Clones: true,
	}
}

// Close implements [vfs.FS].
func (fs *FS) Close() error {
	fs.closed.Store(true)
	return nil
}

// Outstanding is how many Nodes were not yet released and how many Files not yet closed: both 0 where nothing leaks.
func (fs *FS) Outstanding() (nodes, files int64) { return fs.refs.Load(), fs.opens.Load() }

// shardOf is where a handle (of any length but 0) is kept.
func (fs *FS) shardOf(h vfs.Handle) *shard {
	var b [vfs.MaxHandle]byte
	return &fs.shards[h.Append(b[:0])[0]%uint8(len(fs.shards))]
}

// enter puts an object into the table of handles.
func (fs *FS) enter(in *inode) {
	s := fs.shardOf(in.handle)
	s.mu.Lock()
	s.m[in.handle] = in
	s.mu.Unlock()
}

// reap forgets an object that nothing refers to any more. It may lose a race against Resolve, which then keeps it.
func (fs *FS) reap(in *inode) {
	s := fs.shardOf(in.handle)
	s.mu.Lock()
	gone := in.refs.Load() == 0 && s.m[in.handle] == in
	if gone {
		delete(s.m, in.handle)
	}
	s.mu.Unlock()
	if gone {
		fs.count.Add(-1)
		in.mu.Lock()
		in.reaped = true
		in.mu.Unlock()
		in.free()
	}
}

// free gives the storage of an object back when it is reaped and no record of the journal needs it.
func (in *inode) free() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.reaped || in.pins.Load() > 0 {
		return
	}
	in.fs.used.Add(-int64(in.attr.Used))
	in.attr.Used = 0
	in.data, in.undo = data{}, undo{}
}

// reserve takes n bytes of the capacity.
func (fs *FS) reserve(n int64) bool {
	if used := fs.used.Add(n); fs.opt.MaxBytes > 0 && used > fs.opt.MaxBytes {
		fs.used.Add(-n)
		return false
	}
	return true
}

func now() vfs.Time { return vfs.TimeOf(time.Now()) }
