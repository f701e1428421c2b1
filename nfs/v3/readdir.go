package v3

import (
	"context"

	"fileserver/nfs"
	"fileserver/nfs/rpc"
	"fileserver/nfs/xdr"
	"fileserver/vfs"
)

// ReaddirArgs is READDIR3args (RFC 1813 3.3.16).
type ReaddirArgs struct {
	Dir    Handle
	Cookie uint64
	Verf   [cookieVerf]byte
	Count  uint32 // most bytes of READDIR3resok
}

// Decode consumes the arguments.
func (a *ReaddirArgs) Decode(d *xdr.Decoder) {
	a.Dir.decode(d)
	a.Cookie = d.Uint64()
	copy(a.Verf[:], d.Fixed(cookieVerf))
	a.Count = d.Uint32()
}

// Append appends the arguments.
func (a *ReaddirArgs) Append(b []byte) []byte {
	b = xdr.AppendUint64(a.Dir.append(b), a.Cookie)
	return xdr.AppendUint32(append(b, a.Verf[:]...), a.Count)
}

// Entry is entry3 (RFC 1813 3.3.16) and entryplus3 (RFC 1813 3.3.17), the latter with attributes and handle.
type Entry struct {
	FileID uint64
	Name   string
	Cookie uint64
	Attr   PostOpAttr
	Object Handle
}

// ReaddirRes is READDIR3res (RFC 1813 3.3.16).
type ReaddirRes struct {
	Status  Status
	Dir     PostOpAttr
	Verf    [cookieVerf]byte
	Entries []Entry
	EOF     bool
}

// Decode consumes the results.
func (r *ReaddirRes) Decode(d *xdr.Decoder) { r.decode(d, false) }

func (r *ReaddirRes) decode(d *xdr.Decoder, plus bool) {
	r.Status = Status(d.Uint32())
	r.Dir.decode(d)
	if r.Status != OK {
		return
	}
	copy(r.Verf[:], d.Fixed(cookieVerf))
	r.Entries = nil
	for d.Bool() {
		e := Entry{FileID: d.Uint64(), Name: d.String(maxNameArg), Cookie: d.Uint64()}
		if plus {
			e.Attr.decode(d)
			e.Object.decodeOptional(d)
		}
		r.Entries = append(r.Entries, e)
	}
	r.EOF = d.Bool()
}

// Append appends the results.
func (r *ReaddirRes) Append(b []byte) []byte { return r.append(b, false) }

func (r *ReaddirRes) append(b []byte, plus bool) []byte {
	b = r.Dir.append(xdr.AppendUint32(b, uint32(r.Status)))
	if r.Status != OK {
		return b
	}
	b = append(b, r.Verf[:]...)
	for i := range r.Entries {
		b = r.Entries[i].append(b, plus)
	}
	return appendDirEnd(b, r.EOF)
}

func (e *Entry) append(b []byte, plus bool) []byte {
	b = appendEntry(b, e.FileID, e.Name, e.Cookie)
	if plus {
		b = e.Object.appendOptional(e.Attr.append(b))
	}
	return b
}

// appendEntry appends an entry3, with the word before it that says there is one.
func appendEntry(b []byte, fileID uint64, name string, cookie uint64) []byte {
	b = xdr.AppendUint64(xdr.AppendBool(b, true), fileID)
	return xdr.AppendUint64(xdr.AppendString(b, name), cookie)
}

// appendDirEnd appends what follows the entries.
func appendDirEnd(b []byte, eof bool) []byte { return xdr.AppendBool(xdr.AppendBool(b, false), eof) }

const dirEndSize = 8

func (s *server) readdir(ctx context.Context, c *rpc.Call, r *rpc.Reply) rpc.AcceptStat {
	var a ReaddirArgs
	a.Decode(&c.Args)
	if c.Args.Finish() != nil {
		return rpc.GarbageArgs
	}
	l := listing{s: s, c: c, r: r, maxBytes: a.Count, dirBytes: ^uint32(0)}
	return l.serve(ctx, a.Dir, a.Cookie)
}

// Cookies of the entries that backends do not return; theirs are larger.
const (
	cookieDot    = 1
	cookieDotDot = 2
)

// listing is a READDIR or READDIRPLUS in execution. Entries are appended to the reply as they come.
type listing struct {
	s    *server
	c    *rpc.Call
	r    *rpc.Reply
	dir  object
	plus bool

	maxBytes uint32 // of the resok: count or maxcount
	dirBytes uint32 // of the entries without attributes and handles: dircount

	end   int // how long the reply may get, the end of the list not included
	left  int // of dirBytes
	count int // entries
}

func (l *listing) serve(ctx context.Context, dir Handle, cookie uint64) rpc.AcceptStat {
	res := ReaddirRes{}
	o, st := l.s.resolve(ctx, l.c, dir)
	defer o.release()
	l.dir = o
	res.Dir = o.attr(ctx)
	if st == OK && o.node.Kind() != vfs.KindDirectory {
		st = ErrNotDir
	}
	start := l.r.Mark()
	if st == OK {
		// Cookies stay valid while the directory changes: the verifier says nothing.
		var eof bool
		l.r.Head = xdr.AppendUint32(l.r.Head, uint32(OK))
		limit := min(int(l.maxBytes), maxDir, l.c.Limits.Inline-len(l.r.Head))
		l.end = len(l.r.Head) + limit - dirEndSize
		l.left = int(min(l.dirBytes, maxDir))
		l.r.Head = append(res.Dir.append(l.r.Head), res.Verf[:]...)
		eof, st = l.entries(ctx, cookie)
		if st == OK {
			return reply(l.c, l.r, OK, appendDirEnd(l.r.Head, eof))
		}
		l.r.Rollback(start)
	}
	res.Status = st
	return reply(l.c, l.r, st, res.Append(l.r.Head))
}

// entries appends the entries behind cookie for which there is room.
func (l *listing) entries(ctx context.Context, cookie uint64) (eof bool, st Status) {
	var mask vfs.AttrMask
	if l.plus {
		mask = attrMask
	}
	full := false
	for at := cookie; at < cookieDotDot && !full; at++ {
		e, err := l.dot(ctx, at+1)
		if err != nil {
			return false, statusOf(err)
		}
		full = !l.add(&e)
	}
	if !full {
		if cookie <= cookieDotDot {
			cookie = 0
		}
		done, err := l.dir.node.ReadDir(ctx, l.dir.cred, cookie, mask, l.plus, func(e *vfs.DirEntry) bool {
			full = !l.add(e)
			return !full
		})
		if err != nil {
			return false, statusOf(err)
		}
		eof = done
	}
	if full && l.count == 0 {
		return false, ErrTooSmall
	}
	return eof, OK
}

// dot makes the entry "." or "..".
func (l *listing) dot(ctx context.Context, cookie uint64) (vfs.DirEntry, error) {
	e := vfs.DirEntry{Name: ".", Cookie: cookie, Kind: vfs.KindDirectory, Handle: l.dir.node.Handle()}
	n := l.dir.node
	if cookie == cookieDotDot {
		up, err := n.Parent(ctx, l.dir.cred)
		if err != nil {
			return l.blindDotDot(ctx, err)
		}
		defer up.Release()
		n, e.Name, e.Handle = up, "..", up.Handle()
	}
	a, err := n.GetAttr(ctx, attrMask)
	e.Attr, e.FileID = a, a.FileID
	return e, err
}

// blindDotDot is ".." of a directory that the caller may read but not search: without
// attributes and handle, and with the number of the directory itself, as 0 is none.
func (l *listing) blindDotDot(ctx context.Context, err error) (vfs.DirEntry, error) {
	if vfs.StatusOf(err) != vfs.ErrAccess {
		return vfs.DirEntry{}, err
	}
	a, err := l.dir.node.GetAttr(ctx, vfs.AttrFileID)
	return vfs.DirEntry{Name: "..", Cookie: cookieDotDot, Kind: vfs.KindDirectory, FileID: a.FileID}, err
}

// add appends an entry; false if there is no room for it.
func (l *listing) add(e *vfs.DirEntry) bool {
	b := l.r.Head
	head := appendEntry(b, e.FileID, e.Name, e.Cookie)
	if dir := len(head) - len(b); l.count > 0 && dir > l.left {
		return false
	} else if len(head) > l.end {
		return false
	} else {
		l.left -= dir
	}
	if l.plus {
		head = l.appendPlus(head, e)
		if len(head) > l.end {
			return false
		}
	}
	l.r.Head = head
	l.count++
	return true
}

func (l *listing) appendPlus(b []byte, e *vfs.DirEntry) []byte {
	var p PostOpAttr
	if e.Attr.Mask&attrMask == attrMask {
		p = l.dir.postOp(&e.Attr, nil)
	}
	b = p.append(b)
	b = xdr.AppendBool(b, !e.Handle.IsZero())
	if e.Handle.IsZero() {
		return b
	}
	at := len(b)
	b = nfs.AppendHandle(xdr.AppendUint32(b, 0), l.dir.export, e.Handle)
	n := len(b) - at - 4
	xdr.PutUint32(b, at, uint32(n))
	return append(b, pad[:xdr.Pad(n)]...)
}

var pad [4]byte
