package smb

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"fileserver/vfs"
)

// Something that is to take the place of a name is made under another name first, in the same directory. It has that for a moment
// only, unless the server is killed in it.
const (
	tempPrefix  = ".fileserver-"
	instanceLen = 8
	tempLen     = len(tempPrefix) + instanceLen + 26
)

// instance tells the names of this process from those of its predecessors.
var instance = rand.Text()[:instanceLen]

// leftAfter is how old another process's name is before it counts as left.
var leftAfter = time.Minute

// tempName is a name that nobody else uses.
func tempName() string { return tempPrefix + instance + rand.Text() }

// isTempName reports whether tempName makes such names. Clients are not shown them.
func isTempName(name string) bool { return len(name) == tempLen && strings.HasPrefix(name, tempPrefix) }

// removeLeft removes names that a predecessor of this process has left in the directory.
func (srv *Server) removeLeft(ctx context.Context, dir vfs.Node, names []string) {
	if len(names) == 0 {
		return
	}
	defer srv.cfg.Locks.LockNames(dir.Identity()).Unlock()
	for _, name := range names {
		if name[len(tempPrefix):][:instanceLen] == instance {
			continue
		}
		n, err := dir.Lookup(ctx, root, name)
		if err != nil {
			continue
		}
		a, err := n.GetAttr(ctx, vfs.AttrCtime)
		if err == nil && n.Kind() != vfs.KindDirectory && time.Since(a.Ctime.Go()) >= leftAfter {
			_ = dir.Remove(ctx, root, name, false)
		}
		n.Release()
	}
}
