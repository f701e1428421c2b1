package lock

import "sync"

type client struct {
	proto uint8
	id    uint64
}

// Limits bound the number of byte-range locks, counted after merging. 0 means no limit.
type Limits struct {
	PerOwner  int // lock-owner, on all files
	PerClient int
}

// SetLimits sets the limits for new locks. Locks that exceed them already are kept.
func (m *Manager) SetLimits(l Limits) { m.limits.Store(&l) }

// Limits returns the current limits.
func (m *Manager) Limits() Limits { return *m.limits.Load() }

// owners counts the locks of each owner on each file. mu is a leaf.
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

// count adds n to the number of locks that o has on the file.
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

// room reports whether o and its client have fewer locks than the limits multiplied by times.
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

// of lists the files on which the client's owners hold locks. If only is not nil, it lists those of that owner.
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

// HeldAnywhere reports whether o holds locks on any file; if so, RELEASE_LOCKOWNER fails (RFC 7530 16.37, RFC 8881
// 8.2.4).
func (m *Manager) HeldAnywhere(o Owner) bool { return len(m.owners.of(o.client(), &o)) > 0 }

// ReleaseOwner releases all locks of o on all files.
func (m *Manager) ReleaseOwner(o Owner) { m.release(m.owners.of(o.client(), &o)) }

// ReleaseClient releases all locks of all owners of a client. The protocol closes the client's opens itself.
func (m *Manager) ReleaseClient(proto uint8, id uint64) {
	m.release(m.owners.of(client{proto, id}, nil))
}

func (m *Manager) release(all []held) {
	for i := range all {
		m.UnlockAll(all[i].key, all[i].owner)
	}
}
