package fusetest

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"

	"fileserver/vfs"
	"fileserver/vfs/lock"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// raw answers the kernel's requests from a file system. Node ids are its own: one per object the kernel remembers.
type raw struct {
	fuse.RawFileSystem
	fs     vfs.FS
	locks  *lock.Manager
	client uint64 // of the lock owners
	tmp    atomic.Uint64

	mu     sync.Mutex
	nodes  map[uint64]*entry
	byName map[vfs.Handle]*entry
	files  map[uint64]vfs.File
	next   uint64
	pids   map[lock.Owner]uint32
}

// entry is an object the kernel remembers.
type entry struct {
	id      uint64
	node    vfs.Node
	lookups uint64
}

var clients atomic.Uint64

func newRaw(fs vfs.FS, locks *lock.Manager) (*raw, error) {
	root, err := fs.Root(context.Background())
	if err != nil {
		return nil, err
	}
	r := &raw{
		RawFileSystem: fuse.NewDefaultRawFileSystem(), fs: fs, locks: locks, client: clients.Add(1),
		nodes: map[uint64]*entry{}, byName: map[vfs.Handle]*entry{}, files: map[uint64]vfs.File{}, next: fuse.FUSE_ROOT_ID, pids: map[lock.Owner]uint32{},
	}
	r.remember(root)
	return r, nil
}

// String implements [fuse.RawFileSystem].
func (r *raw) String() string { return "fusetest" }

// remember counts a lookup of a node, whose reference becomes the table's.
func (r *raw) remember(n vfs.Node) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := n.Handle()
	if e := r.byName[h]; e != nil {
		e.lookups++
		n.Release()
		return e.id
	}
	e := &entry{id: r.next, node: n, lookups: 1}
	r.next++
	r.nodes[e.id], r.byName[h] = e, e
	return e.id
}

// Forget implements [fuse.RawFileSystem].
func (r *raw) Forget(id, n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.nodes[id]
	if e == nil || id == fuse.FUSE_ROOT_ID {
		return
	}
	if e.lookups -= min(n, e.lookups); e.lookups == 0 {
		delete(r.nodes, id)
		delete(r.byName, e.node.Handle())
		e.node.Release()
	}
}

// node is the object of an id. The kernel keeps it while it uses the id.
func (r *raw) node(id uint64) vfs.Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nodes[id].node
}

// releaseAll gives back what the kernel did not before it was unmounted.
func (r *raw) releaseAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.nodes {
		e.node.Release()
	}
	for _, f := range r.files {
		f.Close()
	}
	r.locks.ReleaseClient(posixLock, r.client)
	r.locks.ReleaseClient(flockLock, r.client)
	clear(r.nodes)
	clear(r.files)
}

// cred is the caller's identity. FUSE does not tell supplementary groups.
func cred(h *fuse.InHeader) *vfs.Cred { return &vfs.Cred{UID: h.Uid, GID: h.Gid} }

// key is the file's identity for locks; those of flock(2) and fcntl(2) do not see each other.
func (r *raw) key(id uint64, flock bool) lock.FileKey {
	k := r.node(id).Identity()
	if flock {
		k.FS[0] ^= 0xff
	}
	return k
}

func (r *raw) owner(proto uint8, id uint64) lock.Owner {
	return lock.Owner{Proto: proto, Client: r.client, ID: string(binary.BigEndian.AppendUint64(nil, id))}
}
