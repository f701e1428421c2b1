package mem

import "slices"

// firstCookie leaves out 0, 1 and 2, which NFSv4 reserves (RFC 8881 18.23.3).
const firstCookie = 3

// dirent is an entry of a directory. Its cookie is never given to another entry of the same directory.
type dirent struct {
	name   string
	cookie uint64
	in     *inode // nil once the entry is removed
}

// dir is the content of a directory, guarded by FS.ns.
type dir struct {
	parent *inode // of the root: itself
	names  map[string]*dirent
	order  []*dirent // by cookie; with removed entries in between
	holes  int       // removed entries in order
	next   uint64    // cookie of the next entry
}

func newDir(parent *inode) *dir {
	return &dir{parent: parent, names: make(map[string]*dirent), next: firstCookie}
}

func (d *dir) get(name string) *inode {
	if e := d.names[name]; e != nil {
		return e.in
	}
	return nil
}

func (d *dir) add(name string, in *inode) {
	e := &dirent{name: name, cookie: d.next, in: in}
	d.next++
	d.names[name] = e
	d.order = append(d.order, e)
}

func (d *dir) remove(name string) {
	e := d.names[name]
	delete(d.names, name)
	e.in = nil
	d.holes++
	if d.holes > 16 && d.holes > len(d.order)/2 {
		d.order = slices.DeleteFunc(d.order, func(e *dirent) bool { return e.in == nil })
		d.holes = 0
	}
}

// restore puts an entry back as it was before (in is nil: removes it).
func (d *dir) restore(name string, cookie uint64, in *inode) {
	if d.names[name] != nil {
		d.remove(name)
	}
	if in == nil {
		return
	}
	e := &dirent{name: name, cookie: cookie, in: in}
	d.names[name] = e
	i := d.after(cookie - 1)
	if i < len(d.order) && d.order[i].cookie == cookie { // the hole that it left
		d.order[i] = e
		d.holes--
		return
	}
	d.order = slices.Insert(d.order, i, e)
}

// after is the index of the first entry behind a cookie.
func (d *dir) after(cookie uint64) int {
	i, found := slices.BinarySearchFunc(d.order, cookie, func(e *dirent, c uint64) int {
		switch {
		case e.cookie < c:
			return -1
		case e.cookie > c:
			return 1
		}
		return 0
	})
	if found {
		i++
	}
	return i
}
