package lock

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"fileserver/vfs"
	"fileserver/vfs/notify"
)

// FileKey says which file a claim is on: the file's own identity, so that the claims of all shares and protocols meet.
// Who holds a claim keeps the file referenced meanwhile, as [vfs.Identity] requires.
type FileKey = vfs.Identity

// Owner is who holds byte-range locks. The zero Owner is nobody.
type Owner struct {
	Proto  uint8  // tells the protocols' numbers for clients apart
	Client uint64 // a client, in the protocol's terms
	ID     string // the lock-owner within the client
}

const (
	shardCount  = 64
	denyBuckets = 1024
)

// Manager holds the claims on all files of a server. All methods may be called from any goroutine.
type Manager struct {
	// Changes tells those who watch directories of what is done with files.
	Changes notify.Hub

	seed   maphash.Seed
	limits atomic.Pointer[Limits]
	shards [shardCount]shard
	// deny counts the opens that deny something, by hash of the file: most I/O finds 0 and is done.
	deny [denyBuckets]atomic.Int32
	// cached counts the caches, likewise, and ranges the byte-range locks.
	cached  [denyBuckets]atomic.Int32
	caches  atomic.Int64 // all of them
	ranges  [denyBuckets]atomic.Int32
	owners  owners
	waits   waits
	names   names
	streams streams
}

type shard struct {
	mu    sync.Mutex
	files map[FileKey]*file
}

// file is what is claimed of one file.
type file struct {
	key     FileKey
	opens   int
	claims  int              // opens that have or deny an access
	holders map[CacheKey]int // the same by who has them
	access  [bits]int        // opens that have each access
	deny    [bits]int        // opens that deny each access
	locks   list
	waiters []*Waiter // in the order they came
	caches  []*Cache
}

func (f *file) idle() bool {
	return f.opens == 0 && f.locks.n == 0 && len(f.waiters) == 0 && len(f.caches) == 0
}

// New makes a Manager without claims or limits.
func New() *Manager {
	m := &Manager{seed: maphash.MakeSeed()}
	m.limits.Store(&Limits{})
	for i := range m.shards {
		m.shards[i].files = make(map[FileKey]*file)
	}
	m.owners.clients = make(map[client]*clientLocks)
	m.streams.of = make(map[streamName]FileKey)
	m.names.of = make(map[FileKey]*Names)
	m.waits.of = make(map[Owner]map[*Waiter]struct{})
	return m
}

func (m *Manager) hash(k *FileKey) uint64 { return maphash.Comparable(m.seed, *k) }

// cachers counts the caches of files with this one's hash.
func (m *Manager) cachers(k *FileKey) *atomic.Int32 { return &m.cached[m.hash(k)%denyBuckets] }

// lock returns the shard of a file, locked.
func (m *Manager) lock(k *FileKey) *shard {
	s := &m.shards[m.hash(k)%shardCount]
	s.mu.Lock()
	return s
}

// file is the claims on a file; they are made if there are none. s is locked.
func (s *shard) file(k *FileKey) *file {
	f := s.files[*k]
	if f == nil {
		f = &file{key: *k}
		s.files[*k] = f
	}
	return f
}

// trim forgets a file without claims. s is locked.
func (s *shard) trim(f *file) {
	if f.idle() {
		delete(s.files, f.key)
	}
}

// Counts are the numbers of claims.
type Counts struct {
	Files   int // with claims of any kind
	Opens   int
	Locks   int // ranges, after merging
	Waiters int
	Caches  int
}

// Counts adds up the claims on all files.
func (m *Manager) Counts() Counts {
	var c Counts
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		c.Files += len(s.files)
		for _, f := range s.files {
			c.Opens += f.opens
			c.Locks += f.locks.n
			c.Waiters += len(f.waiters)
			c.Caches += len(f.caches)
		}
		s.mu.Unlock()
	}
	return c
}
