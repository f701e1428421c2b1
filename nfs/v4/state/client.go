package state

import (
	"sync"
	"sync/atomic"
	"time"

	"fileserver/nfs/v4/proto"
	"fileserver/vfs/lock"
)

// Principal is who a client authenticates as (RFC 8881 2.4).
type Principal struct {
	Flavor uint32
	Name   string // the uid in decimal for AUTH_SYS
}

// FileKey names a file.
type FileKey = lock.FileKey

// Resource is an open file of the caller. It counts references; the state holds one.
type Resource interface {
	Retain()
	Release()
}

// Actions are what the caller must do after a call.
type Actions struct {
	Release []Resource   // of opens that ended
	Unlock  []*LockState // unlock all ranges that the owners hold on the files
	Forget  []string     // records to remove
	// GraceOver: the grace period has ended.
	GraceOver bool
	// Wait is done when a call that was refused can be tried again; nil if there is nothing to wait for.
	Wait *lock.Recall
}

func (a *Actions) add(b Actions) {
	a.Release = append(a.Release, b.Release...)
	a.Unlock = append(a.Unlock, b.Unlock...)
	a.Forget = append(a.Forget, b.Forget...)
	a.GraceOver = a.GraceOver || b.GraceOver
}

// Client is a client ID and all its state.
type Client struct {
	ID        uint64
	Principal Principal

	owner    string // co_ownerid
	verifier proto.Verifier
	all      *Clients
	peer     *peer // the address it came from first

	renewed  atomic.Int64 // time of the last renewal, ns since 1970
	inFlight atomic.Int32 // requests in progress
	// done: RECLAIM_COMPLETE has been sent.
	done     atomic.Bool
	recorded atomic.Bool

	// Guarded by Clients.mu.
	confirmed bool
	sessions  []*Session
	create    createSlot

	mu     sync.Mutex
	gone   bool // no new state
	opens  map[openKey]*Open
	states map[uint64]ownedState
	locks  map[openKey]*LockState
}

// Record is the key under which a record of the client survives a restart.
func (c *Client) Record() string { return recordKey(c.owner, c.Principal) }

func recordKey(owner string, p Principal) string {
	return string([]byte{byte(p.Flavor >> 24), byte(p.Flavor >> 16), byte(p.Flavor >> 8), byte(p.Flavor), byte(len(p.Name))}) + p.Name + owner
}

// Renew renews the lease.
func (c *Client) Renew(now time.Time) { c.renewed.Store(now.UnixNano()) }

// Expired reports whether the lease has expired. A client with a request in progress is alive.
func (c *Client) Expired(now time.Time) bool {
	return c.inFlight.Load() == 0 && c.age(now) > c.all.cfg.Lease
}

func (c *Client) age(now time.Time) time.Duration {
	return time.Duration(now.UnixNano() - c.renewed.Load())
}

// ReclaimDone reports whether the client has sent RECLAIM_COMPLETE. Before that it gets no new state (RFC 8881 18.51.3).
func (c *Client) ReclaimDone() bool { return c.done.Load() }

// NeedsRecord reports whether the record of the client must be written before it is given state.
func (c *Client) NeedsRecord() bool { return !c.recorded.Load() }

// SetRecorded says that the record has been written.
func (c *Client) SetRecorded() { c.recorded.Store(true) }

func (c *Client) hasState() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.states) > 0
}

// purge ends all state of the client.
func (c *Client) purge() (a Actions) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for _, o := range c.opens {
		a.add(c.dropOpenLocked(o))
	}
	if c.recorded.Swap(false) {
		a.Forget = append(a.Forget, c.Record())
	}
	return a
}

func (c *Client) hasOpen(file FileKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.opens {
		if k.file == file {
			return true
		}
	}
	return false
}
