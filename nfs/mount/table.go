package mount

import (
	"net/netip"
	"slices"
	"sync"
)

// maxMounts is how many mounts are remembered; the oldest are forgotten first. The
// table is for DUMP alone: clients come and go without telling (RFC 1813 appendix I).
const maxMounts = 1024

// table is the list of mounts, the oldest first.
type table struct {
	mu     sync.Mutex // a leaf
	mounts []mounted
}

type mounted struct {
	client netip.Addr
	path   string
}

func (t *table) add(client netip.Addr, path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := mounted{client, path}
	if slices.Contains(t.mounts, m) {
		return
	}
	if len(t.mounts) == maxMounts {
		t.mounts = slices.Delete(t.mounts, 0, 1)
	}
	t.mounts = append(t.mounts, m)
}

func (t *table) remove(client netip.Addr, path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mounts = slices.DeleteFunc(t.mounts, func(m mounted) bool { return m == mounted{client, path} })
}

func (t *table) removeAll(client netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mounts = slices.DeleteFunc(t.mounts, func(m mounted) bool { return m.client == client })
}

func (t *table) list() []mounted {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.mounts)
}
