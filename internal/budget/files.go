package budget

import (
	"net/netip"
	"sync"
)

// perFile is how many descriptors an open file uses: one for the object and one for its data.
const perFile = 2

// DescriptorPlan divides the descriptors of the process. The rest is for the server's own files and for running calls.
type DescriptorPlan struct {
	Connections int // of all transports together
	Files       int // that clients have open
	Cache       int // descriptors kept open for later use by all shares together; they are given up first
}

// PlanDescriptors divides n descriptors: a quarter for connections, half for open files, an eighth
// for caches and an eighth for the server itself.
func PlanDescriptors(n int) DescriptorPlan {
	return DescriptorPlan{Connections: n / 4, Files: n / 2 / perFile, Cache: n / 8}
}

// Files divides open files among clients. A client may have as many as are still free for the
// others: alone it gets half of all, the second a third, and there is always something left for
// the next. A nil *Files divides nothing: everybody may open.
type Files struct {
	limit int

	mu   sync.Mutex
	used int
	by   map[netip.Addr]int
}

// NewFiles divides limit open files.
func NewFiles(limit int) *Files { return &Files{limit: limit, by: make(map[netip.Addr]int)} }

// Take counts one more open file of the client at the address, and reports whether the client may open it. If so, the caller
// calls Give after closing it.
func (f *Files) Take(client netip.Addr) bool {
	if f == nil {
		return true
	}
	client = client.Unmap()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.spentLocked(client) {
		return false
	}
	f.used++
	f.by[client]++
	return true
}

// Spent reports whether the client has as many open files as it may have now. It is a hint; only Take decides.
func (f *Files) Spent(client netip.Addr) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spentLocked(client.Unmap())
}

func (f *Files) spentLocked(client netip.Addr) bool { return f.by[client] >= f.limit-f.used }

// Give subtracts n open files of a client.
func (f *Files) Give(client netip.Addr, n int) {
	if f == nil || n == 0 {
		return
	}
	client = client.Unmap()
	f.mu.Lock()
	defer f.mu.Unlock()
	switch have := f.by[client]; {
	case have < n:
		panic("budget: more open files given back than were taken")
	case have == n:
		delete(f.by, client)
	default:
		f.by[client] = have - n
	}
	f.used -= n
}

// Used returns how many files clients have open, and how many they may have.
func (f *Files) Used() (used, limit int) {
	if f == nil {
		return 0, 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used, f.limit
}
