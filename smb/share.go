package smb

import (
	"fileserver/smb/namespace"
	"fileserver/vfs"
	"fileserver/vfs/lock"
)

// Modes of what is created, unless the client says otherwise.
const (
	defaultFileMode = 0o644
	defaultDirMode  = 0o755
)

// view is the share's tree as clients see it.
func (s *Share) view() *namespace.View {
	s.once.Do(func() {
		s.tree = namespace.New(s.FS, namespace.Options{CaseSensitive: s.CaseSensitive, HideDotFiles: s.HideDotFiles})
	})
	return s.tree
}

// mode is the mode of a new file or directory.
func (s *Share) mode(dir bool) uint32 {
	mode, normal := s.FileMode, uint32(defaultFileMode)
	if dir {
		mode, normal = s.DirMode, defaultDirMode
	}
	if mode == 0 {
		mode = normal
	}
	return mode & 0o7777
}

// readOnly reports whether nothing can be changed.
func (s *Share) readOnly() bool { return s.ReadOnly || s.FS.Caps().ReadOnly }

// key is the identity of an object of the share for the arbiter.
func (s *Share) key(n vfs.Node) lock.FileKey {
	return lock.FileKey{FS: s.FS.Caps().FSID, H: n.Handle()}
}
