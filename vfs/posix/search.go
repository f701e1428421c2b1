package posix

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// snapshotFor is how long the result of a complete search proves that an object is not in the tree. Objects created
// or renamed through this server have places and need no search. So for that long only objects that local programs
// move into the tree from elsewhere are missed.
const snapshotFor = time.Minute

// snapshot holds the inode numbers that a complete search found, sorted. With it, a client with many stale handles
// does not cause as many searches.
type snapshot struct {
	inos []uint64
	at   time.Time
}

func (s *snapshot) vouches(ino uint64) bool {
	if s.at.IsZero() || time.Since(s.at) > snapshotFor {
		*s = snapshot{}
		return false
	}
	_, there := slices.BinarySearch(s.inos, ino)
	return !there
}

// searchRun is one search.
type searchRun struct {
	t      *table
	want   identity
	exact  bool // the inode numbers of entries are those of the objects
	inos   []uint64
	failed bool // part of the tree could not be read
	buf    [maxSearchDepth]*[streamSize]byte
}

// maxSearchDepth bounds a search, which needs a descriptor for each level.
const maxSearchDepth = 256

// find searches the tree; the caller holds t.search.
func (t *table) find(id identity) (int, error) {
	if t.absent.vouches(id.ino()) {
		return -1, vfs.ErrStale
	}
	var sfs unix.Statfs_t
	overlay := unix.Fstatfs(t.fs.mount, &sfs) != nil || sfs.Type == unix.OVERLAYFS_SUPER_MAGIC
	t.searches++
	r := &searchRun{t: t, want: id, exact: !overlay}
	begin := time.Now()
	fd := r.dir(t.fs.root.fd, t.fs.root.id, 0)
	if fd >= 0 {
		return fd, nil
	}
	if !r.failed && r.exact {
		slices.Sort(r.inos)
		t.absent = snapshot{inos: r.inos, at: begin}
	}
	t.fs.log.Debug("searched for the object of a file handle in vain", "objects", len(r.inos), "took", time.Since(begin))
	return -1, vfs.ErrStale
}

// dir searches a directory and what is below, and returns a descriptor of the object, or -1.
func (r *searchRun) dir(path int, id identity, depth int) int {
	if depth == maxSearchDepth {
		r.failed = true
		return -1
	}
	var dot cname
	dot.set(".")
	fd, e := openat(path, &dot, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if e != 0 {
		r.failed = true
		return -1
	}
	defer unix.Close(fd)
	if r.buf[depth] == nil {
		r.buf[depth] = new([streamSize]byte)
	}
	buf := r.buf[depth]
	for {
		l, e := getdents(fd, buf[:])
		if e != 0 {
			r.failed = true
		}
		if e != 0 || l == 0 {
			return -1
		}
		for b := string(buf[:l]); len(b) > 0; {
			ino, _, kind, name, size := parseDirent(b)
			if size == 0 {
				r.failed = true
				return -1
			}
			b = b[size:]
			if name == "." || name == ".." {
				continue
			}
			if found := r.entry(fd, id, ino, kind, name, depth); found >= 0 {
				return found
			}
		}
	}
}

// entry looks at one name.
func (r *searchRun) entry(dir int, parent identity, ino uint64, kind vfs.Kind, name string, depth int) int {
	r.inos = append(r.inos, ino)
	candidate := ino == r.want.ino() || !r.exact
	if !candidate && kind != vfs.KindDirectory && kind != vfs.KindUnknown {
		return -1
	}
	var c cname
	c.set(name)
	fd, e := openPath(dir, &c)
	if e != 0 {
		return -1
	}
	var st unix.Statx_t
	var id identity
	if statxFD(fd, statPerm|unix.STATX_INO|unix.STATX_BTIME, &st) == 0 {
		id, _ = r.t.fs.ids.identify(fd, &st)
	}
	if id == r.want {
		r.t.add(id, place{parent, name})
		return fd
	}
	defer unix.Close(fd)
	if kindOf(st.Mode) != vfs.KindDirectory || id.n == 0 {
		return -1
	}
	found := r.dir(fd, id, depth+1)
	if found >= 0 { // so that the next one is found without a search
		r.t.add(id, place{parent, name})
	}
	return found
}
