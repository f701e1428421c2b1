package lock

import "sync"

type client struct {
	proto uint8
	id    uint64
}

// Limits bound the byte-range locks that are held, after merging. 0 is no limit.
type Limits struct {
	PerOwner  int // lock-owner, on all files
	PerClient int
}

// SetLimits has limits hold from now on. What is held beyond them stays.
func (m *Manager) SetLimits(l Limits) { m.limits.Store(&l) }

// Limits are those that hold.
func (m *Manager) Limits() Limits { return *m.limits.Load() }

// owners knows on which files who holds how many locks. mu is a leaf.
type owners struct {
	mu      sync.Mutex
	clients map[client]*clientLocks
}

type clientLocks struct {
	n      int
	owners map[Owner]*ownerLocks
}

type ownerLocks struct {
	n     int
	files map[FileKey]int
}

func (o *Owner) client() client { return client{o.Proto, o.Client} }

// count notes that o has n locks more on the file.
func (os *owners) count(o *Owner, k *FileKey, n int) {
	os.mu.Lock()
	defer os.mu.Unlock()
	c := os.clients[o.client()]
	if c == nil {
		c = &clientLocks{owners: make(map[Owner]*ownerLocks)}
		os.clients[o.client()] = c
	}
	l := c.owners[*o]
	if l == nil {
		l = &ownerLocks{files: make(map[FileKey]int)}
		c.owners[*o] = l
	}
	c.n += n
	l.n += n
	if l.files[*k] += n; l.files[*k] == 0 {
		delete(l.files, *k)
	}
	if l.n == 0 {
		delete(c.owners, *o)
	}
	if c.n == 0 {
		delete(os.clients, o.client())
	}
}

// room reports whether o has fewer locks than times its limits.
func (os *owners) room(o *Owner, limits *Limits, times int) bool {
	if *limits == (Limits{}) {
		return true
	}
	os.mu.Lock()
	defer os.mu.Unlock()
	c := os.clients[o.client()]
	if c == nil {
		return true
	}
	if limits.PerClient > 0 && c.n >= times*limits.PerClient {
		return false
	}
	l := c.owners[*o]
	return l == nil || limits.PerOwner == 0 || l.n < times*limits.PerOwner
}

type held struct {
	owner Owner
	key   FileKey
}

// of lists where owners of the client hold locks, with only those of that one.
func (os *owners) of(c client, only *Owner) (all []held) {
	os.mu.Lock()
	defer os.mu.Unlock()
	l := os.clients[c]
	if l == nil {
		return nil
	}
	for o, locks := range l.owners {
		if only != nil && o != *only {
			continue
		}
		for k := range locks.files {
			all = append(all, held{o, k})
		}
	}
	return all
}

// HeldAnywhere reports whether o holds locks of any file (RFC 8881 8.2.4, RFC 7530 16.37: RELEASE_LOCKOWNER fails then).
func (m *Manager) HeldAnywhere(o Owner) bool { return len(m.owners.of(o.client(), &o)) > 0 }

// ReleaseOwner takes all locks of all files from o.
func (m *Manager) ReleaseOwner(o Owner) { m.release(m.owners.of(o.client(), &o)) }

// ReleaseClient takes all locks of all files from all owners of a client. Its opens are the protocol's to close.
func (m *Manager) ReleaseClient(proto uint8, id uint64) {
	m.release(m.owners.of(client{proto, id}, nil))
}

func (m *Manager) release(all []held) {
	for i := range all {
		m.UnlockAll(all[i].key, all[i].owner)
	}
}
