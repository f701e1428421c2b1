package posix

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"fileserver/internal/budget"
)

// HandleMode says how objects are found by their permanent handles.
type HandleMode uint8

// Modes of handles.
const (
	// HandleAuto means HandleNative where the system permits it, and otherwise HandleTable.
	HandleAuto HandleMode = iota
	// HandleNative asks the kernel: open_by_handle_at(2), which needs CAP_DAC_READ_SEARCH and a file system
	// with stable handles.
	HandleNative
	// HandleTable keeps a table under Config.StateDir of where objects were last seen, and searches the tree for
	// objects that are not there any more.
	HandleTable
)

// Config is what [New] needs.
type Config struct {
	// Root is the directory to publish. It may be a symbolic link. Symbolic links below it are not followed.
	Root string
	// StateDir holds what must survive a restart: the key that authenticates handles (handle.key, created once,
	// mode 0600) and the table of HandleTable. Several file systems may share it. If it is empty, handles do not
	// survive a restart unless Key is set and the mode is HandleNative.
	StateDir string
	// Key authenticates handles. It has at least 16 bytes; nil means the key in StateDir.
	Key []byte
	// Share distinguishes file systems of the same Root: a handle of one is not valid in the other.
	Share string
	// Handles says how objects are found by their handles.
	Handles HandleMode
	// OwnChecks makes the server check permissions itself even if the kernel could.
	OwnChecks bool
	// Budget bounds the calls that block in this file system at once, and the descriptors kept open for later use;
	// nil means the budget of a server with only this share. [FS.Close] closes it.
	Budget *budget.Share
	// Log gets what an administrator should know; nil discards it.
	Log *slog.Logger
}

const keySize = 32

// shareKey derives the key of this share's handles. The identity of the root is part of it: a handle from another
// root is not valid here.
func (c *Config) shareKey(root []byte) ([]byte, error) {
	key := c.Key
	var err error
	switch {
	case key != nil && len(key) < 16:
		return nil, errors.New("posix: Config.Key has less than 16 bytes")
	case key != nil:
	case c.StateDir != "":
		if key, err = loadKey(filepath.Join(c.StateDir, "handle.key")); err != nil {
			return nil, fmt.Errorf("posix: key of the file handles: %w", err)
		}
	default:
		key = make([]byte, keySize)
		_, _ = rand.Read(key)
	}
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "fileserver posix handle 1\x00%d\x00%s\x00", len(c.Share), c.Share)
	h.Write(root)
	return h.Sum(nil), nil
}

// loadKey reads the key, or creates it. If several servers create it at once, all use the key of the first.
func loadKey(path string) ([]byte, error) {
	if key, err := readKey(path); !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	tmp, err := os.CreateTemp(dir, "handle.key.*") // mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	key := make([]byte, keySize)
	_, _ = rand.Read(key)
	if _, err := tmp.Write(key); err != nil {
		return nil, err
	}
	if err := tmp.Sync(); err != nil {
		return nil, err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return readKey(path)
}

func readKey(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %04o: others may read it; chmod 600 it, or remove it to make a new one (clients must remount then)", path, fi.Mode().Perm())
	}
	key := make([]byte, keySize)
	if _, err := io.ReadFull(f, key); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}
