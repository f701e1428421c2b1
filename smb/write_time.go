package smb

import (
	"context"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

// setWriteTime notes what a client wants of the time of the last write: what it has set through an open, or asked to leave as it is, its writes
// through the same open do not change (UserSetModificationTime of MS-FSA 2.1.5.15.2), until it thaws it or closes the open. Not so for
// clients that know POSIX, whose writes always change it: they set times through opens of other programs.
func (o *Open) setWriteTime(ctx context.Context, t wire.Filetime) {
	switch {
	case t == wire.FiletimeThaw:
		o.frozen.Store(nil)
	case t == wire.FiletimeFreeze:
		if a, err := o.object().GetAttr(ctx, vfs.AttrMtime); err == nil {
			o.frozen.Store(&a.Mtime)
		}
	case isTime(t) && !o.conn.neg.Load().posix:
		var m vfs.Time
		m.Sec, m.Nsec = t.Unix()
		o.frozen.Store(&m)
	}
}

// wrote sets the time of the last write back, behind a change of the data, if it is to stay as it is.
func (o *Open) wrote(ctx context.Context) {
	if m := o.frozen.Load(); m != nil {
		_ = o.object().SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrMtime, Mtime: *m}) // the data is there whatever the time
	}
}
