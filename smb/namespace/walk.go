package namespace

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"

	"fileserver/smb/wire"
	"fileserver/vfs"
)

// Options say how a share's tree is shown.
type Options struct {
	// CaseSensitive: names are found exactly, or not at all.
	CaseSensitive bool
	// HideDotFiles: names that begin with a dot are hidden files.
	HideDotFiles bool
}

// View is a share's tree. All methods may be called from any goroutine.
type View struct {
	fs     vfs.FS
	opt    Options
	tables tables
}

// New makes the view of a file system.
func New(fs vfs.FS, o Options) *View {
	return &View{fs: fs, opt: o, tables: tables{seed: maphash.MakeSeed(), m: make(map[vfs.Handle]*table)}}
}

// How is a set of flags for [View.Walk].
type How uint8

// Flags of [View.Walk].
const (
	LastLink How = 1 << iota // the walk does not follow a link at the end of the path
	NoLinks                  // the client follows links itself: each stops the walk
	Exact                    // names in this case only
)

// maxLinks is how many links, one leading to the next, are followed.
const maxLinks = 8

// Object is the result of a walk. Release gives its references back.
type Object struct {
	Dir  vfs.Node // directory of the last element; nil for the root
	Node vfs.Node // nil if there is nothing of the name
	Name string   // of the last element: as it is on disk, or would be
	Path string   // all elements so, separated by "/"
	// Entry is the object that has the name itself: Node, or the link that leads to it.
	Entry vfs.Handle

	// Of the link that the walk has stopped at: what it contains, and how many elements were left behind it.
	Target string
	Rest   int
}

// Release gives Dir and Node back.
func (o *Object) Release() {
	if o.Dir != nil {
		o.Dir.Release()
	}
	if o.Node != nil {
		o.Node.Release()
	}
	o.Dir, o.Node = nil, nil
}

// Walk finds the object of a path for c. If only the last element does not exist, Walk succeeds and Node is nil. The error
// is a [wire.Status] or an error of vfs. STATUS_OBJECT_PATH_NOT_FOUND means that a directory of the path does not exist,
// STATUS_STOPPED_ON_SYMLINK that the client must follow a link (see the package comment).
func (v *View) Walk(ctx context.Context, c *vfs.Cred, p *Path, how How) (Object, error) {
	root, err := v.fs.Root(ctx)
	if err != nil {
		return Object{}, err
	}
	w := walker{v: v, ctx: ctx, c: c, how: how}
	w.held = append(w.heldBuf[:0], root)
	w.dirs = append(w.dirsBuf[:0], root)
	o, err := w.path(p.Elems)
	if err == nil {
		err = w.hand(&o)
	}
	for _, n := range w.held {
		n.Release()
	}
	return o, err
}

// hand gives the object its own references to its directory and node. These may be the same node, if a link leads to its
// own directory.
func (w *walker) hand(o *Object) error {
	if o.Dir != nil {
		w.take(o.Dir)
	}
	if o.Node == nil || w.take(o.Node) {
		return nil
	}
	n, err := w.v.fs.Resolve(w.ctx, o.Node.Handle())
	if err != nil {
		o.Dir.Release()
		*o = Object{}
		return err
	}
	o.Node = n
	return nil
}

// take removes a reference to n from held. It reports whether there was one.
func (w *walker) take(n vfs.Node) bool {
	i := slices.Index(w.held, n)
	if i < 0 {
		return false
	}
	w.held = slices.Delete(w.held, i, i+1)
	return true
}

type walker struct {
	v    *View
	ctx  context.Context
	c    *vfs.Cred
	how  How
	held []vfs.Node // every reference taken
	dirs []vfs.Node // from the root to where the walk is

	heldBuf, dirsBuf [12]vfs.Node
}

// path walks a client's path.
func (w *walker) path(elems []string) (Object, error) {
	if len(elems) == 0 {
		root := w.dirs[0]
		return Object{Node: root, Entry: root.Handle()}, nil
	}
	names := make([]string, 0, len(elems))
	for i, e := range elems {
		last := i == len(elems)-1
		dir := w.dirs[len(w.dirs)-1]
		n, name, err := w.lookup(dir, e, w.how&Exact != 0)
		names = append(names, name)
		if err != nil {
			switch s := vfs.StatusOf(err); {
			case s == vfs.ErrNotFound && last:
				return Object{Dir: dir, Name: name, Path: strings.Join(names, "/")}, nil
			case s == vfs.ErrNotFound || s == vfs.ErrNotDir:
				err = wire.StatusObjectPathNotFound
			case s == vfs.ErrNameTooLong:
				err = wire.StatusObjectNameInvalid
			}
			return Object{}, err
		}
		o := Object{Dir: dir, Node: n, Name: name, Entry: n.Handle()}
		if n.Kind() == vfs.KindSymlink && !(last && w.how&LastLink != 0) {
			target, err := n.Readlink(w.ctx, w.c)
			if err != nil {
				return Object{}, err
			}
			if w.how&NoLinks != 0 || !w.follow(target, 1) {
				return Object{Target: target, Rest: len(elems) - 1 - i}, wire.StatusStoppedOnSymlink
			}
			o.Node = w.dirs[len(w.dirs)-1]
		} else {
			w.dirs = append(w.dirs, n)
		}
		if last {
			o.Path = strings.Join(names, "/")
			return o, nil
		}
		if o.Node.Kind() != vfs.KindDirectory {
			return Object{}, wire.StatusObjectPathNotFound
		}
	}
	panic("unreachable")
}

// follow walks to a link's target, which becomes the end of w.dirs if it exists and is inside the share.
func (w *walker) follow(target string, depth int) bool {
	if depth > maxLinks || target == "" || target[0] == '/' || strings.Count(target, "/") >= maxDepth {
		return false
	}
	for e := range strings.SplitSeq(target, "/") {
		dir := w.dirs[len(w.dirs)-1]
		if dir.Kind() != vfs.KindDirectory {
			return false
		}
		switch e {
		case "", ".":
			continue
		case "..":
			if len(w.dirs) == 1 {
				return false
			}
			w.dirs = w.dirs[:len(w.dirs)-1]
			continue
		}
		n, _, err := w.lookup(dir, e, true)
		if err != nil {
			return false
		}
		if n.Kind() != vfs.KindSymlink {
			w.dirs = append(w.dirs, n)
			continue
		}
		next, err := n.Readlink(w.ctx, w.c)
		if err != nil || !w.follow(next, depth+1) {
			return false
		}
	}
	return true
}

// lookup finds an element and its name on disk; the reference is held.
func (w *walker) lookup(dir vfs.Node, name string, exact bool) (vfs.Node, string, error) {
	n, disk, err := w.v.lookup(w.ctx, w.c, dir, name, exact)
	if err != nil {
		return nil, name, err
	}
	w.held = append(w.held, n)
	return n, disk, nil
}

func (v *View) lookup(ctx context.Context, c *vfs.Cred, dir vfs.Node, name string, exact bool) (vfs.Node, string, error) {
	n, err := dir.Lookup(ctx, c, name)
	if err == nil || err != vfs.ErrNotFound && vfs.StatusOf(err) != vfs.ErrNotFound {
		return n, name, err
	}
	if exact || v.opt.CaseSensitive {
		return nil, name, err
	}
	disk, ferr := name, error(vfs.ErrNotFound)
	if !v.fs.Caps().CaseInsensitive && cased(name) {
		disk, ferr = v.tables.find(ctx, c, dir, name)
	}
	if ferr != nil && MadeUp(name) {
		disk, ferr = short(ctx, c, dir, name)
	}
	if ferr != nil || disk == name {
		return nil, name, err // a user who may not list the directory finds exact names only
	}
	n, err = dir.Lookup(ctx, c, disk)
	return n, disk, err
}

// Added adds a name that the server has created in dir, so that Walk finds it in any case without reading the directory again.
func (v *View) Added(ctx context.Context, dir vfs.Node, name string) {
	if !v.opt.CaseSensitive {
		v.tables.added(ctx, dir, name)
	}
}

// SymlinkError returns the error data for a link that the client has to follow itself (MS-SMB2 2.2.2.2.1): the link's
// target, and the elements of the path behind the link.
func SymlinkError(target string, rest []string) wire.SymlinkError {
	unparsed := 0
	for _, e := range rest {
		unparsed += 2 + wire.UTF16Len(Visible(e))
	}
	e := wire.SymlinkError{Unparsed: uint16(min(unparsed, wire.MaxNameLen))}
	if !strings.HasPrefix(target, "/") {
		e.Flags = wire.SymlinkRelative
	}
	e.Substitute = AppendName(nil, target)
	e.Print = e.Substitute
	return e
}
