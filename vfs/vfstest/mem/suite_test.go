package mem_test

import (
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/vfstest"
	"fileserver/vfs/vfstest/mem"
)

func TestSuite(t *testing.T) {
	for name, opt := range map[string]mem.Options{"Plain": {}, "Crashable": {Crashable: true}, "UnstableMetadata": {UnstableMetadata: true}} {
		t.Run(name, func(t *testing.T) {
			var granted map[string]float64
			if opt.Crashable || opt.UnstableMetadata {
				granted = map[string]float64{"WriteAt": 1000} // what is not stable is kept
			}
			vfstest.Run(t, func(t *testing.T) vfs.FS {
				fs := mem.New(opt)
				t.Cleanup(func() {
					if err := fs.Check(); err != nil {
						t.Error(err)
					}
					if nodes, files := fs.Outstanding(); nodes != 0 || files != 0 {
						t.Errorf("%d nodes not released, %d files not closed", nodes, files)
					}
				})
				return fs
			}, vfstest.Options{
				Root: true, MaxAllocs: granted, Short: opt.Crashable || opt.UnstableMetadata,
				Reopen: func(t *testing.T, fs vfs.FS) vfs.FS {
					if opt.Crashable || opt.UnstableMetadata {
						return fs.(*mem.FS).Crash(nil)
					}
					return fs.(*mem.FS).Restart()
				},
			})
		})
	}
}
