package lock

import "sync"

type client struct {
	proto uint8
	id    uint64
}

// owners knows on which files who holds locks.
type owners struct {
	mu      sync.Mutex
	clients map[client]map[Owner]map[FileKey]struct{}
}

func (o *Owner) client() client { return client{o.Proto, o.Client} }

func (os *owners) add(o *Owner, k *FileKey) {
	os.mu.Lock()
	defer os.mu.Unlock()
	c := os.clients[o.client()]
	if c == nil {
		c = make(map[Owner]map[FileKey]struct{})
		os.clients[o.client()] = c
	}
	if c[*o] == nil {
		c[*o] = make(map[FileKey]struct{})
	}
	c[*o][*k] = struct{}{}
}

func (os *owners) remove(o *Owner, k *FileKey) {
	os.mu.Lock()
	defer os.mu.Unlock()
	c := os.clients[o.client()]
	delete(c[*o], *k)
	if len(c[*o]) == 0 {
		delete(c, *o)
	}
	if len(c) == 0 {
		delete(os.clients, o.client())
	}
}

type held struct {
	owner Owner
	key   FileKey
}

// of lists where owners of the client hold locks, with only those of that one.
func (os *owners) of(c client, only *Owner) (all []held) {
	os.mu.Lock()
	defer os.mu.Unlock()
	for o, keys := range os.clients[c] {
		if only != nil && o != *only {
			continue
		}
		for k := range keys {
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
		call(m.unlock(&all[i].key, &all[i].owner, Range{0, ToEnd}))
	}
}
