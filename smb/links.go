package smb

import (
	"context"
	"strings"
	"sync"

	"fileserver/smb/namespace"
	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/notify"
)

// links are the names that are open. mu is taken after every other mutex of this package.
type links struct {
	locks *lock.Manager // for the names of directories; its Changes are told of names that are deleted

	mu sync.Mutex
	of map[lock.FileKey][]*link // by the file that the name leads to
}

// link is a name by which a file is open, shared by all opens of it through any share (MS-FSA 2.1.1.4).
type link struct {
	key   lock.FileKey
	isDir bool // Remove takes a directory

	// Guarded by links.mu.
	dir      vfs.Identity // the directory; zero: the link is the root of a share
	name     string       // in it, on disk
	places   []place      // one for each share that it has been opened through
	left     []vfs.Node   // directories it has been moved from: somebody may be using them
	reserved uint64       // bytes
	disposition
}

// place is where a share has a link.
type place struct {
	fs    vfs.FS
	dir   vfs.Node   // nil: the link is the share's root; the link's own reference
	entry vfs.Handle // what the name itself names: the file, or a symbolic link that leads to it
	path  string     // from the share's root, on disk
}

// inLocked is where the share has the link; nil if no directory of the share has it any more.
func (k *link) inLocked(fs vfs.FS) *place {
	for i := range k.places {
		if k.places[i].fs == fs {
			return &k.places[i]
		}
	}
	return nil
}

// join finds or makes the link of what a path has led to, for one more open. It takes obj.Dir over if it needs it. The
// link may be about to be deleted: STATUS_DELETE_PENDING.
func (l *links) join(fs vfs.FS, key lock.FileKey, obj *namespace.Object) (*link, wire.Status) {
	var dir vfs.Identity
	if obj.Dir != nil {
		dir = obj.Dir.Identity()
	}
	isDir := obj.Node.Kind() == vfs.KindDirectory && obj.Entry == obj.Node.Handle()
	at := place{fs: fs, dir: obj.Dir, entry: obj.Entry, path: obj.Path}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.of[key] {
		same := k.name == obj.Name && k.dir == dir
		switch {
		case k.gone:
		case k.pending && (same || isDir): // a directory has one name, and may be the root of another share
			return nil, wire.StatusDeletePending
		case same:
			if k.inLocked(fs) == nil {
				k.places = append(k.places, at)
				obj.Dir = nil
			}
			k.opens++
			return k, wire.StatusSuccess
		}
	}
	k := &link{key: key, isDir: isDir, dir: dir, name: obj.Name, places: []place{at}, disposition: disposition{opens: 1}}
	obj.Dir = nil
	if l.of == nil {
		l.of = make(map[lock.FileKey][]*link)
	}
	l.of[key] = append(l.of[key], k)
	return k, wire.StatusSuccess
}

// leave takes an open through the share away, and deletes the name if that is due. With del, which says on whose behalf,
// it is to be deleted from now on.
func (l *links) leave(ctx context.Context, k *link, fs vfs.FS, del *vfs.Cred) error {
	l.mu.Lock()
	if del != nil && !k.pending {
		l.setPendingLocked(k, del)
	}
	var err error
	if k.due() {
		// It stays in the table until it is deleted, so that nobody opens it meanwhile.
		at, name := k.anywhereLocked(fs), k.name
		l.mu.Unlock()
		err = l.remove(ctx, k, at, name)
		l.mu.Lock()
	}
	k.opens--
	last := k.opens == 0
	if last {
		l.dropLocked(k)
	}
	l.mu.Unlock()
	if last {
		for _, p := range k.places {
			if p.dir != nil {
				k.left = append(k.left, p.dir)
			}
		}
		for _, d := range k.left {
			d.Release()
		}
	}
	return err
}

// anywhereLocked is where the share has the link, or else where another share has it.
func (k *link) anywhereLocked(fs vfs.FS) place {
	if p := k.inLocked(fs); p != nil {
		return *p
	}
	return k.places[0]
}

// dropLocked takes the link out of the table.
func (l *links) dropLocked(k *link) {
	all := l.of[k.key]
	for i, x := range all {
		if x == k {
			all[i] = all[len(all)-1]
			all[len(all)-1] = nil
			all = all[:len(all)-1]
			break
		}
	}
	if len(all) == 0 {
		delete(l.of, k.key)
	} else {
		l.of[k.key] = all
	}
}

// setPendingLocked has the name deleted with the last open, on behalf of c; nil: not any more. Those who watch a directory are told.
func (l *links) setPendingLocked(k *link, c *vfs.Cred) {
	k.set(c)
	if c != nil && k.isDir {
		l.locks.Changes.Deleted(k.key)
	}
}

// remove deletes the link's name, if it still names what was opened: others may have moved it. It reports that.
func (l *links) remove(ctx context.Context, k *link, at place, name string) error {
	dir := at.dir
	if dir == nil {
		return vfs.ErrBusy
	}
	defer l.locks.LockNames(dir.Identity()).Unlock()
	n, err := dir.Lookup(ctx, k.cred, name)
	if err != nil {
		return err
	}
	same := n.Handle() == at.entry
	n.Release()
	if !same {
		return vfs.ErrNotFound
	}
	if err := dir.Remove(ctx, k.cred, name, k.isDir); err != nil {
		return err
	}
	what := notify.FileName
	if k.isDir {
		what = notify.DirName
	}
	l.locks.Changes.Report(ctx, at.fs, notify.Change{Dir: dir, Path: parentPath(at.path), Name: name, Action: notify.Removed, What: what})
	return nil
}

// setPending has the name deleted with the last open, on behalf of c; nil: not any more.
func (l *links) setPending(k *link, c *vfs.Cred) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setPendingLocked(k, c)
}

// setPendingAlone has the name deleted with its only open; if there are others nothing changes.
func (l *links) setPendingAlone(k *link, c *vfs.Cred) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.opens == 1 {
		l.setPendingLocked(k, c)
	}
}

// isPending reports whether the name will be deleted.
func (l *links) isPending(k *link) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return k.pending
}

// unlink deletes the name now; its opens remain (POSIX semantics: MS-FSCC 2.4.11.2).
func (l *links) unlink(ctx context.Context, k *link, fs vfs.FS, c *vfs.Cred) error {
	l.mu.Lock()
	if k.gone {
		l.mu.Unlock()
		return nil
	}
	l.setPendingLocked(k, c)
	at, name := k.anywhereLocked(fs), k.name
	l.mu.Unlock()
	err := l.remove(ctx, k, at, name)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		k.gone = true
	} else {
		k.set(nil)
	}
	return err
}

// dying reports whether the directory is about to be deleted, so that nothing may be made in it.
func (l *links) dying(key lock.FileKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.of[key] {
		if k.pending {
			return true
		}
	}
	return false
}

// where is the link's directory in the share, its name there and its path. The directory is valid while the link is open. It is nil
// where the link is the share's root, or has been moved out of the share.
func (l *links) where(k *link, fs vfs.FS) (dir vfs.Node, name, path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := k.inLocked(fs); p != nil {
		return p.dir, k.name, p.path
	}
	return nil, k.name, k.name
}

// is reports whether the directory's name, which stands for n, is the link.
func (l *links) is(k *link, dir vfs.Node, name string, n vfs.Node) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.dir != dir.Identity() || k.name != name {
		return false
	}
	for _, p := range k.places {
		if p.entry == n.Handle() {
			return true
		}
	}
	return false
}

// below reports whether something under the directory is open through the same share.
func (l *links) below(k *link, fs vfs.FS) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := k.inLocked(fs)
	if p == nil {
		return false
	}
	prefix := p.path + "/"
	for _, all := range l.of {
		for _, x := range all {
			if at := x.inLocked(fs); at != nil && !x.gone && strings.HasPrefix(at.path, prefix) {
				return true
			}
		}
	}
	return false
}

// move gives a link the name that obj names in the share, and those below it their new paths. The links of a file that it replaces have lost
// their name. It takes over obj.Dir if that is another directory.
func (l *links) move(k *link, fs vfs.FS, obj *namespace.Object, replaced *lock.FileKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	dir := obj.Dir.Identity()
	if replaced != nil {
		for _, x := range l.of[*replaced] {
			if x != k && x.name == obj.Name && x.dir == dir {
				x.gone = true
			}
		}
	}
	for i := range k.places {
		if p := &k.places[i]; p.fs == fs || k.dir == dir {
			path := obj.Path
			if p.fs != fs {
				path = p.path[:len(p.path)-len(k.name)] + obj.Name
			}
			l.movePathLocked(k, p, path)
		}
	}
	if k.dir != dir {
		k.departLocked(fs, obj)
	}
	k.dir, k.name = dir, obj.Name
}

// movePathLocked gives a link its new path in a share, and those below it theirs.
func (l *links) movePathLocked(k *link, p *place, path string) {
	if k.isDir {
		prefix := p.path + "/"
		for _, all := range l.of {
			for _, x := range all {
				if at := x.inLocked(p.fs); at != nil {
					if rest, ok := strings.CutPrefix(at.path, prefix); ok {
						at.path = path + "/" + rest
					}
				}
			}
		}
	}
	p.path = path
}

// departLocked moves the link to another directory. Only the share through which it is moved knows that one.
func (k *link) departLocked(fs vfs.FS, obj *namespace.Object) {
	var here place
	for _, p := range k.places {
		if p.dir != nil {
			k.left = append(k.left, p.dir)
		}
		if p.fs == fs {
			here = p
		}
	}
	here.dir, obj.Dir = obj.Dir, nil
	k.places = []place{here}
}
