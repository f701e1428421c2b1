package state

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// ErrInUse is the error of Open while another process has the file open.
var ErrInUse = errors.New("state: the file is in use by another server")

// lockWait is how long Open waits for a server that is stopping.
const lockWait = time.Second

var (
	metaBucket = []byte("server")
	idKey      = []byte("id")
	epochKey   = []byte("epoch")
	cleanKey   = []byte("clean")
)

// Store is an open file of records. Its methods are safe for concurrent use.
type Store struct {
	db    *bolt.DB
	id    [16]byte
	epoch uint64
	clean bool
}

// Open opens the file, creates it if it does not exist, and counts a start of the server.
func Open(path string) (*Store, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockWait, FreelistType: bolt.FreelistMapType})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, fmt.Errorf("%w: %s", ErrInUse, path)
	case err != nil:
		return nil, fmt.Errorf("state: %s: %w", path, err)
	}
	s := &Store{db: db}
	if err := db.Update(s.start); err != nil {
		return nil, errors.Join(fmt.Errorf("state: %s: %w", path, err), db.Close())
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// start reads who the server is, and marks it as running.
func (s *Store) start(tx *bolt.Tx) error {
	b, err := tx.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return err
	}
	if copy(s.id[:], b.Get(idKey)) != len(s.id) {
		rand.Read(s.id[:])
		if err := b.Put(idKey, s.id[:]); err != nil {
			return err
		}
	}
	if v := b.Get(epochKey); len(v) == 8 {
		s.epoch = binary.BigEndian.Uint64(v)
	}
	s.clean = s.epoch == 0 || b.Get(cleanKey) != nil
	s.epoch++
	if err := b.Put(epochKey, binary.BigEndian.AppendUint64(nil, s.epoch)); err != nil {
		return err
	}
	return b.Delete(cleanKey)
}

// ID identifies the server: random at the first start, the same ever after.
func (s *Store) ID() [16]byte { return s.id }

// Epoch is the number of this start of the server: 1, 2, 3 …
func (s *Store) Epoch() uint64 { return s.epoch }

// WasClean reports whether the previous run ended with [Store.CloseClean], or there was none.
func (s *Store) WasClean() bool { return s.clean }

// Close closes the file as a crash would: WasClean of the next run reports false.
func (s *Store) Close() error { return s.db.Close() }

// CloseClean records that the server stopped in order, and closes the file.
func (s *Store) CloseClean() error {
	err := s.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Put(cleanKey, []byte{1}) })
	return errors.Join(err, s.db.Close())
}

// syncDir makes the name of a new file stable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
