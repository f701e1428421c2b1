package posix

import (
	"context"
	"sync"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// statAll is the statx mask for [vfs.AttrStat].
const statAll = unix.STATX_BASIC_STATS | unix.STATX_BTIME

// statPerm is the statx mask of the attributes that permissions depend on.
const statPerm = unix.STATX_TYPE | unix.STATX_MODE | unix.STATX_UID | unix.STATX_GID | unix.STATX_CTIME | unix.STATX_NLINK

func kindOf(mode uint16) vfs.Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return vfs.KindRegular
	case unix.S_IFDIR:
		return vfs.KindDirectory
	case unix.S_IFLNK:
		return vfs.KindSymlink
	case unix.S_IFBLK:
		return vfs.KindBlock
	case unix.S_IFCHR:
		return vfs.KindChar
	case unix.S_IFSOCK:
		return vfs.KindSocket
	case unix.S_IFIFO:
		return vfs.KindFIFO
	}
	return vfs.KindUnknown
}

func timeOf(t unix.StatxTimestamp) vfs.Time { return vfs.Time{Sec: t.Sec, Nsec: t.Nsec} }

// ctimeOf returns the ctime as a number: nanoseconds since 1970.
func ctimeOf(st *unix.Statx_t) uint64 { return uint64(st.Ctime.Sec)*1e9 + uint64(st.Ctime.Nsec) }

// fileID returns the inode number, but never 0, which protocols do not allow.
func fileID(ino uint64) uint64 {
	if ino == 0 {
		return 1 << 63
	}
	return ino
}

// attrOf converts st. Change is the ctime; the node's changeState advances it.
func attrOf(st *unix.Statx_t) vfs.Attr {
	a := vfs.Attr{
		Mask: vfs.AttrStat,
		Kind: kindOf(st.Mode), Mode: uint32(st.Mode & 0o7777), Nlink: st.Nlink, UID: st.Uid, GID: st.Gid,
		Size: st.Size, Used: st.Blocks * 512, Rdev: vfs.Dev{Major: st.Rdev_major, Minor: st.Rdev_minor}, FileID: fileID(st.Ino),
		Atime: timeOf(st.Atime), Mtime: timeOf(st.Mtime), Ctime: timeOf(st.Ctime), Btime: timeOf(st.Btime),
		Change: ctimeOf(st),
	}
	if st.Mask&unix.STATX_BTIME == 0 {
		a.Mask &^= vfs.AttrBtime
		a.Btime = vfs.Time{}
	}
	return a
}

// changeState computes the change attribute. It is the ctime, advanced by one if a change made through this server
// did not advance the ctime. That happens where the clock of the file system is coarse (a few milliseconds before
// Linux 6.13).
type changeState struct {
	mu    sync.Mutex
	known bool
	value uint64 // last reported
	ctime uint64 // when it was reported
	count uint64 // number of changes at that time
}

// changed must be called after every change made through this server.
func (n *node) changed() { n.changes.Add(1) }

// statx gets attributes, and updates the state of the node from them.
func (n *node) statx(mask uint32, st *unix.Statx_t) error {
	if n.fs.closed.Load() {
		return vfs.ErrIO
	}
	if e := statxFD(n.fd, mask|unix.STATX_NLINK|unix.STATX_MODE, st); e != 0 {
		return status(e)
	}
	n.learn(st)
	return nil
}

func (n *node) learn(st *unix.Statx_t) {
	const sgid = unix.S_ISGID | unix.S_IXGRP
	if set := st.Mode&unix.S_ISUID != 0 || st.Mode&sgid == sgid; set != n.setID.Load() {
		n.setID.Store(set)
	}
	if gone := st.Nlink == 0; gone != n.gone.Load() {
		n.gone.Store(gone)
	}
}

// GetAttr implements [vfs.Node].
func (n *node) GetAttr(ctx context.Context, mask vfs.AttrMask) (vfs.Attr, error) {
	if err := n.fs.begin(ctx); err != nil {
		return vfs.Attr{}, err
	}
	defer n.fs.budget.Leave()
	return n.getAttr(mask)
}

func (n *node) getAttr(mask vfs.AttrMask) (vfs.Attr, error) {
	var st unix.Statx_t
	if mask&vfs.AttrChange == 0 {
		if err := n.statx(statAll, &st); err != nil {
			return vfs.Attr{}, err
		}
		a := attrOf(&st)
		a.Mask &^= vfs.AttrChange
		return a, nil
	}
	c := &n.change
	c.mu.Lock()
	defer c.mu.Unlock()
	// The count is read first: a change between the two is then reported twice, never missed.
	count := n.changes.Load()
	if err := n.statx(statAll, &st); err != nil {
		return vfs.Attr{}, err
	}
	ctime := ctimeOf(&st)
	switch {
	case !c.known || ctime > c.value:
		c.value = ctime
	case ctime != c.ctime || count != c.count:
		c.value++
	}
	c.known, c.ctime, c.count = true, ctime, count
	a := attrOf(&st)
	a.Change = c.value
	return a, nil
}
