package smb

import (
	"context"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

// keepsTimes says which times an open's own changes leave as they are: those that the client has set through the open, or asked to be
// left alone, until it thaws them or closes the open (UserSetModificationTime and UserSetChangeTime of MS-FSA 2.1.5.15.2). Changes
// through other opens move them. With the POSIX extensions a time that is set is not kept: the client's programs share
// opens, and expect that a write moves the times.
type keepsTimes struct {
	write, change bool
}

// setKeepsTimes notes what setting the times says of later changes.
func (o *Open) setKeepsTimes(t *wire.Times) {
	posix := o.home.conn.neg.Load().posix
	k := keepsTimes{}
	if old := o.keeps.Load(); old != nil {
		k = *old
	}
	k.write = keeps(k.write, t.LastWrite, posix)
	k.change = keeps(k.change, t.Change, posix)
	if k == (keepsTimes{}) {
		o.keeps.Store(nil)
	} else {
		o.keeps.Store(&k)
	}
}

// keeps reports whether a time is kept that was kept or not, after t has been set.
func keeps(kept bool, t wire.Filetime, posix bool) bool {
	switch {
	case t == wire.FiletimeThaw:
		return false
	case t == wire.FiletimeFreeze, isTime(t) && !posix:
		return true
	}
	return kept
}

// keptTimes are the times that a change will leave as they are.
type keptTimes struct {
	keepsTimes
	lastWrite  vfs.Time
	lastChange wire.Filetime
}

// keepTimes returns, before the open changes the object, the times that restoreTimes sets again afterwards.
func (o *Open) keepTimes(ctx context.Context) keptTimes {
	k := o.keeps.Load()
	if k == nil {
		return keptTimes{}
	}
	a, err := o.object().GetAttr(ctx, vfs.AttrMtime|vfs.AttrCtime)
	if err != nil {
		return keptTimes{} // the change is made whatever the times will be
	}
	i := info{attr: a}
	i.times.Change = wire.UnixFiletime(a.Ctime.Sec, a.Ctime.Nsec)
	o.srv.changeTimes.show(o.link.key, &i)
	return keptTimes{keepsTimes: *k, lastWrite: a.Mtime, lastChange: i.times.Change}
}

// restoreTimes sets what keepTimes has returned. Whoever else has written in between is dated back, too: that is the price
// of file systems that move the time by themselves.
func (o *Open) restoreTimes(ctx context.Context, k *keptTimes) {
	if k.write {
		_ = o.object().SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrMtime, Mtime: k.lastWrite}) // the data is there whatever the time
	}
	if k.change {
		_ = o.setChangeTime(ctx, k.lastChange)
	}
}
