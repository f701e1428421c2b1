package state

import bolt "go.etcd.io/bbolt"

// Bucket is the records of one part of the server.
type Bucket struct {
	db   *bolt.DB
	name []byte
}

// Record is a key and what is kept under it.
type Record struct{ Key, Value []byte }

// Bucket returns the records of that name; there are none at first.
func (s *Store) Bucket(name string) (*Bucket, error) {
	b := &Bucket{s.db, []byte("part:" + name)}
	return b, s.db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(b.name)
		return err
	})
}

// Put keeps value under key, which is not empty, in place of what was there.
func (b *Bucket) Put(key, value []byte) error {
	return b.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(b.name).Put(key, value) })
}

// Delete removes what is kept under key, if there is anything.
func (b *Bucket) Delete(key []byte) error {
	return b.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(b.name).Delete(key) })
}

// All returns all records, by key.
func (b *Bucket) All() (all []Record, err error) {
	err = b.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(b.name).ForEach(func(k, v []byte) error {
			all = append(all, Record{append([]byte(nil), k...), append([]byte(nil), v...)})
			return nil
		})
	})
	return all, err
}
