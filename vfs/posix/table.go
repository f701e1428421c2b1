package posix

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// place is where an object was last seen.
type place struct {
	parent identity
	name   string
}

// table is the locator of HandleTable. It keeps a place for every object that has a handle. The identity in the
// handle decides whether the object found there is the right one. So a place may be wrong, or lost in a crash: then
// the whole tree is searched for the object.
//
// Lock order: search, then mu.
type table struct {
	fs *FS
	db *bolt.DB // nil: in memory only

	mu      sync.Mutex
	pending map[identity]place // not in db yet; the zero place removes

	search   sync.Mutex
	absent   snapshot // guarded by search
	searches int

	wake chan struct{}
	stop chan struct{}
	done sync.WaitGroup
}

var placesBucket = []byte("places")

const (
	// flushAfter is how long a new place may be in memory only.
	flushAfter = 200 * time.Millisecond
	// maxDepth bounds chains of places and searches, directories.
	maxDepth = 4096
)

func openTable(fs *FS, dir string, tag []byte) (*table, error) {
	t := &table{fs: fs, pending: make(map[identity]place), wake: make(chan struct{}, 1), stop: make(chan struct{})}
	if dir == "" {
		return t, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("table of the file handles: %w", err)
	}
	path := filepath.Join(dir, "handles-"+hex.EncodeToString(tag)+".db")
	var err error
	if t.db, err = openDB(path); err != nil {
		return nil, fmt.Errorf("table of the file handles: %s: %w", path, err)
	}
	t.done.Add(1)
	go t.flusher()
	return t, nil
}

// openDB opens the file. If it cannot be read, openDB replaces it by a new one, because places can be found again.
func openDB(path string) (*bolt.DB, error) {
	opt := &bolt.Options{Timeout: 5 * time.Second, NoFreelistSync: true, FreelistType: bolt.FreelistMapType}
	db, err := bolt.Open(path, 0o600, opt)
	if errors.Is(err, bolterrors.ErrInvalid) || errors.Is(err, bolterrors.ErrChecksum) || errors.Is(err, bolterrors.ErrVersionMismatch) {
		if err := os.Rename(path, path+".damaged"); err != nil {
			return nil, err
		}
		db, err = bolt.Open(path, 0o600, opt)
	}
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(placesBucket)
		return err
	})
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

func (t *table) note(n *node, parent *identity, name string) {
	if p := n.hint.Load(); p != nil && p.parent == *parent && p.name == name {
		return
	}
	p := place{*parent, strings.Clone(name)}
	n.hint.Store(&p)
	t.add(n.id, p)
}

func (t *table) noteID(id identity, parent *identity, name string) {
	t.add(id, place{*parent, strings.Clone(name)})
}

func (t *table) forget(n *node) {
	n.hint.Store(nil)
	t.add(n.id, place{})
}

func (t *table) add(id identity, p place) {
	if old, ok := t.lookup(id); ok && old == p {
		return
	}
	t.mu.Lock()
	if t.db == nil && p == (place{}) {
		delete(t.pending, id)
	} else {
		t.pending[id] = p
	}
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// lookup returns where an object was last seen.
func (t *table) lookup(id identity) (p place, ok bool) {
	t.mu.Lock()
	p, ok = t.pending[id]
	t.mu.Unlock()
	if ok || t.db == nil {
		return p, ok && p.name != ""
	}
	_ = t.db.View(func(tx *bolt.Tx) error {
		p, ok = decodePlace(tx.Bucket(placesBucket).Get(id.bytes()))
		return nil
	})
	return p, ok
}

func encodePlace(p place) []byte {
	b := append([]byte{p.parent.n}, p.parent.bytes()...)
	return append(b, p.name...)
}

func decodePlace(b []byte) (p place, ok bool) {
	if len(b) < 1 || int(b[0]) > maxID || len(b) < 2+int(b[0]) {
		return p, false
	}
	p.parent.n = uint8(copy(p.parent.b[:], b[1:1+b[0]]))
	p.name = string(b[1+b[0]:])
	return p, checkName(p.name) == nil
}

func (t *table) flusher() {
	defer t.done.Done()
	for {
		select {
		case <-t.stop:
			return
		case <-t.wake:
		}
		select {
		case <-t.stop:
			return
		case <-time.After(flushAfter):
		}
		if err := t.flush(); err != nil {
			t.fs.log.Error("places of file handles could not be written; objects may have to be searched for", "err", err)
		}
	}
}

// flush writes what is pending. It stays visible there until it is in the database.
func (t *table) flush() error {
	t.mu.Lock()
	batch := make(map[identity]place, len(t.pending))
	for id, p := range t.pending {
		batch[id] = p
	}
	t.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	err := t.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(placesBucket)
		for id, p := range batch {
			var err error
			if p == (place{}) {
				err = b.Delete(id.bytes())
			} else {
				err = b.Put(id.bytes(), encodePlace(p))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, p := range batch {
		if t.pending[id] == p {
			delete(t.pending, id)
		}
	}
	return nil
}

func (t *table) close() error {
	if t.db == nil {
		return nil
	}
	close(t.stop)
	t.done.Wait()
	return errors.Join(t.flush(), t.db.Close())
}

// open implements [locator].
func (t *table) open(id *identity) (int, error) {
	fd, err := t.openPlaced(*id)
	if err != vfs.ErrStale {
		return fd, err
	}
	t.search.Lock()
	defer t.search.Unlock()
	if fd, err := t.openPlaced(*id); err != vfs.ErrStale { // found by another search
		return fd, err
	}
	return t.find(*id)
}

// openPlaced opens the object where it was last seen: ErrStale if it is not there.
func (t *table) openPlaced(id identity) (int, error) {
	var chain []place
	at, base := id, t.fs.root
	for ids := at; ids != t.fs.root.id; ids = chain[len(chain)-1].parent {
		p, ok := t.lookup(ids)
		if !ok || len(chain) == maxDepth {
			return -1, vfs.ErrStale
		}
		chain = append(chain, p)
	}
	fd := base.fd
	for i := len(chain) - 1; i >= 0; i-- {
		want := id
		if i > 0 {
			want = chain[i-1].parent
		}
		next, err := t.openChild(fd, chain[i].name, want)
		if fd != base.fd {
			_ = unix.Close(fd)
		}
		if err != nil {
			return -1, err
		}
		fd = next
	}
	if fd != base.fd {
		return fd, nil
	}
	var dot cname
	dot.set(".")
	fd, e := openat(base.fd, &dot, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC)
	return fd, status(e)
}

// openChild opens a name if it is that of the object: ErrStale if not.
func (t *table) openChild(dir int, name string, want identity) (int, error) {
	var c cname
	c.set(name)
	fd, e := openPath(dir, &c)
	switch e {
	case 0:
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EIO:
		return -1, status(e)
	default:
		return -1, vfs.ErrStale
	}
	var st unix.Statx_t
	if e := statxFD(fd, statPerm|unix.STATX_INO|unix.STATX_BTIME, &st); e == 0 {
		if id, err := t.fs.ids.identify(fd, &st); err == nil && id == want {
			return fd, nil
		}
	}
	_ = unix.Close(fd)
	return -1, vfs.ErrStale
}
