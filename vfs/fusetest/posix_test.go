package fusetest_test

import (
	"os"
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/fusetest"
	"fileserver/vfs/posix"
)

func TestPosixPosix(t *testing.T) {
	modes := map[string]posix.Config{"OwnChecks": {Handles: posix.HandleTable, OwnChecks: true}}
	if os.Geteuid() == 0 {
		modes["Native"] = posix.Config{Handles: posix.HandleNative}
	}
	for name, cfg := range modes {
		t.Run(name, func(t *testing.T) {
			fusetest.RunPosix(t, func(t *testing.T) vfs.FS {
				cfg := cfg
				cfg.Root, cfg.StateDir = t.TempDir(), t.TempDir()
				fs, err := posix.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := fs.Close(); err != nil {
						t.Error(err)
					}
				})
				return fs
			})
		})
	}
}
