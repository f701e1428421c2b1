package smb

import (
	"context"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

// keepsTimes says which times an open's own changes leave as they are: the times that the client has set through the
// open, or has asked to be left alone. They stay until the client lets them change again or closes the open
// (UserSetModificationTime and UserSetChangeTime of MS-FSA 2.1.5.15.2). Changes through other opens do move them.
// With the POSIX extensions a time that is set is not kept: the client's programs share opens, and expect a write to
// move the times.
type keepsTimes struct {
	write, change bool
}

// setKeepsTimes notes how a request that sets times affects later changes.
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

// keeps reports whether a time is kept after t was set. kept says whether it was kept before.
func keeps(kept bool, t wire.Filetime, posix bool) bool {
	switch {
	case t == wire.FiletimeThaw:
		return false
	case t == wire.FiletimeFreeze, isTime(t) && !posix:
		return true
	}
	return kept
}

// keptTimes are the times that a change must leave as they are.
type keptTimes struct {
	keepsTimes
	lastWrite  vfs.Time
	lastChange wire.Filetime
}

// keepTimes is called before the open changes the object. It returns the times that restoreTimes restores afterwards.
func (o *Open) keepTimes(ctx context.Context) keptTimes {
	k := o.keeps.Load()
	if k == nil {
		return keptTimes{}
	}
	a, err := o.object().GetAttr(ctx, vfs.AttrMtime|vfs.AttrCtime)
	if err != nil {
		return keptTimes{} // the change does not depend on the times
	}
	i := info{attr: a}
	i.times.Change = wire.UnixFiletime(a.Ctime.Sec, a.Ctime.Nsec)
	o.srv.changeTimes.show(o.link.key, &i)
	return keptTimes{keepsTimes: *k, lastWrite: a.Mtime, lastChange: i.times.Change}
}

// restoreTimes restores the times that keepTimes has returned. If another client has written in between, its write is
// dated back, too: file systems move the time by themselves, so this cannot be avoided.
func (o *Open) restoreTimes(ctx context.Context, k *keptTimes) {
	if k.write {
		_ = o.object().SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrMtime, Mtime: k.lastWrite}) // the data is written, whatever happens to the time
	}
	if k.change {
		_ = o.setChangeTime(ctx, k.lastChange)
	}
}
