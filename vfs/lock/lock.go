package lock

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"fileserver/vfs"
	"fileserver/vfs/notify"
)

// FileKey identifies the file of a claim. It is the file's own identity, so that all shares and protocols use the
// same key. The holder of a claim keeps the file referenced meanwhile, as [vfs.Identity] requires.
type FileKey = vfs.Identity

// Owner identifies the holder of byte-range locks. The zero Owner is nobody.
type Owner struct {
	Proto  uint8  // the protocol, because each numbers its own clients
	Client uint64 // the client, as the protocol numbers it
	ID     string // the lock-owner within the client
}

const (
	shardCount  = 64
	denyBuckets = 1024
)

// Manager holds the claims on all files of a server. All methods may be called from any goroutine.
type Manager struct {
	// Changes reports what is done with files to the watches of directories.
	Changes notify.Hub

	seed   maphash.Seed
	limits atomic.Pointer[Limits]
	shards [shardCount]shard
	// deny counts the opens that deny something, by hash of the file. Most I/O finds 0 here and needs no further
	// check.
	deny [denyBuckets]atomic.Int32
	// cached counts the caches in the same way, and ranges the byte-range locks.
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

// file holds the claims on one file.
type file struct {
	key     FileKey
	opens   int
	claims  int              // opens that have or deny an access
	holders map[CacheKey]int // the same opens, by holder
	access  [bits]int        // opens that have each access
	deny    [bits]int        // opens that deny each access
	locks   list
	waiters []*Waiter // in the order they came
	caches  []*Cache
}

func (f *file) idle() bool {
	return f.opens == 0 && f.locks.n == 0 && len(f.waiters) == 0 && len(f.caches) == 0
}

// New returns a Manager without claims or limits.
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

// cachers returns the count of caches of the files with the same hash as k.
func (m *Manager) cachers(k *FileKey) *atomic.Int32 { return &m.cached[m.hash(k)%denyBuckets] }

// lock locks the shard of a file and returns it.
func (m *Manager) lock(k *FileKey) *shard {
	s := &m.shards[m.hash(k)%shardCount]
	s.mu.Lock()
	return s
}

// file returns the claims on a file; it creates the file's entry if there is none. The caller holds s.mu.
func (s *shard) file(k *FileKey) *file {
	f := s.files[*k]
	if f == nil {
		f = &file{key: *k}
		s.files[*k] = f
	}
	return f
}

// trim removes the file's entry if it has no claims. The caller holds s.mu.
func (s *shard) trim(f *file) {
	if f.idle() {
		delete(s.files, f.key)
	}
}

// Counts are the numbers of claims.
type Counts struct {
	Files   int // files with claims of any kind
	Opens   int
	Locks   int // ranges, after merging
	Waiters int
	Caches  int
}

// Counts returns the numbers of claims on all files.
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
