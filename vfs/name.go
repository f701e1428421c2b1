package vfs

import "strings"

// CheckName checks the name of a directory entry. It returns [ErrInvalid] if name is empty, [ErrNameTooLong] if it
// has more than maxLen bytes, and [ErrBadName] if it is "." or "..", or contains "/" or NUL. The backend decides
// about all other bytes, UTF-8 or not.
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
