package posix

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// maxWatches bounds the watched directories, because all programs of the user share the kernel's limit.
const maxWatches = 4096

// watchMask is what is asked of inotify(7).
const watchMask = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_ATTRIB | unix.IN_MODIFY |
	unix.IN_DELETE_SELF | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK

// watches holds the watched directories. Its descriptor is opened by the first watch. No other lock is held when mu
// is taken, and no callback runs with mu held.
type watches struct {
	mu     sync.Mutex
	file   *os.File
	of     map[int32][]*watch
	closed bool
	done   sync.WaitGroup

	refused sync.Once // and said so
}

type watch struct{ fn func(vfs.DirEvent) }

// Watch implements [vfs.Watcher] by inotify(7). It reports what any program does to the names in the directory and
// to the objects they name, but nothing further below. It does not report changes through mapped memory, nor those
// by other hosts of a network file system.
func (n *node) Watch(_ context.Context, fn func(vfs.DirEvent)) (func(), error) {
	if err := n.directory(); err != nil {
		return nil, err
	}
	stop, err := n.fs.watches.add(n.fd, fn)
	if err != nil {
		n.fs.watches.refused.Do(func() {
			n.fs.log.Warn("changes that local programs make are not told in all directories", "watches", maxWatches, "err", err)
		})
	}
	return stop, err
}

// add watches the directory of fd.
func (s *watches) add(fd int, fn func(vfs.DirEvent)) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return nil, err
	}
	if len(s.of) >= maxWatches {
		return nil, vfs.ErrNoSpace
	}
	wd, err := unix.InotifyAddWatch(s.fd(), procFD+strconv.Itoa(fd), watchMask)
	if err != nil {
		return nil, statusOf(err)
	}
	id, w := int32(wd), &watch{fn}
	s.of[id] = append(s.of[id], w)
	return func() { s.remove(id, w) }, nil
}

// open creates the descriptor. The caller holds s.mu.
func (s *watches) open() error {
	if s.closed {
		return vfs.ErrIO
	}
	if s.file != nil {
		return nil
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return statusOf(err)
	}
	s.file, s.of = os.NewFile(uintptr(fd), "inotify"), make(map[int32][]*watch)
	s.done.Add(1)
	go s.read(s.file)
	return nil
}

// fd returns the descriptor, which stays non-blocking. The caller holds s.mu.
func (s *watches) fd() (fd int) {
	c, err := s.file.SyscallConn()
	if err == nil {
		err = c.Control(func(p uintptr) { fd = int(p) })
	}
	if err != nil {
		return -1
	}
	return fd
}

// remove ends a watch.
func (s *watches) remove(id int32, w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A copy, because the reader reads the list without the lock.
	list := slices.DeleteFunc(slices.Clone(s.of[id]), func(x *watch) bool { return x == w })
	if len(list) > 0 {
		s.of[id] = list
		return
	}
	if _, ok := s.of[id]; ok && !s.closed {
		delete(s.of, id)
		_, _ = unix.InotifyRmWatch(s.fd(), uint32(id)) // it may be gone already
	}
}

// close ends all watches, and waits for the reader.
func (s *watches) close() {
	s.mu.Lock()
	s.closed = true
	if s.file != nil {
		_ = s.file.Close()
	}
	s.mu.Unlock()
	s.done.Wait()
}

// read passes on the kernel's events.
func (s *watches) read(f *os.File) {
	defer s.done.Done()
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		if err != nil {
			if !errors.Is(err, os.ErrClosed) {
				s.all(vfs.DirEvent{Op: vfs.EventsLost})
			}
			return
		}
		s.events(buf[:n])
	}
}

// rawEvent is an event as inotify(7) has it.
type rawEvent struct {
	id     int32
	mask   uint32
	cookie uint32
	name   string
}

// parseRaw parses the first event in b and returns the bytes after it.
func parseRaw(b []byte) (e rawEvent, rest []byte, ok bool) {
	if len(b) < unix.SizeofInotifyEvent {
		return e, nil, false
	}
	n := uint64(binary.NativeEndian.Uint32(b[12:]))
	if n > uint64(len(b)-unix.SizeofInotifyEvent) {
		return e, nil, false
	}
	end := unix.SizeofInotifyEvent + int(n)
	name, _, _ := strings.Cut(string(b[unix.SizeofInotifyEvent:end]), "\x00")
	return rawEvent{int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[8:]), name}, b[end:], true
}

// events reports the events in b. The two halves of a rename within a directory are one event.
func (s *watches) events(b []byte) {
	for {
		e, rest, ok := parseRaw(b)
		if !ok {
			return
		}
		b = rest
		kind := vfs.KindUnknown
		if e.mask&unix.IN_ISDIR != 0 {
			kind = vfs.KindDirectory
		}
		d := vfs.DirEvent{Name: e.name, Kind: kind}
		switch {
		case e.mask&unix.IN_Q_OVERFLOW != 0:
			s.all(vfs.DirEvent{Op: vfs.EventsLost})
			continue
		case e.mask&(unix.IN_DELETE_SELF|unix.IN_UNMOUNT) != 0:
			d.Op = vfs.DirGone
		case e.name == "": // of the directory itself
			continue
		case e.mask&unix.IN_MOVED_FROM != 0:
			d.Op = vfs.EntryRemoved
			if next, after, ok := parseRaw(b); ok && next.mask&unix.IN_MOVED_TO != 0 && next.cookie == e.cookie && next.id == e.id {
				d.Op, d.To, b = vfs.EntryRenamed, next.name, after
			}
		case e.mask&unix.IN_DELETE != 0:
			d.Op = vfs.EntryRemoved
		case e.mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
			d.Op = vfs.EntryAdded
		case e.mask&unix.IN_MODIFY != 0:
			d.Op = vfs.EntryWritten
		case e.mask&unix.IN_ATTRIB != 0:
			d.Op = vfs.EntryAttr
		default:
			continue
		}
		s.mu.Lock()
		list := s.of[e.id]
		s.mu.Unlock()
		for _, w := range list {
			w.fn(d)
		}
	}
}

// all reports an event to all watches.
func (s *watches) all(e vfs.DirEvent) {
	s.mu.Lock()
	var list []*watch
	for _, l := range s.of {
		list = append(list, l...)
	}
	s.mu.Unlock()
	for _, w := range list {
		w.fn(e)
	}
}
