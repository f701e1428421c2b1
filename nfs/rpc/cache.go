package rpc

import (
	"context"
	"hash/maphash"
	"math"
	"net/netip"
	"sync"
	"time"

	"fileserver/nfs/xdr"
)

// Defaults of CacheConfig.
const (
	DefaultCacheEntries = 16384
	DefaultCacheBytes   = 16 << 20
	DefaultCacheAge     = 2 * time.Minute
)

// CacheConfig bounds the duplicate request cache.
type CacheConfig struct {
	Entries int           // replies kept; 0: DefaultCacheEntries
	Bytes   int           // memory of all entries, bytes, bookkeeping included; 0: DefaultCacheBytes
	Age     time.Duration // how long a reply is kept; 0: DefaultCacheAge
}

// bulkEntries is how many replies of bulk procedures are kept: some seconds of WRITEs, which
// covers a reconnection. What is older is harmless unless the range was written again since.
const bulkEntries = 4096

// sumLimit is how much of the arguments of a bulk procedure is summed, bytes: handle, offset, length and some data.
const sumLimit = 256

// entryOverhead is what an entry costs beside its reply, bytes, roughly.
const entryOverhead = 384

// cacheKey identifies a call over reconnections: a client that lost its
// connection sends its calls again, with the same xid, on a new one, from any port. The sum and length
// of credential and arguments keep apart clients behind one address, and one
// that begins its xids anew.
type cacheKey struct {
	addr                  netip.Addr
	xid, prog, vers, proc uint32
	length                uint32 // of the arguments, chunks included
	sum                   uint64 // of credential and arguments
}

// cache is the duplicate request cache: the replies to the last calls of each client that must not be executed twice.
//
// An entry is made before the call is executed, and belongs to its executor until
// it is finished: then it is in two lists, of all entries and of its
// client's, both in order of completion. Whatever is over the bounds is taken from the client that
// keeps most, oldest first, so that one client cannot drive out the replies of another. Calls in
// execution are not bounded here, but by what their connections admit.
type cache struct {
	cfg  CacheConfig
	seed maphash.Seed

	mu      sync.Mutex // a leaf
	entries map[cacheKey]*cacheEntry
	clients map[netip.Addr]*cacheClient
	byCost  clientHeap
	oldest  *cacheEntry // of all finished
	newest  *cacheEntry
	count   int // finished entries
	bytes   int // their cost
	free    *cacheEntry
	spare   *cacheClient
}

type cacheEntry struct {
	key    cacheKey
	client *cacheClient // nil while in execution
	reply  []byte       // the whole RPC message, without transport framing
	at     time.Time    // when it was finished

	conn *Conn         // executing: where the call came in last
	done chan struct{} // executing: made by the first who waits

	older, newer             *cacheEntry
	clientOlder, clientNewer *cacheEntry
}

func newCache(cfg CacheConfig) *cache {
	if cfg.Entries <= 0 {
		cfg.Entries = DefaultCacheEntries
	}
	if cfg.Bytes <= 0 {
		cfg.Bytes = DefaultCacheBytes
	}
	if cfg.Age <= 0 {
		cfg.Age = DefaultCacheAge
	}
	return &cache{
		cfg: cfg, seed: maphash.MakeSeed(),
		entries: make(map[cacheKey]*cacheEntry), clients: make(map[netip.Addr]*cacheClient),
	}
}

func (x *cache) key(c *Call, limit int) cacheKey {
	k := cacheKey{
		addr: c.Conn.RemoteAddr.Addr().Unmap().WithZone(""),
		xid:  c.XID, prog: c.Prog, vers: c.Vers, proc: c.Proc,
	}
	var h maphash.Hash
	h.SetSeed(x.seed)
	var id [12]byte
	xdr.PutUint32(id[:], 0, uint32(c.Flavor))
	xdr.PutUint32(id[:], 4, c.Cred.UID)
	xdr.PutUint32(id[:], 8, c.Cred.GID)
	h.Write(id[:])
	add := func(b []byte) {
		k.length += uint32(len(b))
		b = b[:min(len(b), limit)]
		h.Write(b)
		limit -= len(b)
	}
	add(c.Args.Rest())
	for _, ch := range c.Args.Chunks() {
		add(ch.Data)
	}
	k.sum = h.Sum64()
	return k
}

// begin looks the call up. If run is not nil, the caller executes the call, and then calls finish or abandon. If ok is
// true, reply is b with the reply appended. Otherwise the call is dropped.
func (x *cache) begin(ctx context.Context, c *Call, k cacheKey, b []byte) (run *cacheEntry, reply []byte, what Replay, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.expireLocked(time.Now())
	e := x.entries[k]
	if e == nil {
		e = x.newEntryLocked()
		e.key, e.conn = k, c.Conn
		x.entries[k] = e
		return e, b, 0, false
	}
	if e.client != nil {
		return nil, append(b, e.reply...), ReplayAnswered, true
	}
	if e.conn == c.Conn {
		return nil, b, ReplayDropped, false
	}
	// The first came on another connection, which most likely is gone. The
	// reply will be sent on both: at worst the client ignores one.
	e.conn = c.Conn
	if e.done == nil {
		e.done = make(chan struct{})
	}
	done := e.done
	x.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	case <-c.Conn.Done:
	}
	x.mu.Lock()
	// Entries are reused: look again. If it has been evicted already, the client will ask again.
	if e := x.entries[k]; e != nil && e.client != nil {
		return nil, append(b, e.reply...), ReplayWaited, true
	}
	return nil, b, ReplayDropped, false
}

// finish keeps the reply of an executed call.
func (x *cache) finish(e *cacheEntry, reply []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e.reply = append(e.reply[:0], reply...)
	e.at = time.Now()
	e.conn = nil
	if e.done != nil {
		close(e.done)
		e.done = nil
	}
	x.linkLocked(e)
	for x.count > x.cfg.Entries || x.bytes > x.cfg.Bytes {
		x.evictLocked(x.byCost[0].oldest)
	}
}

// abandon forgets a call that left no reply to be kept.
func (x *cache) abandon(e *cacheEntry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e.done != nil {
		close(e.done)
	}
	delete(x.entries, e.key)
	x.recycleLocked(e)
}

// expireLocked forgets replies that are too old.
func (x *cache) expireLocked(now time.Time) {
	for x.oldest != nil && now.Sub(x.oldest.at) > x.cfg.Age {
		x.evictLocked(x.oldest)
	}
}

// serveOnce executes a call that must not be executed twice.
func (s *Server) serveOnce(ctx context.Context, proc *boundProcedure, c *Call, r *Reply) bool {
	x, limit := s.cache, math.MaxInt
	if proc.Bulk {
		x, limit = s.bulk, sumLimit
	}
	k := x.key(c, limit)
	e, head, what, ok := x.begin(ctx, c, k, r.Head)
	if e == nil {
		r.Head = head
		s.observer.Replayed(c, what)
		return ok
	}
	at := len(r.Head)
	// The reply outlives the connection: losing it must not end the execution half way.
	c.detached.Context = ctx
	s.execute(&c.detached, proc, c, r)
	if len(r.Payloads) > 0 {
		s.log.Error("procedure with cached replies returned a payload", "procedure", proc.Name)
		x.abandon(e)
		return true
	}
	x.finish(e, r.Head[at:])
	return true
}

// detachedContext is context.WithoutCancel without its allocation.
type detachedContext struct{ context.Context }

func (*detachedContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*detachedContext) Done() <-chan struct{}       { return nil }
func (*detachedContext) Err() error                  { return nil }
