package smb

import (
	"context"
	"sync"
	"sync/atomic"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// changeTime is a time of change that a client has set. No file system allows this, so the server remembers the time
// and shows it until the object changes again.
type changeTime struct {
	time wire.Filetime
	real vfs.Time // the object's own time when the client set this one
}

// maxChangeTimes bounds for how many objects a time is remembered.
const maxChangeTimes = 4096

// changeTimes are the times of change that the server remembers. mu is a leaf.
type changeTimes struct {
	count atomic.Int32 // 0: there are none, so nobody has to take mu

	mu sync.Mutex
	of map[lock.FileKey]changeTime
}

// set remembers a time of change.
func (s *changeTimes) set(k lock.FileKey, x changeTime) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[lock.FileKey]changeTime)
	}
	if _, ok := s.of[k]; !ok && len(s.of) >= maxChangeTimes {
		for old := range s.of { // any
			delete(s.of, old)
			break
		}
	}
	s.of[k] = x
	s.count.Store(int32(len(s.of)))
}

// show replaces the object's time of change in i by the remembered one, unless the object has changed since.
func (s *changeTimes) show(k lock.FileKey, i *info) {
	if s.count.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.of[k]
	switch {
	case !ok:
	case x.real == i.attr.Ctime:
		i.times.Change = x.time
	default:
		delete(s.of, k)
		s.count.Store(int32(len(s.of)))
	}
}

// setChangeTime sets the time of change to t. It is shown until something changes.
func (o *Open) setChangeTime(ctx context.Context, t wire.Filetime) wire.Status {
	a, err := o.object().GetAttr(ctx, vfs.AttrCtime)
	if err != nil {
		return statusOf(err)
	}
	o.srv.changeTimes.set(o.link.key, changeTime{t, a.Ctime})
	return wire.StatusSuccess
}

// moveChangeTime sets the time of change to now, and leaves all other attributes as they are.
func (o *Open) moveChangeTime(ctx context.Context) {
	times := o.keepTimes(ctx)
	a, err := o.object().GetAttr(ctx, vfs.AttrMtime|vfs.AttrCtime)
	if err != nil {
		return
	}
	// The guard keeps a WRITE in between from being dated back: that WRITE has moved the time, too.
	_ = o.object().SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrMtime, Mtime: a.Mtime, GuardCtime: &a.Ctime})
	times.write = false
	o.restoreTimes(ctx, &times)
}

// allocationUnit is the unit, in bytes, to which sizes of storage are rounded.
const allocationUnit = 4096

// reserve makes the file appear to have n bytes of storage, as a create context or FileAllocationInformation asks.
// The caller has checked that they fit. The storage is only allocated as the file grows (MS-SMB2 3.3.5.9.3).
func (l *links) reserve(k *link, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k.reserved = (n + allocationUnit - 1) &^ (allocationUnit - 1)
}

// adorn adds to i what is known only while the name is open: the reserved storage.
func (l *links) adorn(k *link, i *info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i.attr.Used = max(i.attr.Used, k.reserved)
}
