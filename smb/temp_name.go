package smb

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"fileserver/vfs"
)

// An object that is to replace a name is first created under a temporary name in the same directory. A temporary name
// remains only if the server is killed before the replacement.
const (
	tempPrefix  = ".fileserver-"
	instanceLen = 8
	tempLen     = len(tempPrefix) + instanceLen + 26
)

// instance distinguishes the temporary names of this process from those of earlier processes.
var instance = rand.Text()[:instanceLen]

// leftAfter is the age at which another process's temporary name counts as abandoned.
var leftAfter = time.Minute

// tempName returns a name that nobody else uses.
func tempName() string { return tempPrefix + instance + rand.Text() }

// isTempName reports whether the name has the form of those that tempName returns. Clients do not see such names.
func isTempName(name string) bool { return len(name) == tempLen && strings.HasPrefix(name, tempPrefix) }

// removeLeft removes names that an earlier process has left in the directory.
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
