package v4

import (
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

type readDirArgs struct {
	cookie             uint64
	verifier           proto.Verifier
	dirCount, maxCount uint32
	want               proto.Bitmap
}

func (a *readDirArgs) decode(c *compound) bool {
	a.cookie, a.verifier = c.d.Uint64(), proto.DecodeVerifier(c.d)
	a.dirCount, a.maxCount = c.d.Uint32(), c.d.Uint32()
	a.want, _ = proto.DecodeBitmap(c.d)
	return c.badXDR()
}

// dirTail is what ends a list of entries: no further one, and eof.
const dirTail = 8

// lister appends entries to a reply within the limits of a READDIR.
type lister struct {
	c     *compound
	want  proto.Bitmap
	v     values
	limit int // length of the reply's head at most, with dirTail
	names int // bytes of cookies and names that dircount allows; less than 0: any
	count int
	full  bool
	st    proto.Status
}

// readDir is READDIR (RFC 8881 18.23). Cookies stay valid while a directory changes, so the verifier is always zero.
func (c *compound) readDir() proto.Status {
	var a readDirArgs
	if a.decode(c) {
		return proto.ErrBadXDR
	}
	if st := c.directory(); st != proto.OK {
		return notDir(st)
	}
	switch {
	case a.cookie == 1 || a.cookie == 2:
		return proto.ErrBadCookie
	case a.cookie != 0 && a.verifier != proto.Verifier{}:
		return proto.ErrNotSame
	case a.want.And(writeOnly) != proto.Bitmap{}:
		return proto.ErrInval
	}
	after := 0
	if c.index+1 < c.count {
		after = afterData / 4
	}
	l := lister{c: c, want: a.want.And(c.gettable()), names: -1}
	l.limit = len(c.r.Head) + int(min(int64(a.maxCount), int64(max(0, c.room()-after))))
	if a.dirCount > 0 {
		l.names = int(min(a.dirCount, 1<<30))
	}
	c.r.Head = append(c.r.Head, 0, 0, 0, 0, 0, 0, 0, 0) // cookieverf
	if len(c.r.Head)+dirTail > l.limit {
		return proto.ErrTooSmall
	}
	var eof bool
	var st proto.Status
	if c.cur.pseudo != nil {
		eof = l.pseudo(c.cur.pseudo, a.cookie)
	} else {
		eof, st = l.directory(a.cookie)
	}
	switch {
	case st != proto.OK:
		return st
	case l.st != proto.OK && l.count == 0:
		return l.st
	case l.full && l.count == 0:
		return proto.ErrTooSmall
	}
	c.uint32(0)
	c.bool(eof && !l.full && l.st == proto.OK)
	return proto.OK
}

// directory lists a directory of an export.
func (l *lister) directory(cookie uint64) (bool, proto.Status) {
	c := l.c
	l.v = values{export: c.cur.export, caps: c.cur.export.FS.Caps()}
	_, l.v.xattrs = c.cur.node.(vfs.Xattrer)
	if st := c.capacity(l.want, &l.v); st != proto.OK {
		return false, st
	}
	mask := maskOf(l.want)
	handles := l.want.Has(proto.AttrFileHandle)
	if l.want.Has(proto.AttrType) {
		mask |= vfs.AttrMode // which makes sure of the kind
	}
	eof, err := c.cur.node.ReadDir(c.ctx, c.creds(), cookie, mask, handles, func(e *vfs.DirEntry) bool {
		l.v.attr, l.v.handle, l.v.err = e.Attr, e.Handle, proto.OK
		if missing := mask &^ e.Attr.Mask; missing&^(vfs.AttrFileID|vfs.AttrBtime) != 0 || handles && e.Handle.IsZero() {
			l.v.err = proto.ErrIO
		}
		if e.Attr.Mask&vfs.AttrFileID == 0 {
			l.v.attr.FileID = e.FileID
		}
		if l.v.attr.Kind == vfs.KindUnknown {
			l.v.attr.Kind = e.Kind
		}
		return l.entry(e.Cookie, e.Name)
	})
	return eof, statusOf(err)
}

// pseudo lists a directory of the pseudo file system; cookies are 3, 4, 5 …
func (l *lister) pseudo(n *pseudoNode, cookie uint64) bool {
	c := l.c
	for i, child := range n.children {
		at := uint64(i) + 3
		if at <= cookie || !c.visible(child) {
			continue
		}
		l.v = values{}
		t, err := c.enter(child)
		if err == nil {
			if st := c.values(&t, l.want, &l.v); st != proto.OK {
				l.v.err = st
			}
		} else {
			l.v.err = statusOf(err)
		}
		l.v.pseudo = child
		if !l.entry(at, child.name) {
			return false
		}
	}
	return true
}

// entry appends an entry4, unless it has no room; then it returns false.
func (l *lister) entry(cookie uint64, name string) bool {
	if l.names >= 0 {
		if l.names -= 8 + 4 + len(name) + xdr.Pad(len(name)); l.names < 0 && l.count > 0 {
			l.full = true
			return false
		}
		l.names = max(l.names, 0)
	}
	want := l.want
	if l.v.err != proto.OK {
		if !want.Has(proto.AttrRdAttrError) {
			l.st = l.v.err
			return false
		}
		want = proto.Bits(proto.AttrRdAttrError)
	}
	r := l.c.r
	at := len(r.Head)
	r.Head = xdr.AppendUint32(r.Head, 1)
	r.Head = xdr.AppendUint64(r.Head, cookie)
	r.Head = xdr.AppendString(r.Head, name)
	r.Head = l.c.appendAttrs(r.Head, want, &l.v)
	if len(r.Head)+dirTail > l.limit {
		r.Head = r.Head[:at]
		l.full = true
		return false
	}
	l.count++
	return true
}
