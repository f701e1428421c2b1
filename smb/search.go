package smb

import (
	"context"
	"sync"

	"fileserver/smb/namespace"
	"fileserver/smb/secdesc"
	"fileserver/smb/wire"
	"fileserver/vfs"
)

// search is the position of an enumeration in an open directory (MS-SMB2 3.3.1.10: EnumerationLocation,
// EnumerationSearchPattern). The directory may change meanwhile: cookies stay valid, and each entry is returned once.
//
// mu is held while the directory is read: requests of the same open wait for each other. It is taken with nothing
// else held.
type search struct {
	mu      sync.Mutex
	begun   bool
	pattern pattern
	dots    int    // 0: next comes ".", 1: "..", 2: entries
	cookie  uint64 // the cookie of the last entry read
	given   bool   // an entry has been returned since the enumeration began
	batch   []found
}

// found is an entry that matches the pattern.
type found struct {
	name   string // on disk
	shown  string // as the client sees it
	cookie uint64
	info   info
	eaSize uint32 // bytes
}

// restart begins the enumeration anew. An empty pattern stands for the previous one (MS-SMB2 3.3.5.18).
func (s *search) restart(pattern string) {
	if pattern != "" || !s.begun {
		s.pattern = parsePattern(pattern)
	}
	s.begun, s.dots, s.cookie, s.given = true, 0, 0, false
}

// searcher reads a directory for one request.
type searcher struct {
	ctx   context.Context
	c     *vfs.Cred
	o     *Open
	s     *search
	view  *namespace.View
	class wire.InfoClass
	posix bool
	mask  vfs.AttrMask
	list  wire.List
	max   int // entries that may still be returned
	full  bool
	entry wire.DirEntry
}

// Bounds of the number of entries read from a directory at once.
const (
	minBatch = 8
	maxBatch = 256
)

// run returns entries until there are no more, or no room is left.
func (w *searcher) run() error {
	if w.class != wire.FileNamesInformation {
		w.mask = vfs.AttrStat
	}
	for w.s.dots < 2 && !w.full && w.max > 0 {
		if err := w.dot(); err != nil {
			return err
		}
	}
	for n := minBatch; !w.full && w.max > 0; n = min(2*n, maxBatch) {
		eof, err := w.batch(min(n, w.max))
		if err != nil {
			return err
		}
		for i := range w.s.batch {
			f := &w.s.batch[i]
			w.details(f)
			if !w.add(f) {
				return nil
			}
			w.s.cookie = f.cookie
		}
		if eof {
			return nil
		}
	}
	return nil
}

// dot returns "." or "..".
func (w *searcher) dot() error {
	f := found{shown: "."}
	n := w.o.object()
	if w.s.dots == 1 {
		f.shown = ".."
		if w.o.path() != "" { // the client sees nothing above the share
			p, err := n.Parent(w.ctx, w.c)
			if err == nil {
				defer p.Release()
				n = p
			}
		}
	}
	if w.s.pattern.match(f.shown) {
		if w.mask != 0 {
			var err error
			if f.info, err = infoOf(w.ctx, w.view, n, ""); err != nil {
				return err
			}
		}
		if !w.add(&f) {
			return nil
		}
	}
	w.s.dots++
	return nil
}

// batch reads up to n entries that match the pattern. It skips the entries in front of them that do not match.
func (w *searcher) batch(n int) (eof bool, err error) {
	s := w.s
	clear(s.batch)
	s.batch = s.batch[:0]
	var temps []string
	eof, err = w.o.object().ReadDir(w.ctx, w.c, s.cookie, w.mask, false, func(e *vfs.DirEntry) bool {
		if len(s.batch) >= n {
			return false
		}
		temp := isTempName(e.Name)
		if temp {
			temps = append(temps, e.Name)
		}
		shown := e.Name
		if !w.o.posix {
			shown = namespace.Visible(e.Name)
		}
		if temp || w.mask != 0 && e.Attr.Mask == 0 || !s.pattern.match(shown) && !w.standsFor(shown) { // it was removed meanwhile, or does not match
			if len(s.batch) == 0 {
				s.cookie = e.Cookie
			} else {
				s.batch[len(s.batch)-1].cookie = e.Cookie
			}
			return true
		}
		s.batch = append(s.batch, found{name: e.Name, shown: shown, cookie: e.Cookie, info: info{attr: e.Attr}})
		return true
	})
	if !w.o.share.readOnly() {
		w.o.srv.removeLeft(w.ctx, w.o.object(), temps)
	}
	return eof, err
}

// shortNames reports whether the server generates names of 8.3 characters.
func (w *searcher) shortNames() bool { return !w.o.posix && !w.o.share.CaseSensitive }

// standsFor reports whether the pattern is the 8.3 name that the server generates for the name.
func (w *searcher) standsFor(shown string) bool {
	if w.s.pattern.short == "" || !w.shortNames() {
		return false
	}
	short, madeUp := namespace.ShortName(shown)
	return madeUp && short == w.s.pattern.short
}

// details completes an entry with what is stored beside the file. If the client does not see symbolic links, the
// entry of a link gets the attributes of its target.
func (w *searcher) details(f *found) {
	if w.mask == 0 {
		return
	}
	kind := f.info.attr.Kind
	switch {
	case kind == vfs.KindSymlink && !w.posix:
		if w.follow(f) {
			return
		}
	case kind == vfs.KindRegular || kind == vfs.KindDirectory:
		if _, ok := w.o.object().(vfs.Xattrer); !ok {
			break
		}
		if n, err := w.o.object().Lookup(w.ctx, w.c, f.name); err == nil {
			w.beside(f, n)
			f.info.complete(w.view, f.name)
			w.o.srv.changeTimes.show(n.Identity(), &f.info)
			n.Release()
			return
		}
	}
	f.info.complete(w.view, f.name)
}

// beside reads what is stored beside the object. Most objects have nothing there.
func (w *searcher) beside(f *found, n vfs.Node) {
	if names, err := n.(vfs.Xattrer).ListXattrs(w.ctx, root); err != nil || len(names) == 0 {
		return
	}
	f.info.meta = namespace.LoadMeta(w.ctx, n)
	switch w.class {
	case wire.FileDirectoryInformation, wire.FilePosixInformation:
	default:
		f.eaSize = eaSize(w.ctx, n)
	}
}

// follow replaces the entry of a link by its target, if a client that opens the link gets the target.
func (w *searcher) follow(f *found) bool {
	p := namespace.Path{Elems: append(pathElems(w.o.path()), f.name)}
	obj, err := w.view.Walk(w.ctx, w.c, &p, namespace.Exact)
	if err != nil {
		return false
	}
	defer obj.Release()
	if obj.Node == nil {
		return false
	}
	i, err := infoOf(w.ctx, w.view, obj.Node, f.name)
	if err != nil {
		return false
	}
	f.info = i
	return true
}

// add appends an entry to the list. It returns false if there was no room, or if the client asked for no more
// entries.
func (w *searcher) add(f *found) bool {
	i, e := &f.info, &w.entry
	e.Times, e.EndOfFile, e.AllocationSize = i.times, i.size(), i.allocated()
	e.FileAttributes, e.FileID, e.Links = i.dos, i.attr.FileID, i.attr.Nlink
	e.ReparseTag, e.EASize, e.Name = i.tag(), f.eaSize, f.shown
	if e.ReparseTag != 0 {
		e.EASize = e.ReparseTag
	}
	e.ShortName = ""
	if (w.class == wire.FileBothDirectoryInformation || w.class == wire.FileIDBothDirectoryInformation) && w.shortNames() && w.s.dots == 2 {
		if short, madeUp := namespace.ShortName(f.shown); madeUp {
			e.ShortName = short
		}
	}
	if w.class == wire.FilePosixInformation {
		e.Mode = posixMode(&i.attr)
		e.Owner = secdesc.UnixUser(i.attr.UID).Append(e.Owner[:0])
		e.Group = secdesc.UnixGroup(i.attr.GID).Append(e.Group[:0])
	}
	if w.max == 0 || !w.list.AddDirEntry(w.class, e) {
		w.full = true
		return false
	}
	w.s.given = true
	w.max--
	return true
}
