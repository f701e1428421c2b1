package fusetest_test

import (
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/vfstest/fusetest"
	"fileserver/vfs/vfstest/mem"
)

// newMem makes a file system that must be given back whole.
func newMem(t *testing.T) vfs.FS {
	fs := mem.New(mem.Options{})
	t.Cleanup(func() {
		if nodes, files := fs.Outstanding(); nodes != 0 || files != 0 {
			t.Errorf("%d nodes not released, %d files not closed", nodes, files)
		}
	})
	return fs
}

func TestPosixMem(t *testing.T) { fusetest.RunPosix(t, newMem) }
