package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// refused is the error of a lock that conflicts with another's. cifs passes on what the server says, and does not turn it into EAGAIN.
var refused = map[bool]unix.Errno{true: unix.EACCES, false: unix.EAGAIN}[smb]

// mandatoryFlocks is flock where it is a mandatory lock of the server on all bytes: it can neither be changed in place nor be shared by two
// of one client.
func mandatoryFlocks(a, b *os.File) error {
	return errors.Join(
		wantErr("a shared", flock(a, unix.LOCK_SH), nil),
		wantErr("b shared too", flock(b, unix.LOCK_SH), nil),
		wantErr("b unlocked", flock(b, unix.LOCK_UN), nil),
		wantErr("b exclusive against a shared", flock(b, unix.LOCK_EX), refused),
		wantErr("a unlocked", flock(a, unix.LOCK_UN), nil),
		wantErr("b exclusive", flock(b, unix.LOCK_EX), nil),
		wantErr("a shared against b exclusive", flock(a, unix.LOCK_SH), refused),
		wantErr("a exclusive against b exclusive", flock(a, unix.LOCK_EX), refused),
		wantErr("b unlocked", flock(b, unix.LOCK_UN), nil),
		wantErr("a exclusive", flock(a, unix.LOCK_EX), nil),
		wantErr("a unlocked again", flock(a, unix.LOCK_UN), nil))
}

// mandatoryRanges locks ranges that the other side then cannot lock.
func mandatoryRanges(a, b *os.File) error {
	const r, w, un = unix.F_RDLCK, unix.F_WRLCK, unix.F_UNLCK
	far := int64(math.MaxInt64 - 9)
	l := posix
	err := errors.Join(
		wantErr("a write 100+100", l.lock(a, w, 100, 100), nil),
		wantErr("b write 199+1", l.lock(b, w, 199, 1), refused),
		wantErr("b read 0+101", l.lock(b, r, 0, 101), refused),
		wantErr("b write 200+100", l.lock(b, w, 200, 100), nil),
		wantErr("b write 0+100", l.lock(b, w, 0, 100), nil),
		wantErr("a unlocks", l.lock(a, un, 100, 100), nil),
		wantErr("b read 100+100", l.lock(b, r, 100, 100), nil),
		wantErr("a read 100+100", l.lock(a, r, 100, 100), nil),
		wantErr("b unlocks 100+100", l.lock(b, un, 100, 100), nil),
		wantErr("a unlocks 100+100", l.lock(a, un, 100, 100), nil),
		wantErr("a write at the end of all", l.lock(a, w, far, 0), nil),
		wantErr("b write at the very end", l.lock(b, w, math.MaxInt64-1, 1), refused),
	)
	return errors.Join(err,
		wantErr("a unlocks all", l.lock(a, un, 0, 0), nil),
		wantErr("b unlocks all", l.lock(b, un, 0, 0), nil),
		wantErr("a write everything", l.lock(a, w, 0, 0), nil),
		wantErr("a unlocks everything", l.lock(a, un, 0, 0), nil))
}

// mandatoryData reads and writes what the other side has locked, past the caches of the client.
func mandatoryData(dirs []string) error {
	const r, w, un = unix.F_RDLCK, unix.F_WRLCK, unix.F_UNLCK
	if err := os.WriteFile(filepath.Join(dirs[0], "mandatory"), make([]byte, 8192), 0o644); err != nil {
		return err
	}
	var files [2]*os.File
	for i, dir := range dirs {
		f, err := os.OpenFile(filepath.Join(dir, "mandatory"), os.O_RDWR|unix.O_DIRECT, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		files[i] = f
	}
	a, b := files[0], files[1]
	read := func(f *os.File, at int64) error { _, err := f.ReadAt(make([]byte, 10), at); return err }
	write := func(f *os.File, at int64) error { _, err := f.WriteAt(make([]byte, 10), at); return err }
	l := posix
	return errors.Join(
		wantErr("a write 100+100", l.lock(a, w, 100, 100), nil),
		wantErr("b write 200+100", l.lock(b, w, 200, 100), nil),
		wantErr("a's own data", errors.Join(write(a, 150), read(a, 150)), nil),
		wantErr("b reads a's", read(b, 150), unix.EACCES),
		wantErr("b writes a's", write(b, 195), unix.EACCES),
		wantErr("a reads b's", read(a, 250), unix.EACCES),
		wantErr("b's own data", errors.Join(write(b, 250), read(b, 250)), nil),
		wantErr("neither's", errors.Join(write(a, 500), read(b, 5000)), nil),
		wantErr("a unlocks", l.lock(a, un, 100, 100), nil),
		wantErr("a read 100+100", l.lock(a, r, 100, 100), nil),
		wantErr("b reads what it may", read(b, 150), nil),
		wantErr("b writes what it may read only", write(b, 150), unix.EACCES),
		wantErr("a unlocks all", l.lock(a, un, 0, 0), nil),
		wantErr("b writes what is unlocked", write(b, 150), nil),
		wantErr("b unlocks all", l.lock(b, un, 0, 0), nil))
}
