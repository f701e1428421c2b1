package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fileserver/internal/state"
)

// openState creates the state directory, readable by the server's user only, and opens its records. Only one server at a time
// can open them.
func openState(dir string) (*state.Store, error) {
	const fix = "give --state-dir a directory this user may write to"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the state directory cannot be created: %w; %s", err, fix)
	}
	s, err := state.Open(filepath.Join(dir, "state.db"))
	switch {
	case errors.Is(err, state.ErrInUse):
		return nil, fmt.Errorf("the state directory %s is in use by another server; stop it, or give another --state-dir", dir)
	case err != nil:
		return nil, fmt.Errorf("the state directory cannot be used: %w; %s", err, fix)
	}
	return s, nil
}
