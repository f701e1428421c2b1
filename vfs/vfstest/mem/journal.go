package mem

import (
	"sync"

	"fileserver/vfs"
)

// change names an entry of a directory that is about to change.
type change struct {
	dir  *inode
	name string
}

// entryImage is an entry as it was.
type entryImage struct {
	change
	cookie uint64
	in     *inode // nil: there was none
}

// attrImage is what an operation may change of an object's attributes, as it was.
type attrImage struct {
	in   *inode
	attr vfs.Attr
	all  bool // not only what changes of names change
}

// record is one operation that is not stable.
type record struct {
	entries   []entryImage
	attrs     []attrImage
	xattrs    map[string][]byte // those of attrs[0], if setXattrs
	setXattrs bool
}

// journal remembers changes of names and attributes until they are stable, so that a crash can
// undo them. It does nothing unless enabled.
type journal struct {
	on   bool
	mu   sync.Mutex
	over bool // there was a crash: nothing becomes stable any more
	recs []record
}

// attr notes that the attributes of an object are about to change. in.mu is held.
func (j *journal) attr(in *inode) {
	if j.on {
		j.add(record{attrs: []attrImage{{in, in.attr, true}}})
	}
}

// xattr notes that the extended attributes of an object have changed. in.mu is held.
func (j *journal) xattr(in *inode, before map[string][]byte) {
	if j.on {
		j.add(record{attrs: []attrImage{{in, in.attr, true}}, xattrs: before, setXattrs: true})
	}
}

// names notes that an entry, and the objects' link counts and times, are about to change. fs.ns is held for writing.
func (j *journal) names(c change, touched ...*inode) {
	if j.on {
		j.add(record{entries: []entryImage{c.image()}, attrs: images(touched)})
	}
}

// rename notes a move from one entry to another.
func (j *journal) rename(from, to change, touched []*inode) {
	if j.on {
		j.add(record{entries: []entryImage{from.image(), to.image()}, attrs: images(touched)})
	}
}

func (c change) image() entryImage {
	if e := c.dir.dir.names[c.name]; e != nil {
		return entryImage{c, e.cookie, e.in}
	}
	return entryImage{change: c}
}

func images(touched []*inode) []attrImage {
	var a []attrImage
	for _, in := range touched {
		a = append(a, attrImage{in, in.getattr(), false})
	}
	return a
}

// add appends a record. It keeps the objects until the record is stable.
func (j *journal) add(r record) {
	for _, a := range r.attrs {
		a.in.pins.Add(1)
	}
	j.mu.Lock()
	j.recs = append(j.recs, r)
	j.mu.Unlock()
}

// sync makes the changes of an object stable, and with them all that came before. It fails after a crash.
func (j *journal) sync(in *inode) error {
	if !j.on {
		return nil
	}
	j.mu.Lock()
	if j.over {
		j.mu.Unlock()
		return vfs.ErrIO
	}
	n := len(j.recs)
	for n > 0 && !j.recs[n-1].touches(in) {
		n--
	}
	stable := j.recs[:n:n]
	j.recs = append([]record(nil), j.recs[n:]...)
	j.mu.Unlock()
	for _, r := range stable {
		for _, a := range r.attrs {
			if a.in.pins.Add(-1) == 0 {
				a.in.free()
			}
		}
	}
	return nil
}

func (r *record) touches(in *inode) bool {
	for _, a := range r.attrs {
		if a.in == in {
			return true
		}
	}
	return false
}

// undo takes back what is not stable, the last first, but for the parents of directories: entries tell
// them. The file system is closed and fs.ns is held for writing.
func (j *journal) undo() {
	j.mu.Lock()
	recs := j.recs
	j.recs, j.over = nil, true
	j.mu.Unlock()
	for i := len(recs) - 1; i >= 0; i-- {
		r := &recs[i]
		for k := len(r.entries) - 1; k >= 0; k-- {
			e := r.entries[k]
			e.dir.dir.restore(e.name, e.cookie, e.in)
		}
		for _, a := range r.attrs {
			a.restore()
		}
		if r.setXattrs {
			r.attrs[0].in.xattrs = r.xattrs
		}
	}
}

func (a *attrImage) restore() {
	a.in.mu.Lock()
	defer a.in.mu.Unlock()
	now := &a.in.attr
	if a.all {
		// Size, storage and the counter are the data's, and never go back.
		a.attr.Size, a.attr.Used, a.attr.Change = now.Size, now.Used, now.Change
		*now = a.attr
		return
	}
	now.Nlink, now.Mtime, now.Ctime = a.attr.Nlink, a.attr.Mtime, a.attr.Ctime
}
