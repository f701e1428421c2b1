package vfs

import "strings"

// CheckName reports whether name can be one of an entry of a directory: [ErrInvalid] if it is empty, [ErrNameTooLong] if it has
// more than maxLen bytes, [ErrBadName] if it is "." or "..", or contains "/" or NUL. Other bytes, UTF-8 or not,
// are the backend's to accept.
func CheckName(name string, maxLen int) error {
	switch {
	case name == "":
		return ErrInvalid
	case len(name) > maxLen:
		return ErrNameTooLong
	case name == "." || name == "..":
		return ErrBadName
	case strings.IndexByte(name, '/') >= 0 || strings.IndexByte(name, 0) >= 0:
		return ErrBadName
	}
	return nil
}
