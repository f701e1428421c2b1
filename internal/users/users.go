// Package users stores the users of the server: their names, the hashes for NTLM authentication, and their ids on the file
// system. They are in one file, which only the command line writes. A running server notices a change when it next uses the file.
//
// The hashes in the file work like passwords. So the file has mode 0600, and a file that others may read or write is refused.
package users

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

// FileName is the name of the file in the state directory.
const FileName = "users.json"

// Errors of changes.
var (
	ErrExists  = errors.New("users: the user exists already")
	ErrUnknown = errors.New("users: there is no such user")
	ErrName    = errors.New("users: not a user name")
)

// User is a user. Names are compared without case and stored with it.
type User struct {
	Name   string
	NTHash [16]byte // MS-NLMP 3.3.1 NTOWFv1
	UID    uint32
	GID    uint32
	Groups []uint32 // supplementary
}

// record is a user in the file.
type record struct {
	Name   string   `json:"name"`
	NTHash string   `json:"nt_hash"`
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups,omitempty"`
}

type document struct {
	Users []record `json:"users"`
}

// Store is the users of one file. It is safe for concurrent use.
type Store struct {
	path string

	mu    sync.Mutex
	seen  stamp
	reads uint64          // how often the file was read, or found to be missing
	users map[string]User // by folded name
	err   error           // why the file could not be read
}

// stamp identifies a version of the file.
type stamp struct {
	ino  uint64
	size int64
	mod  time.Time
}

// Open returns the store of a state directory. The file need not exist.
func Open(stateDir string) *Store { return &Store{path: filepath.Join(stateDir, FileName)} }

// Path returns the name of the file.
func (s *Store) Path() string { return s.path }

// CheckName returns an error if a user name is not valid. Names have 1 to 64 characters, without control characters and without those
// that Windows reserves.
func CheckName(name string) error {
	switch {
	case name == "" || len([]rune(name)) > 64:
		return fmt.Errorf("%w: %q has %d characters; use 1 to 64", ErrName, name, len([]rune(name)))
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(`"/\[]:;|=,+*?<>@`, r) }):
		return fmt.Errorf("%w: %q has one of the characters \" / \\ [ ] : ; | = , + * ? < > @, or a control character", ErrName, name)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("%w: %q begins or ends with a space", ErrName, name)
	}
	return nil
}

func fold(name string) string { return strings.ToLower(name) }

// Lookup finds a user. If the file cannot be read, it returns the error and finds nobody.
func (s *Store) Lookup(name string) (User, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshLocked()
	u, ok := s.users[fold(name)]
	return u, ok, s.err
}

// List returns the users by name.
func (s *Store) List() ([]User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshLocked()
	list := make([]User, 0, len(s.users))
	for _, u := range s.users {
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b User) int { return strings.Compare(fold(a.Name), fold(b.Name)) })
	return list, s.err
}

// Version returns a number that changes whenever the users may have changed.
func (s *Store) Version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshLocked()
	return s.reads
}

// refreshLocked reads the file if it has changed.
func (s *Store) refreshLocked() {
	st, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		if s.users != nil || s.err != nil {
			s.reads++
		}
		s.users, s.seen, s.err = nil, stamp{}, nil
		return
	}
	now := stamp{}
	if err == nil {
		now = stampOf(st)
		if now == s.seen && s.err == nil {
			return
		}
		s.users, err = read(s.path)
		s.reads++
	}
	s.seen, s.err = now, err
	if err != nil {
		s.users = nil
	}
}

func stampOf(st fs.FileInfo) stamp {
	v := stamp{size: st.Size(), mod: st.ModTime()}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		v.ino = sys.Ino
	}
	return v
}

func read(path string) (map[string]User, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("users: %s has mode %04o, but whoever reads it can log on; run: chmod 600 %s", path, st.Mode().Perm(), path)
	}
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	var doc document
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("users: %s: %w; write it with `fileserver user`", path, err)
	}
	list := make(map[string]User, len(doc.Users))
	for _, r := range doc.Users {
		u := User{Name: r.Name, UID: r.UID, GID: r.GID, Groups: r.Groups}
		if err := CheckName(r.Name); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if hash, err := hex.DecodeString(r.NTHash); err != nil || copy(u.NTHash[:], hash) != len(hash) || len(hash) != len(u.NTHash) {
			return nil, fmt.Errorf("users: %s: user %q: nt_hash is not 32 hexadecimal digits; run: fileserver user passwd %s", path, r.Name, r.Name)
		}
		if _, twice := list[fold(r.Name)]; twice {
			return nil, fmt.Errorf("users: %s: user %q is there twice; remove one", path, r.Name)
		}
		list[fold(r.Name)] = u
	}
	return list, nil
}

// Add adds a user.
func (s *Store) Add(u User) error {
	if err := CheckName(u.Name); err != nil {
		return err
	}
	return s.change(func(list map[string]User) error {
		if _, ok := list[fold(u.Name)]; ok {
			return fmt.Errorf("%w: %s", ErrExists, u.Name)
		}
		list[fold(u.Name)] = u
		return nil
	})
}

// Update changes a user.
func (s *Store) Update(name string, f func(*User)) error {
	return s.change(func(list map[string]User) error {
		u, ok := list[fold(name)]
		if !ok {
			return fmt.Errorf("%w: %s", ErrUnknown, name)
		}
		f(&u)
		list[fold(name)] = u
		return nil
	})
}

// Remove removes a user.
func (s *Store) Remove(name string) error {
	return s.change(func(list map[string]User) error {
		if _, ok := list[fold(name)]; !ok {
			return fmt.Errorf("%w: %s", ErrUnknown, name)
		}
		delete(list, fold(name))
		return nil
	})
}

// change reads the file, lets f change the users, and replaces the whole file, under a file lock. After a
// crash the file is either the old or the new one.
func (s *Store) change(f func(map[string]User) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(s.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("users: cannot lock %s: %w", s.path, err)
	}
	list, err := read(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		list, err = map[string]User{}, nil
	}
	if err != nil {
		return err
	}
	if err := f(list); err != nil {
		return err
	}
	s.seen = stamp{} // the next refresh reads the file
	return write(s.path, list)
}

func write(path string, list map[string]User) error {
	doc := document{Users: []record{}}
	for _, u := range list {
		doc.Users = append(doc.Users, record{u.Name, hex.EncodeToString(u.NTHash[:]), u.UID, u.GID, u.Groups})
	}
	slices.SortFunc(doc.Users, func(a, b record) int { return strings.Compare(a.Name, b.Name) })
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), FileName+".") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone already when all went well
	_, err = tmp.Write(append(b, '\n'))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
