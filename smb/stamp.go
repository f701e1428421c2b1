package smb

import (
	"context"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

// stamp is a time of change that a client has set. No file system lets it be set: it is
// shown as long as the name is open and the object does not change again.
type stamp struct {
	time wire.Filetime // 0: none
	real vfs.Time      // the object's, when it was set
}

// setChangeTime has the time of change be t, until something changes.
func (o *Open) setChangeTime(ctx context.Context, t wire.Filetime) wire.Status {
	a, err := o.object().GetAttr(ctx, vfs.AttrCtime)
	if err != nil {
		return statusOf(err)
	}
	l := &o.session.srv.links
	l.mu.Lock()
	defer l.mu.Unlock()
	o.link.stamp = stamp{t, a.Ctime}
	return wire.StatusSuccess
}

// allocationUnit is what sizes of storage are rounded to, bytes.
const allocationUnit = 4096

// reserve has n bytes be said to be the file's storage, as AlSi asks for. They fit, but are taken as the file grows (MS-SMB2 3.3.5.9.3).
func (l *links) reserve(k *link, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k.reserved = (n + allocationUnit - 1) &^ (allocationUnit - 1)
}

// adorn shows what is said of an object as long as the name is open: the time of change that was set, the storage that was reserved.
func (l *links) adorn(k *link, i *info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := &k.stamp; s.time != 0 && s.real == i.attr.Ctime {
		i.times.Change = s.time
	}
	i.attr.Used = max(i.attr.Used, k.reserved)
}
