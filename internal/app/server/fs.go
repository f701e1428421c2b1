package server

import (
	"fileserver/config"
	"fileserver/vfs"
	"fileserver/vfs/posix"
)

// openFS opens the file system of a share.
func (s *Server) openFS(c *config.Share) (vfs.FS, error) {
	return posix.New(posix.Config{
		Root: c.Path, StateDir: s.cfg.StateDir, Share: c.Name, Budget: s.budgets.shares.Add(), Log: s.log.With("share", c.Name),
	})
}
