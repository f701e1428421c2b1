package posix

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

const cacheShards = 16

// cache finds the node of an identity. It keeps unreferenced nodes for a while, about in the order of their last
// release, until there are more than limit per shard or the object is removed (removed.go).
type cache struct {
	shards [cacheShards]shard
	limit  atomic.Int64 // unreferenced nodes per shard
}

// shard is a part of the cache. While its lock is held, no other lock is taken and nothing is closed.
type shard struct {
	mu     sync.Mutex
	nodes  map[identity]*node
	idle   node // head of the list of unreferenced nodes; next is the oldest
	n      int  // length of idle
	closed bool
}

// setLimit bounds the unreferenced nodes of all shards together.
func (c *cache) setLimit(n int) { c.limit.Store(int64(max(n/cacheShards, 1))) }

func (c *cache) init() {
	for i := range c.shards {
		s := &c.shards[i]
		s.nodes = make(map[identity]*node)
		s.idle.next, s.idle.prev = &s.idle, &s.idle
	}
}

func (s *shard) unlink(n *node) {
	n.prev.next, n.next.prev = n.next, n.prev
	n.prev, n.next = nil, nil
	s.n--
}

// push adds a node that was just released to the unreferenced ones.
func (s *shard) push(n *node) {
	n.idle = n.fs.tick.Load()
	s.append(n)
}

func (s *shard) append(n *node) {
	n.prev, n.next = s.idle.prev, &s.idle
	n.prev.next, s.idle.prev = n, n
	s.n++
}

// ref takes a reference; the caller holds s.mu.
func (s *shard) ref(n *node) *node {
	if n.refs == 0 {
		s.unlink(n)
	}
	n.refs++
	return n
}

// get returns the cached node of an identity with a reference, or nil.
func (c *cache) get(id *identity) *node {
	s := &c.shards[id.shard()]
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[*id]; n != nil {
		return s.ref(n)
	}
	return nil
}

// put adds a node with one reference, or returns the node of the same identity if there is one; then the caller
// closes its own.
func (c *cache) put(n *node) *node {
	s := &c.shards[n.id.shard()]
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.nodes[n.id]; old != nil {
		return s.ref(old)
	}
	n.refs = 1
	s.nodes[n.id] = n
	return n
}

// hold takes another reference to a node that the caller has a reference to.
func (c *cache) hold(n *node) {
	s := &c.shards[n.id.shard()]
	s.mu.Lock()
	n.refs++
	s.mu.Unlock()
}

// release releases a reference, and destroys the nodes that the cache has no room for.
func (c *cache) release(n *node) {
	s := &c.shards[n.id.shard()]
	var dead *node
	s.mu.Lock()
	n.refs--
	switch {
	case n.refs > 0:
	case n.refs < 0:
		s.mu.Unlock()
		panic("posix: node released twice")
	case s.closed || n.gone.Load():
		delete(s.nodes, n.id)
		dead = n
	default:
		s.push(n)
		if int64(s.n) > c.limit.Load() {
			dead = s.idle.next
			s.unlink(dead)
			delete(s.nodes, dead.id)
		}
	}
	s.mu.Unlock()
	if dead != nil {
		dead.fs.bury(dead)
	}
}

// shrink destroys up to want unreferenced nodes, in each shard the oldest first, and returns how many.
func (c *cache) shrink(want int) (done int) {
	for i := range c.shards {
		for s := &c.shards[i]; done < want; done++ {
			s.mu.Lock()
			n := s.idle.next
			if n == &s.idle {
				s.mu.Unlock()
				break
			}
			s.unlink(n)
			delete(s.nodes, n.id)
			s.mu.Unlock()
			n.destroy()
		}
	}
	return done
}

// close makes the cache destroy every node at its last release.
func (c *cache) close() {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
	}
	c.shrink(int(^uint(0) >> 1))
}

// node is an object of the file system.
type node struct {
	fs     *FS
	id     identity
	h      vfs.Handle
	object vfs.Identity
	kind   vfs.Kind
	fd     int // O_PATH

	// Guarded by the shard's lock.
	refs       int
	prev, next *node
	idle       uint32 // tick of the last release

	gone    atomic.Bool   // it has no name any more
	setID   atomic.Bool   // a write must clear set-id bits
	dirty   atomic.Bool   // written and not made stable yet
	changes atomic.Uint64 // changes made through this server, counted after they are made
	opens   atomic.Int32  // Files
	size    atomic.Int64  // the size at an earlier read; only a hint
	below   atomic.Uint32 // tick at which a directory was last seen beneath the root

	change changeState
	sync   syncState
	rights rightsState
	data   dataState
	attrs  sync.Mutex            // serializes SetAttr
	hint   atomic.Pointer[place] // its place in the table
}

// destroy closes the node's descriptors. Nothing else refers to the node any more.
func (n *node) destroy() {
	n.closeData()
	_ = unix.Close(n.fd)
	if n.fs.live.Add(-1) == 0 { // only after FS.Close: the root has a reference until then
		n.fs.closeFDs()
	}
}

// Handle implements [vfs.Node].
func (n *node) Handle() vfs.Handle { return n.h }

// Identity implements [vfs.Node]. The kernel gives an inode's number to no other object while a descriptor of it is open,
// and the node has one.
func (n *node) Identity() vfs.Identity { return n.object }

// identityOf returns the identity of the object that st describes.
func identityOf(st *unix.Statx_t) (id vfs.Identity) {
	binary.BigEndian.PutUint64(id.FS[:], devOf(st))
	id.FS[8] = deviceIdentity
	id.Object = st.Ino
	return id
}

// deviceIdentity marks an identity that contains a device number, unlike those that other backends make up.
const deviceIdentity = 1

// Kind implements [vfs.Node].
func (n *node) Kind() vfs.Kind { return n.kind }

// Release implements [vfs.Node].
func (n *node) Release() { n.fs.cache.release(n) }
