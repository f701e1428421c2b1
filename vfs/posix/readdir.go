package posix

import (
	"context"
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// streamSize is how much of a directory is read at once, in bytes. It is about what a reply holds, because entries
// that do not fit are read again.
const streamSize = 16 << 10

// maxStreams is how many descriptors of one directory are kept to continue reading it.
const maxStreams = 4

// cookieShift keeps cookies from being 0, 1 or 2, which protocols use for themselves. Offsets are not negative, so
// no cookie wraps around to those.
const cookieShift = 3

// stream is a directory being read. One goroutine uses it at a time.
type stream struct {
	fd   int
	pos  int64 // where the descriptor is
	used uint32
	buf  [streamSize]byte
}

// takeStream returns a stream at pos.
func (n *node) takeStream(pos int64) (*stream, error) {
	d := &n.data
	d.mu.Lock()
	best := -1
	for i, s := range d.streams {
		if best < 0 || s.pos == pos {
			best = i
		}
	}
	var s *stream
	if best >= 0 {
		s = d.streams[best]
		last := len(d.streams) - 1
		d.streams[best], d.streams[last] = d.streams[last], nil
		d.streams = d.streams[:last]
	}
	d.mu.Unlock()
	if s == nil {
		fd, err := n.openDir()
		if err != nil {
			return nil, err
		}
		s = &stream{fd: fd}
		n.fs.opened(n)
	}
	if s.pos == pos {
		return s, nil
	}
	if _, err := unix.Seek(s.fd, pos, unix.SEEK_SET); err != nil {
		n.dropStream(s)
		if err == unix.EINVAL {
			return nil, vfs.ErrBadCookie
		}
		return nil, statusOf(err)
	}
	s.pos = pos
	return s, nil
}

// putStream keeps a stream for the next call.
func (n *node) putStream(s *stream) {
	d := &n.data
	s.used = n.fs.tick.Load()
	d.mu.Lock()
	if len(d.streams) < maxStreams {
		d.streams = append(d.streams, s)
		s = nil
	}
	d.mu.Unlock()
	if s != nil {
		n.dropStream(s)
	}
}

func (n *node) dropStream(s *stream) {
	_ = unix.Close(s.fd)
	n.fs.open.closed(n, 1, true)
}

// ReadDir implements [vfs.Node].
func (n *node) ReadDir(ctx context.Context, c *vfs.Cred, cookie uint64, mask vfs.AttrMask, wantHandle bool, fn func(*vfs.DirEntry) bool) (eof bool, err error) {
	if err := n.fs.begin(ctx); err != nil {
		return false, err
	}
	defer n.fs.budget.Leave()
	if err := n.directory(); err != nil {
		return false, err
	}
	var pos int64
	if cookie != 0 {
		if pos = int64(cookie - cookieShift); pos < 0 {
			return false, vfs.ErrBadCookie
		}
	}
	if err := n.require(c, mayRead); err != nil {
		return false, err
	}
	if mask != 0 || wantHandle {
		// A caller that may not search the directory gets the names only.
		switch err := n.require(c, mayExec); err {
		case nil:
		case vfs.ErrAccess:
			mask, wantHandle = 0, false
		default:
			return false, err
		}
	}
	s, err := n.takeStream(pos)
	if err != nil {
		return false, err
	}
	eof, err = n.readStream(s, mask, wantHandle, fn)
	if err != nil {
		n.dropStream(s)
		return false, n.orStale(err)
	}
	n.putStream(s)
	return eof, nil
}

func (n *node) readStream(s *stream, mask vfs.AttrMask, wantHandle bool, fn func(*vfs.DirEntry) bool) (bool, error) {
	var e vfs.DirEntry
	for {
		l, errno := getdents(s.fd, s.buf[:])
		if errno != 0 {
			s.pos = -1
			return false, status(errno)
		}
		if l == 0 {
			return true, nil
		}
		// The names of all entries share this one copy, so that callers may keep them.
		for b := string(s.buf[:l]); len(b) > 0; {
			ino, next, kind, name, size := parseDirent(b)
			if size == 0 {
				s.pos = -1
				return false, vfs.ErrServerFault
			}
			b = b[size:]
			s.pos = next
			if name == "" || name == "." || name == ".." {
				continue
			}
			e = vfs.DirEntry{Name: name, Cookie: uint64(next) + cookieShift, Kind: kind, FileID: fileID(ino)}
			if (mask != 0 || wantHandle) && !n.describe(&e, mask, wantHandle) {
				continue // it was removed meanwhile
			}
			if !fn(&e) {
				s.pos = -1 // the descriptor is farther on
				return false, nil
			}
		}
	}
}

// parseDirent parses a struct linux_dirent64; size is 0 if it is incomplete.
func parseDirent(b string) (ino uint64, next int64, kind vfs.Kind, name string, size int) {
	const header = 19
	if len(b) < header {
		return
	}
	var h [header]byte
	copy(h[:], b)
	size = int(binary.NativeEndian.Uint16(h[16:]))
	if size < header || size > len(b) {
		return 0, 0, 0, "", 0
	}
	name, _, _ = strings.Cut(b[header:size], "\x00")
	// DT_xxx are the S_IFxxx without their zeros.
	return binary.NativeEndian.Uint64(h[:]), int64(binary.NativeEndian.Uint64(h[8:])), kindOf(uint16(h[18]) << 12), name, size
}

// describe adds attributes and handle to an entry. It returns false if the name does not exist any more.
func (n *node) describe(e *vfs.DirEntry, mask vfs.AttrMask, wantHandle bool) bool {
	var name cname
	name.set(e.Name)
	fd, err := n.fs.retryFDs(func() (int, error) {
		fd, errno := openPath(n.fd, &name)
		return fd, status(errno)
	})
	if err != nil {
		return err != vfs.ErrNotFound // after other errors, and for mount points, the entry has no attributes
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	if statxFD(fd, statAll, &st) != 0 {
		return true
	}
	e.Kind, e.FileID = kindOf(st.Mode), fileID(st.Ino)
	id, err := n.fs.ids.identify(fd, &st)
	if err != nil {
		return true
	}
	in := n.fs.cache.get(&id)
	if wantHandle {
		if in != nil {
			e.Handle = in.h
		} else {
			e.Handle = n.fs.sign.sign(&id)
			n.fs.loc.noteID(id, &n.id, e.Name)
		}
	}
	if mask != 0 {
		e.Attr = attrOf(&st)
		if in != nil && mask&vfs.AttrChange != 0 {
			if a, err := in.getAttr(mask); err == nil {
				e.Attr = a
			}
		}
	}
	if in != nil {
		in.Release()
	}
	return true
}
