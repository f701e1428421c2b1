package vfstest

import (
	"slices"

	"fileserver/vfs"

	"pgregory.net/rapid"
)

// object is an object of the model of a tree.
type object struct {
	kind    vfs.Kind
	links   uint32
	parent  *object
	entries map[string]*object
	node    vfs.Node
}

func (o *object) isDir() bool { return o.kind == vfs.KindDirectory }

// within reports whether o is dir or below it.
func (o *object) within(dir *object) bool {
	for ; ; o = o.parent {
		if o == dir {
			return true
		}
		if o == nil || o.parent == o {
			return false
		}
	}
}

type treeModel struct {
	*env
	root *object
	dirs []*object // all there ever were
}

var modelNames = []string{"a", "b", "c", "d"}

// testTreeModel runs random programs on names against a simple model, and compares every outcome and the whole tree.
func testTreeModel(e *env) {
	rapid.Check(e.T, func(t *rapid.T) {
		n, err := e.root.Mkdir(e.ctx, e.c, "model", mode(0o755))
		if err != nil {
			t.Fatal(err)
		}
		m := &treeModel{env: e, root: &object{kind: vfs.KindDirectory, entries: map[string]*object{}, node: n}}
		m.root.parent = m.root
		m.dirs = []*object{m.root}
		var nodes []vfs.Node
		defer func() {
			m.clear(m.root)
			e.root.Remove(e.ctx, e.c, "model", true)
			n.Release()
			for _, n := range nodes {
				n.Release()
			}
		}()
		keep := func(n vfs.Node) { nodes = append(nodes, n) }
		t.Repeat(map[string]func(*rapid.T){
			"create":  func(t *rapid.T) { m.create(t, vfs.KindRegular, keep) },
			"mkdir":   func(t *rapid.T) { m.create(t, vfs.KindDirectory, keep) },
			"symlink": func(t *rapid.T) { m.create(t, vfs.KindSymlink, keep) },
			"link":    m.link, "remove": m.remove, "rename": m.rename,
			"": func(t *rapid.T) { m.compare(t, m.root) },
		})
	})
}

func (m *treeModel) dir(t *rapid.T, what string) *object {
	live := slices.DeleteFunc(slices.Clone(m.dirs), func(d *object) bool { return !d.within(m.root) })
	return rapid.SampledFrom(live).Draw(t, what)
}

// String keeps rapid's log short.
func (o *object) String() string { return "dir" }

func name(t *rapid.T, what string) string { return rapid.SampledFrom(modelNames).Draw(t, what) }

func (m *treeModel) status(t *rapid.T, what string, err error, want vfs.Status) {
	if got := vfs.StatusOf(err); got != want {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func (m *treeModel) create(t *rapid.T, kind vfs.Kind, keep func(vfs.Node)) {
	d, name := m.dir(t, "dir"), name(t, "name")
	var n vfs.Node
	var err error
	switch kind {
	case vfs.KindDirectory:
		n, err = d.node.Mkdir(m.ctx, m.c, name, mode(0o755))
	case vfs.KindSymlink:
		n, err = d.node.Symlink(m.ctx, m.c, name, "t", &vfs.SetAttr{})
	default:
		n, _, err = d.node.Create(m.ctx, m.c, name, true, mode(0o644))
	}
	if err == nil {
		keep(n)
	}
	if d.entries[name] != nil {
		m.status(t, "create", err, vfs.ErrExist)
		return
	}
	m.status(t, "create", err, vfs.OK)
	o := &object{kind: kind, links: 1, node: n}
	if kind == vfs.KindDirectory {
		o.parent, o.entries = d, map[string]*object{}
		m.dirs = append(m.dirs, o)
	}
	d.entries[name] = o
}

func (m *treeModel) link(t *rapid.T) {
	from, d := m.dir(t, "from"), m.dir(t, "dir")
	o, to := from.entries[name(t, "name")], name(t, "to")
	if o == nil || o.isDir() {
		return
	}
	err := d.node.Link(m.ctx, m.c, to, o.node)
	if d.entries[to] != nil {
		m.status(t, "link", err, vfs.ErrExist)
		return
	}
	m.status(t, "link", err, vfs.OK)
	d.entries[to] = o
	o.links++
}

func (m *treeModel) remove(t *rapid.T) {
	d, name, isDir := m.dir(t, "dir"), name(t, "name"), rapid.Bool().Draw(t, "dir")
	err := d.node.Remove(m.ctx, m.c, name, isDir)
	o := d.entries[name]
	switch {
	case o == nil:
		m.status(t, "remove", err, vfs.ErrNotFound)
	case isDir && !o.isDir():
		m.status(t, "remove", err, vfs.ErrNotDir)
	case !isDir && o.isDir():
		m.status(t, "remove", err, vfs.ErrIsDir)
	case len(o.entries) > 0:
		m.status(t, "remove", err, vfs.ErrNotEmpty)
	default:
		m.status(t, "remove", err, vfs.OK)
		delete(d.entries, name)
		m.unlink(o)
	}
}

func (m *treeModel) unlink(o *object) {
	o.links--
	if o.isDir() {
		o.parent = nil
	}
}

func (m *treeModel) rename(t *rapid.T) {
	d, from := m.dir(t, "dir"), name(t, "from")
	dst, to := m.dir(t, "to dir"), name(t, "to")
	err := d.node.Rename(m.ctx, m.c, from, dst.node, to)
	o, old := d.entries[from], dst.entries[to]
	want := vfs.OK
	switch {
	case o == nil:
		want = vfs.ErrNotFound
	case o.isDir() && dst.within(o):
		want = vfs.ErrInvalid
	case old != nil && old.isDir() && d.within(old):
		want = vfs.ErrNotEmpty
	case old == o:
		m.status(t, "rename to itself", err, vfs.OK)
		return
	case old == nil:
	case o.isDir() && !old.isDir():
		want = vfs.ErrNotDir
	case !o.isDir() && old.isDir():
		want = vfs.ErrIsDir
	case len(old.entries) > 0:
		want = vfs.ErrNotEmpty
	}
	m.status(t, "rename", err, want)
	if want != vfs.OK {
		return
	}
	if old != nil {
		m.unlink(old)
	}
	delete(d.entries, from)
	dst.entries[to] = o
	if o.isDir() {
		o.parent = dst
	}
}

// compare checks that the tree below d is the model's.
func (m *treeModel) compare(t *rapid.T, d *object) {
	seen := 0
	_, err := d.node.ReadDir(m.ctx, m.c, 0, vfs.AttrNlink, true, func(x *vfs.DirEntry) bool {
		seen++
		o := d.entries[x.Name]
		switch {
		case o == nil:
			t.Errorf("there is a %q too much", x.Name)
		case x.Handle != o.node.Handle():
			t.Errorf("%q is another object", x.Name)
		case !o.isDir() && x.Attr.Nlink != o.links:
			t.Errorf("%q has %d links, want %d", x.Name, x.Attr.Nlink, o.links)
		}
		return true
	})
	if err != nil || seen != len(d.entries) {
		t.Fatalf("%d entries, want %d (%v)", seen, len(d.entries), err)
	}
	for name, o := range d.entries {
		if o.isDir() {
			if n, err := o.node.Parent(m.ctx, m.c); err != nil {
				t.Fatalf("Parent of %s: %v", name, err)
			} else {
				if n.Handle() != d.node.Handle() {
					t.Fatalf("another directory is the parent of %s", name)
				}
				n.Release()
			}
			m.compare(t, o)
		}
	}
}

// clear removes everything below d.
func (m *treeModel) clear(d *object) {
	for name, o := range d.entries {
		if o.isDir() {
			m.clear(o)
		}
		d.node.Remove(m.ctx, m.c, name, o.isDir())
	}
}
