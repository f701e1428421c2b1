package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// stateDir is the directory of what survives a restart, held by one server at a time.
type stateDir struct {
	path string
	lock *os.File
}

// openState makes the directory, for the server's user alone, and takes its lock.
func openState(path string) (*stateDir, error) {
	const fix = "give --state-dir a directory this user may write to"
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("the state directory cannot be made: %w; %s", err, fix)
	}
	f, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the state directory cannot be used: %w; %s", err, fix)
	}
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = fmt.Errorf("the state directory %s is in use by another server; stop it, or give another --state-dir", path)
		return nil, errors.Join(err, f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("the state directory %s cannot be locked: %w; %s", path, err, fix), f.Close())
	}
	return &stateDir{path: path, lock: f}, nil
}

// Close gives the directory up. The lock file stays: removing it would race with the next server.
func (s *stateDir) Close() error { return s.lock.Close() }
