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
	a, err := o.node.GetAttr(ctx, vfs.AttrCtime)
	if err != nil {
		return statusOf(err)
	}
	l := &o.session.srv.links
	l.mu.Lock()
	defer l.mu.Unlock()
	o.link.stamp = stamp{t, a.Ctime}
	return wire.StatusSuccess
}

// stamped shows the time of change that was set.
func (l *links) stamped(k *link, i *info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := &k.stamp; s.time != 0 && s.real == i.attr.Ctime {
		i.times.Change = s.time
	}
}
