package vfs

import "errors"

func statusOfWrapped(err error) Status {
	var s Status
	if errors.As(err, &s) {
		return s
	}
	return ErrIO
}
