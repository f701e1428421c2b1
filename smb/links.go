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
	changes *notify.Hub // is told of names that are deleted

	mu sync.Mutex
	of map[lock.FileKey][]*link // by the file that the name leads to
}

// link is a name by which a file is open, shared by all opens of it: the Link of MS-FSA 2.1.1.6.
type link struct {
	key   lock.FileKey
	fs    vfs.FS
	entry vfs.Handle // what the name itself names: the file, or a symbolic link that leads to it
	isDir bool       // Remove takes a directory

	// Guarded by links.mu.
	dir        vfs.Node   // nil: the share's root; the link's own reference
	left       []vfs.Node // directories it has been moved from: somebody may be using them
	name, path string     // on disk; path from the share's root
	reserved   uint64     // bytes
	opens      int
	pending    bool      // deleted with the last open; meanwhile nobody opens it
	removed    bool      // deleted already (POSIX semantics)
	cred       *vfs.Cred // on whose behalf
}

// join finds or makes the link of what a path has led to, for one more open. It takes obj.Dir over if it needs it. The
// link may be about to be deleted: STATUS_DELETE_PENDING.
func (l *links) join(fs vfs.FS, key lock.FileKey, obj *namespace.Object) (*link, wire.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.of[key] {
		if k.removed || k.name != obj.Name || (k.dir == nil) != (obj.Dir == nil) || k.dir != nil && k.dir.Handle() != obj.Dir.Handle() {
			continue
		}
		if k.pending {
			return nil, wire.StatusDeletePending
		}
		k.opens++
		return k, wire.StatusSuccess
	}
	k := &link{
		key: key, fs: fs, dir: obj.Dir, entry: obj.Entry, name: obj.Name, path: obj.Path, opens: 1,
		isDir: obj.Node.Kind() == vfs.KindDirectory && obj.Entry == obj.Node.Handle(),
	}
	obj.Dir = nil
	if l.of == nil {
		l.of = make(map[lock.FileKey][]*link)
	}
	l.of[key] = append(l.of[key], k)
	return k, wire.StatusSuccess
}

// leave takes an open away. The file is deleted with the last one, if that has been
// asked for; del asks for it now.
func (l *links) leave(ctx context.Context, k *link, del *vfs.Cred) error {
	l.mu.Lock()
	if del != nil && !k.pending {
		k.pending, k.cred = true, del
		l.doomed(k)
	}
	last := k.opens == 1
	var err error
	if last && k.pending && !k.removed {
		// It stays in the table until it is deleted, so that nobody opens it meanwhile.
		dir, name, path := k.dir, k.name, k.path
		l.mu.Unlock()
		err = l.remove(ctx, k, dir, name, path)
		l.mu.Lock()
	}
	k.opens--
	if last = k.opens == 0; last {
		l.drop(k)
	}
	l.mu.Unlock()
	if last && k.dir != nil {
		for _, d := range append(k.left, k.dir) {
			d.Release()
		}
	}
	return err
}

// drop takes the link out of the table. l.mu is held.
func (l *links) drop(k *link) {
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

// doomed tells those who watch a directory that it is going to be deleted. l.mu is held.
func (l *links) doomed(k *link) {
	if k.isDir {
		l.changes.Deleted(k.fs, k.entry)
	}
}

// remove deletes the link's name, if it still names what was opened: others may have moved it. It reports that.
func (l *links) remove(ctx context.Context, k *link, dir vfs.Node, name, path string) error {
	if dir == nil {
		return vfs.ErrBusy
	}
	n, err := dir.Lookup(ctx, k.cred, name)
	if err != nil {
		return err
	}
	same := n.Handle() == k.entry
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
	l.changes.Report(ctx, k.fs, notify.Change{Dir: dir, Path: parentPath(path), Name: name, Action: notify.Removed, What: what})
	return nil
}

// setPending has the file deleted with the last open, or not.
func (l *links) setPending(k *link, del bool, c *vfs.Cred) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k.pending, k.cred = del, c
	if del {
		l.doomed(k)
	}
}

// isPending reports whether the file will be deleted.
func (l *links) isPending(k *link) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return k.pending
}

// unlink deletes the name now; its opens remain (POSIX semantics: MS-FSCC 2.4.11.2).
func (l *links) unlink(ctx context.Context, k *link, c *vfs.Cred) error {
	l.mu.Lock()
	if k.removed {
		l.mu.Unlock()
		return nil
	}
	k.pending, k.cred = true, c
	l.doomed(k)
	dir, name, path := k.dir, k.name, k.path
	l.mu.Unlock()
	err := l.remove(ctx, k, dir, name, path)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		k.removed = true
	} else {
		k.pending = false
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

// where is the link's directory, its name there and its path. The directory is valid while the link is open.
func (l *links) where(k *link) (dir vfs.Node, name, path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return k.dir, k.name, k.path
}

// below reports whether something under the directory is open, on the same file system.
func (l *links) below(k *link) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	prefix := k.path + "/"
	for _, all := range l.of {
		for _, x := range all {
			if x.fs == k.fs && !x.removed && strings.HasPrefix(x.path, prefix) {
				return true
			}
		}
	}
	return false
}

// move gives a link the name that obj names, and those below it their new paths. The links of a file that it replaces have lost their
// name. It takes over obj.Dir if that is another directory.
func (l *links) move(k *link, obj *namespace.Object, replaced *lock.FileKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if replaced != nil {
		for _, x := range l.of[*replaced] {
			if x != k && x.name == obj.Name && x.dir != nil && x.dir.Handle() == obj.Dir.Handle() {
				x.removed = true
			}
		}
	}
	if k.isDir {
		prefix := k.path + "/"
		for _, all := range l.of {
			for _, x := range all {
				if rest, ok := strings.CutPrefix(x.path, prefix); ok && x.fs == k.fs {
					x.path = obj.Path + "/" + rest
				}
			}
		}
	}
	if k.dir.Handle() != obj.Dir.Handle() {
		k.left = append(k.left, k.dir)
		k.dir, obj.Dir = obj.Dir, nil
	}
	k.name, k.path = obj.Name, obj.Path
}
