package smb

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// streams are the named streams that are open. mu is taken after every other mutex of this package but links.mu, with which it is
// never held.
type streams struct {
	locks *lock.Manager // is told which extended attributes are open

	mu   sync.Mutex
	fs   [16]byte // stands for the file system in the arbiter's keys of streams
	last uint64
	of   map[lock.FileKey][]*stream // by the file
}

// stream is a named stream of a file or directory, shared by all opens of it (MS-FSA 2.1.1.5). To the arbiter it is
// a file of its own. That it is in the table does not mean that it has been created already, or that it is still there.
//
// Every open of a stream is an open of the file's link, too, which thereby is deleted after the last of them.
type stream struct {
	file lock.FileKey
	key  lock.FileKey

	// io is held while the data is read or replaced, and the stream renamed. It is taken with nothing held but lock.Names and
	// Server.appends.
	io   sync.RWMutex
	main vfs.File // once it has been renamed to be the file's data: that; guarded by io

	// Guarded by streams.mu.
	ref namespace.StreamRef
	disposition
}

// join finds or makes the stream of a file for one more open. It may be about to be deleted: STATUS_DELETE_PENDING.
func (t *streams) join(file lock.FileKey, ref namespace.StreamRef) (*stream, wire.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.findLocked(file, ref.Name); s != nil {
		if s.pending {
			return nil, wire.StatusDeletePending
		}
		s.opens++
		return s, wire.StatusSuccess
	}
	if t.of == nil {
		t.of = make(map[lock.FileKey][]*stream)
		_, _ = rand.Read(t.fs[:]) // no file system has it
	}
	t.last++
	s := &stream{file: file, key: lock.FileKey{FS: t.fs, Object: t.last}, ref: ref, disposition: disposition{opens: 1}}
	t.of[file] = append(t.of[file], s)
	t.locks.NameStream(file, ref.Attr(), s.key)
	return s, wire.StatusSuccess
}

// findLocked finds an open stream by its name.
func (t *streams) findLocked(file lock.FileKey, name string) *stream {
	for _, s := range t.of[file] {
		if namespace.Equal(s.ref.Name, name) {
			return s
		}
	}
	return nil
}

// leave takes an open away, and deletes the stream if that is due: deleted reports whether it has. With del, which says on whose
// behalf, it is to be deleted from now on.
func (t *streams) leave(ctx context.Context, s *stream, n vfs.Node, del *vfs.Cred) (deleted bool, err error) {
	t.mu.Lock()
	if del != nil && !s.pending {
		s.set(del)
	}
	if s.due() {
		// It stays in the table until it is deleted, so that nobody opens it meanwhile.
		ref := s.ref
		t.mu.Unlock()
		s.io.Lock() // whoever is writing has done so
		err = namespace.RemoveStream(ctx, n, ref)
		deleted = err == nil
		t.mu.Lock()
		s.gone = true
		s.io.Unlock()
	}
	s.opens--
	last := s.opens == 0
	if last {
		t.dropLocked(s)
	}
	t.mu.Unlock()
	if last {
		s.release()
	}
	return deleted, err
}

// release closes what the stream has open.
func (s *stream) release() {
	s.io.Lock()
	defer s.io.Unlock()
	if s.main != nil {
		_ = s.main.Close() // Commit reports errors
		s.main = nil
	}
}

// dropLocked takes a stream out of the table.
func (t *streams) dropLocked(s *stream) {
	t.locks.ForgetStream(s.file, s.ref.Attr(), s.key)
	all := slices.DeleteFunc(t.of[s.file], func(x *stream) bool { return x == s })
	if t.of[s.file] = all; len(all) == 0 {
		delete(t.of, s.file)
	}
}

// open lists the streams of a file that are open.
func (t *streams) open(file lock.FileKey) []*stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.of[file])
}

// where is what the stream is called, and kept as; gone reports that it is not there any more.
func (t *streams) where(s *stream) (ref namespace.StreamRef, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return s.ref, s.gone
}

// setPending has the stream deleted with the last open, on behalf of c; nil: not any more.
func (t *streams) setPending(s *stream, c *vfs.Cred) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.set(c)
}

// isPending reports whether the stream will be deleted.
func (t *streams) isPending(s *stream) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return s.pending
}

// rename gives the stream another name, and returns the one it had; false if a stream that is open has it.
func (t *streams) rename(s *stream, ref namespace.StreamRef) (old namespace.StreamRef, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.findLocked(s.file, ref.Name); x != nil && x != s {
		return s.ref, false
	}
	old, s.ref = s.ref, ref
	t.locks.ForgetStream(s.file, old.Attr(), s.key)
	t.locks.NameStream(s.file, ref.Attr(), s.key)
	return old, true
}

// forget takes a stream out of the table, so that nobody finds it by name any more: it is gone, or has become the file's data.
func (t *streams) forget(s *stream, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.set(nil)
	s.gone = s.gone || gone
	t.dropLocked(s)
}

// removeAll deletes all streams of a file: its contents are replaced (MS-FSA 2.1.5.1.2.1). Opens of them remain, with nothing to read.
func (t *streams) removeAll(ctx context.Context, file lock.FileKey, n vfs.Node) error {
	for _, s := range t.open(file) {
		s.io.Lock()
		t.forget(s, true)
		s.io.Unlock()
	}
	all, err := namespace.ListStreams(ctx, n)
	for _, ref := range all {
		if e := namespace.RemoveStream(ctx, n, ref); e != nil && err == nil {
			err = e
		}
	}
	return err
}
