package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// locks plays two clients: one works in the first directory, one in the second, which are the same directory in two mounts (or, where
// locks are not the server's, in one).
func locks(args []string) error {
	l := posix
	if args[0] == args[1] {
		l = ofd // a process has no conflict with itself
	}
	open := func(i int, name string) (*os.File, error) {
		return os.OpenFile(filepath.Join(args[i], name), os.O_CREATE|os.O_RDWR, 0o644)
	}
	a, err := open(0, "lock")
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := open(1, "lock")
	if err != nil {
		return err
	}
	defer b.Close()
	steps := []step{
		{"flock", func() error { return flocks(a, b) }},
		{"byte ranges", func() error { return l.ranges(a, b) }},
	}
	if smb {
		steps = []step{
			{"flock", func() error { return mandatoryFlocks(a, b) }},
			{"byte ranges", func() error { return mandatoryRanges(a, b) }},
			{"locked data", func() error { return mandatoryData(args) }},
		}
	}
	return all(append(steps, []step{
		{"waiting", func() error { return l.waiting(a, b) }},
		{"closing", func() error { return l.closing(a, b, args[0]) }},
		{"counter", func() error { return l.counter(args) }},
	}...))
}

func flock(f *os.File, how int) error { return unix.Flock(int(f.Fd()), how|unix.LOCK_NB) }

func flocks(a, b *os.File) error {
	return errors.Join(
		wantErr("a shared", flock(a, unix.LOCK_SH), nil),
		wantErr("b shared too", flock(b, unix.LOCK_SH), nil),
		wantErr("b exclusive against a shared", flock(b, unix.LOCK_EX), unix.EWOULDBLOCK),
		wantErr("a unlocked", flock(a, unix.LOCK_UN), nil),
		wantErr("b exclusive", flock(b, unix.LOCK_EX), nil),
		wantErr("a shared against b exclusive", flock(a, unix.LOCK_SH), unix.EWOULDBLOCK),
		wantErr("b unlocked", flock(b, unix.LOCK_UN), nil),
		wantErr("a exclusive", flock(a, unix.LOCK_EX), nil),
		wantErr("a unlocked again", flock(a, unix.LOCK_UN), nil))
}

// fcntlLocks is a family of fcntl(2) commands for locks on byte ranges.
type fcntlLocks struct{ set, wait, get int }

var (
	posix = fcntlLocks{unix.F_SETLK, unix.F_SETLKW, unix.F_GETLK}             // owned by the process
	ofd   = fcntlLocks{unix.F_OFD_SETLK, unix.F_OFD_SETLKW, unix.F_OFD_GETLK} // owned by the open file
)

// lock takes (F_WRLCK, F_RDLCK) or gives back (F_UNLCK) the bytes from start on; n of 0 means to the end of all files.
func (l fcntlLocks) lock(f *os.File, typ int16, start, n int64) error {
	return unix.FcntlFlock(f.Fd(), l.set, &unix.Flock_t{Type: typ, Start: start, Len: n})
}

func (l fcntlLocks) ranges(a, b *os.File) error {
	const r, w, un = unix.F_RDLCK, unix.F_WRLCK, unix.F_UNLCK
	far := int64(math.MaxInt64 - 9)
	test := unix.Flock_t{Type: w, Start: 150, Len: 10}
	err := errors.Join(
		wantErr("a write 100+100", l.lock(a, w, 100, 100), nil),
		wantErr("b write 199+1", l.lock(b, w, 199, 1), unix.EAGAIN),
		wantErr("b read 0+101", l.lock(b, r, 0, 101), unix.EAGAIN),
		wantErr("b write 200+100", l.lock(b, w, 200, 100), nil),
		wantErr("b write 0+100", l.lock(b, w, 0, 100), nil),
		wantErr("a unlocks the middle 140+20", l.lock(a, un, 140, 20), nil),
		wantErr("b write 140+20", l.lock(b, w, 140, 20), nil),
		wantErr("b write 139+1", l.lock(b, w, 139, 1), unix.EAGAIN),
		wantErr("b write 160+1", l.lock(b, w, 160, 1), unix.EAGAIN),
		wantErr("a turns 160+40 into read", l.lock(a, r, 160, 40), nil),
		wantErr("b read 160+40", l.lock(b, r, 160, 40), nil),
		wantErr("a back to write", l.lock(a, w, 160, 1), unix.EAGAIN),
		wantErr("a write at the end of all", l.lock(a, w, far, 0), nil),
		wantErr("b write at the very end", l.lock(b, w, math.MaxInt64-1, 1), unix.EAGAIN),
		wantErr("b unlocks all", l.lock(b, un, 0, 0), nil),
		wantErr("b tests 90+20", l.test(b, &test, 90, 20), nil),
	)
	if err != nil {
		return err
	}
	err = errors.Join(want("test finds type", test.Type, int16(w)), want("test finds start", test.Start, 100), want("test finds length", test.Len, 40))
	return errors.Join(err,
		wantErr("a unlocks all", l.lock(a, un, 0, 0), nil),
		wantErr("b tests again", l.test(b, &test, 0, 0), nil),
		want("test finds type", test.Type, int16(un)))
}

// test returns the lock that conflicts with a write lock.
func (l fcntlLocks) test(f *os.File, answer *unix.Flock_t, start, n int64) error {
	*answer = unix.Flock_t{Type: unix.F_WRLCK, Start: start, Len: n}
	return unix.FcntlFlock(f.Fd(), l.get, answer)
}

// waiting blocks b until a unlocks.
func (l fcntlLocks) waiting(a, b *os.File) error {
	if err := l.lock(a, unix.F_WRLCK, 0, 0); err != nil {
		return err
	}
	got := make(chan error)
	go func() {
		got <- unix.FcntlFlock(b.Fd(), l.wait, &unix.Flock_t{Type: unix.F_WRLCK})
	}()
	select {
	case err := <-got:
		return fmt.Errorf("b got a's lock: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if err := l.lock(a, unix.F_UNLCK, 0, 0); err != nil {
		return err
	}
	select {
	case err := <-got:
		return errors.Join(err, l.lock(b, unix.F_UNLCK, 0, 0))
	case <-time.After(45 * time.Second):
		return errors.New("b waits 45 s after a unlocked")
	}
}

// closing drops a lock with its last descriptor.
func (l fcntlLocks) closing(a, b *os.File, dir string) error {
	c, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = errors.Join(
		wantErr("c locks", l.lock(c, unix.F_WRLCK, 0, 10), nil),
		wantErr("b against c", l.lock(b, unix.F_WRLCK, 0, 10), refused),
		c.Close())
	return errors.Join(err,
		wantErr("b after c's close", l.lock(b, unix.F_WRLCK, 0, 10), nil),
		wantErr("b unlocks", l.lock(b, unix.F_UNLCK, 0, 10), nil),
		wantErr("a after all", l.lock(a, unix.F_WRLCK, 0, 10), nil),
		wantErr("a unlocks", l.lock(a, unix.F_UNLCK, 0, 10), nil))
}

// counter lets both sides increment one number in a file under a lock: a lock that lets two in, or that does not bring the other's
// data with it, loses a count.
func (l fcntlLocks) counter(dirs []string) error {
	const each = 40
	// Of its full length from the start: a client of SMB may believe in a file's old length for a second.
	if err := os.WriteFile(filepath.Join(dirs[0], "counter"), fmt.Appendf(nil, "%15d\n", 0), 0o644); err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, len(dirs))
	for i, dir := range dirs {
		wg.Go(func() { errs[i] = l.count(filepath.Join(dir, "counter"), each) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dirs[0], "counter"))
	return errors.Join(err, want("count", strings.TrimSpace(string(text)), strconv.Itoa(len(dirs)*each)))
}

func (l fcntlLocks) count(path string, times int) error {
	flag := os.O_CREATE | os.O_RDWR
	if smb {
		flag |= unix.O_DIRECT // cifs may read what it has cached after it has been granted a lock, of Samba too
	}
	f, err := os.OpenFile(path, flag, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for range times {
		err := l.lock(f, unix.F_WRLCK, 0, 0)
		for ; errors.Is(err, refused); err = l.lock(f, unix.F_WRLCK, 0, 0) {
			time.Sleep(time.Millisecond)
		}
		if err != nil {
			return err
		}
		p := make([]byte, 16)
		n, _ := f.ReadAt(p, 0) // nothing yet is zero
		v, _ := strconv.Atoi(strings.TrimSpace(string(p[:n])))
		if _, err := f.WriteAt(fmt.Appendf(nil, "%15d\n", v+1), 0); err != nil {
			return err
		}
		if err := l.lock(f, unix.F_UNLCK, 0, 0); err != nil {
			return err
		}
	}
	return f.Close()
}

// locked returns an error unless someone else holds a lock on the whole file.
func locked(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return errors.Join(
		wantErr("lock of the first byte", posix.lock(f, unix.F_WRLCK, 0, 1), refused),
		wantErr("lock behind the end", posix.lock(f, unix.F_WRLCK, 1<<40, 1), refused))
}
