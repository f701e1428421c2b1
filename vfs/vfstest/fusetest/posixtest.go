package fusetest

import (
	"os"
	"path/filepath"
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/lock"

	"github.com/hanwen/go-fuse/v2/posixtest"
)

// broken are tests of go-fuse that no file system passes: go-fuse leaves them out of its own runs.
var broken = map[string]bool{
	"FcntlFlockLocksFile": true, // expects two descriptors of one process to be two owners of fcntl(2) locks
}

// RunPosix runs go-fuse's posixtest on file systems that newFS makes.
func RunPosix(t *testing.T, newFS func(t *testing.T) vfs.FS) {
	mnt := Mount(t, newFS(t), lock.New())
	for name, fn := range posixtest.All {
		if broken[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(mnt, name)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			fn(t, dir)
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
	}
}
