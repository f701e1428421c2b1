package smb

import (
	"context"
	"sync"
	"sync/atomic"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// changeTime is a time of change that a client has set. No file system lets it be set: it is shown as long as the object does not
// change again, and the server remembers.
type changeTime struct {
	time wire.Filetime
	real vfs.Time // the object's, when it was set
}

// maxChangeTimes bounds how many objects' are remembered.
const maxChangeTimes = 4096

// changeTimes are those remembered. mu is a leaf.
type changeTimes struct {
	count atomic.Int32 // 0: there are none, and nobody need ask

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

// show puts an object's time of change into what is said of it, unless it has changed again.
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

// setChangeTime has the time of change be t, until something changes.
func (o *Open) setChangeTime(ctx context.Context, t wire.Filetime) wire.Status {
	a, err := o.object().GetAttr(ctx, vfs.AttrCtime)
	if err != nil {
		return statusOf(err)
	}
	o.srv.changeTimes.set(o.link.key, changeTime{t, a.Ctime})
	return wire.StatusSuccess
}

// moveChangeTime has the time of change be now, and leaves all else as it is.
func (o *Open) moveChangeTime(ctx context.Context) {
	times := o.keepTimes(ctx)
	a, err := o.object().GetAttr(ctx, vfs.AttrMtime|vfs.AttrCtime)
	if err != nil {
		return
	}
	// With the guard a WRITE in between is not dated back: it has moved the time, too.
	_ = o.object().SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrMtime, Mtime: a.Mtime, GuardCtime: &a.Ctime})
	times.write = false
	o.restoreTimes(ctx, &times)
}

// allocationUnit is what sizes of storage are rounded to, bytes.
const allocationUnit = 4096

// reserve has the file shown as if it had n bytes of storage, as a create context or FileAllocationInformation asks. They fit, but are
// taken as the file grows (MS-SMB2 3.3.5.9.3).
func (l *links) reserve(k *link, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k.reserved = (n + allocationUnit - 1) &^ (allocationUnit - 1)
}

// adorn adds what is only known while the name is open: the storage that was reserved.
func (l *links) adorn(k *link, i *info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i.attr.Used = max(i.attr.Used, k.reserved)
}
