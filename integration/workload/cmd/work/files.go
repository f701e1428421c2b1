package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// files checks the behaviour of names and inodes that programs expect.
func files(dir string) error {
	steps := []step{
		{"hard links", func() error { return hardLinks(dir) }},
		{"symbolic links", func() error { return symlinks(dir) }},
		{"names", func() error { return names(filepath.Join(dir, "names")) }},
		{"exclusive creation", func() error { return exclusive(filepath.Join(dir, "exclusive")) }},
		{"rename over", func() error { return renameOver(dir) }},
		{"removed and open", func() error { return removedOpen(filepath.Join(dir, "unlinked")) }},
		{"mode and times", func() error { return modeAndTimes(filepath.Join(dir, "attributes")) }},
		{"directories", func() error { return directories(filepath.Join(dir, "directory")) }},
		{"statfs", func() error { return statfs(dir) }},
	}
	if !smb { // which would need reparse points
		steps = append(steps, step{"special files", func() error { return special(dir) }})
	}
	return all(steps)
}

func hardLinks(dir string) error {
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := errors.Join(os.WriteFile(a, []byte("one"), 0o644), os.Link(a, b)); err != nil {
		return err
	}
	if err := wantErr("link over a name", os.Link(a, b), syscall.EEXIST); err != nil {
		return err
	}
	if err := os.WriteFile(b, []byte("two, longer"), 0o644); err != nil {
		return err
	}
	got, err := os.ReadFile(a)
	if err != nil {
		return err
	}
	sa, sb := stat(a), stat(b)
	err = errors.Join(want("content", string(got), "two, longer"), want("inode", sb.Ino, sa.Ino), want("link count", sb.Nlink, 2))
	if err != nil {
		return err
	}
	if err := os.Remove(a); err != nil {
		return err
	}
	return errors.Join(want("link count", stat(b).Nlink, 1), os.Remove(b))
}

// stat returns zeros if path does not exist.
func stat(path string) (s syscall.Stat_t) {
	_ = syscall.Lstat(path, &s)
	return s
}

func symlinks(dir string) error {
	link := filepath.Join(dir, "link")
	longest := 4095
	if tick > 1 {
		longest = 1024 // of a link as Minshall and French write it, which is cifs' limit of others too
	}
	for _, target := range []string{"x", "../no/such/place", "/absolute", "ü€𝄞", strings.Repeat("long/", 200), strings.Repeat("y", longest)} {
		if err := os.Symlink(target, link); err != nil {
			return fmt.Errorf("target of %d bytes: %w", len(target), err)
		}
		got, err := os.Readlink(link)
		if err != nil || got != target {
			return fmt.Errorf("target of %d bytes reads as %d bytes, %v", len(target), len(got), err)
		}
		if err := errors.Join(want("size", stat(link).Size, int64(len(target))), os.Remove(link)); err != nil {
			return err
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "target"), []byte("there"), 0o644), os.Symlink("target", link)); err != nil {
		return err
	}
	got, err := os.ReadFile(link)
	return errors.Join(err, want("through the link", string(got), "there"), os.Remove(link), os.Remove(filepath.Join(dir, "target")))
}

// names creates a file of every length of name, and of names that are hard to quote.
func names(dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	var all []string
	for n := 1; n <= 255; n++ {
		all = append(all, strings.Repeat("n", n))
	}
	all = append(all, "...", " ", "trailing. ", "new\nline", "tab\t", "*?[<>:|\"", "-rf", "ü", "e\u0301", "名前", "𝄞", "A", strings.Repeat("ß", 127))
	if !smb {
		all = append(all, "a")
	}
	if tick == 1 { // it separates names on the wire of SMB
		all = append(all, `back\slash`)
	}
	for _, name := range all {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			return err
		}
	}
	if err := wantErr("a name of 256", os.WriteFile(filepath.Join(dir, strings.Repeat("n", 256)), nil, 0o644), syscall.ENAMETOOLONG); err != nil {
		return err
	}
	if err := listed(dir, all); err != nil {
		return err
	}
	for _, name := range all {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != name {
			return fmt.Errorf("%q holds %q, %v", name, got, err)
		}
	}
	return os.RemoveAll(dir)
}

func exclusive(path string) error {
	open := func() error {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
		if err != nil {
			return err
		}
		_, err = f.WriteString("read-only from birth, and yet written by its creator")
		return errors.Join(err, f.Close())
	}
	if err := open(); err != nil {
		return err
	}
	return errors.Join(
		wantErr("a second time", open(), syscall.EEXIST),
		want("mode", stat(path).Mode&0o7777, createdMode(0o400)),
		os.Remove(path))
}

func renameOver(dir string) error {
	a, b := filepath.Join(dir, "from"), filepath.Join(dir, "over")
	err := errors.Join(os.WriteFile(a, []byte("new"), 0o644), os.WriteFile(b, []byte("old one"), 0o644))
	if err != nil {
		return err
	}
	before, err := os.Open(b)
	if err != nil {
		return err
	}
	defer before.Close()
	if err := os.Rename(a, b); err != nil {
		return err
	}
	got, err := os.ReadFile(b)
	if err != nil {
		return err
	}
	var old bytes.Buffer
	if _, err := old.ReadFrom(before); err != nil {
		return err
	}
	_, err = os.Lstat(a)
	return errors.Join(want("content", string(got), "new"), want("content of the replaced file", old.String(), "old one"),
		wantErr("old name", err, syscall.ENOENT), before.Close(), os.Remove(b))
}

// removedOpen uses a file after its last name was removed, as many programs do with temporary files.
func removedOpen(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.Remove(path); err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte("still here"), 100); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	p := make([]byte, 10)
	if _, err := f.ReadAt(p, 100); err != nil {
		return err
	}
	_, err = os.Lstat(path)
	return errors.Join(want("content", string(p), "still here"), wantErr("name", err, syscall.ENOENT), f.Close())
}

// createdMode returns the mode that a new file of mode, which nobody may write, has at first: cifs makes it up until it asks again, even
// with the POSIX extensions.
func createdMode(mode uint32) uint32 {
	if tick > 1 {
		return 0o555
	}
	return mode
}

// modeOr returns mode, or what cifs makes of it: the mount's own mode, without the right to write where the file is read-only.
func modeOr(cifs, mode uint32) uint32 {
	if smb {
		return cifs
	}
	return mode
}

func modeAndTimes(path string) error {
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		return err
	}
	then := time.Date(1999, 12, 31, 23, 59, 59, 123_456_789, time.UTC).Truncate(tick)
	if err := errors.Join(syscall.Chmod(path, 0o2751), os.Chtimes(path, then.Add(time.Hour), then)); err != nil {
		return err
	}
	s := stat(path)
	err := errors.Join(want("mode", s.Mode, syscall.S_IFREG|modeOr(0o755, 0o2751)), want("mtime", time.Unix(s.Mtim.Unix()).UTC(), then),
		want("atime", time.Unix(s.Atim.Unix()).UTC(), then.Add(time.Hour)))
	if err != nil {
		return err
	}
	start := time.Now().Add(-time.Minute) // the server's clock need not be ours
	if err := os.WriteFile(path, []byte("changed"), 0o600); err != nil {
		return err
	}
	if s := stat(path); time.Unix(s.Mtim.Unix()).Before(start) {
		return fmt.Errorf("mtime after a write is %v", time.Unix(s.Mtim.Unix()))
	}
	return os.Remove(path)
}

func directories(dir string) error {
	deep := filepath.Join(dir, strings.Repeat("d/", 40))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		return err
	}
	err := errors.Join(
		wantErr("mkdir over a directory", os.Mkdir(dir, 0o755), syscall.EEXIST),
		wantErr("rmdir of a full directory", syscall.Rmdir(dir), syscall.ENOTEMPTY),
		wantErr("move into itself", os.Rename(dir, filepath.Join(dir, "d", "x")), syscall.EINVAL),
		wantErr("unlink of nothing", os.Remove(filepath.Join(dir, "nothing")), syscall.ENOENT),
		os.WriteFile(filepath.Join(deep, "file"), []byte("deep"), 0o644))
	if err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(deep, "file", "below"))
	return errors.Join(wantErr("below a file", err, syscall.ENOTDIR),
		wantErr("rmdir of a file", syscall.Rmdir(filepath.Join(deep, "file")), syscall.ENOTDIR), os.RemoveAll(dir))
}

func special(dir string) error {
	fifo, sock := filepath.Join(dir, "fifo"), filepath.Join(dir, "sock")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o600), syscall.Mknod(sock, syscall.S_IFSOCK|0o600, 0)); err != nil {
		return err
	}
	return errors.Join(want("fifo's type", stat(fifo).Mode&syscall.S_IFMT, syscall.S_IFIFO),
		want("socket's type", stat(sock).Mode&syscall.S_IFMT, syscall.S_IFSOCK), os.Remove(fifo), os.Remove(sock))
}

func statfs(dir string) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return err
	}
	if s.Blocks == 0 || s.Bavail > s.Blocks || s.Bsize <= 0 || s.Namelen != 255 {
		return fmt.Errorf("%+v", s)
	}
	return nil
}
