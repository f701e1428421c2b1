package smb

import (
	"fileserver/smb/namespace"
)

// Modes of new files and directories, unless the client says otherwise.
const (
	defaultFileMode = 0o644
	defaultDirMode  = 0o755
)

// view returns the share's tree as clients see it.
func (s *Share) view() *namespace.View {
	s.once.Do(func() {
		s.tree = namespace.New(s.FS, namespace.Options{CaseSensitive: s.CaseSensitive, HideDotFiles: s.HideDotFiles})
	})
	return s.tree
}

// mode returns the mode of a new file or directory.
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

// readOnly reports whether clients cannot change anything in the share.
func (s *Share) readOnly() bool { return s.ReadOnly || s.FS.Caps().ReadOnly }
