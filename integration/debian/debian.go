// Package debian installs programs of a newer Debian than the machine's in a separate directory, for measurements: Samba's server and
// smbtorture, and ksmbd's tools. They run in a chroot, in guests and outside. The machine's own system does not change.
package debian

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Suite is the Debian suite of the programs. FILESERVER_DEBIAN_SUITE names another.
const Suite = "sid"

// mirror is the source of the packages.
const mirror = "http://deb.debian.org/debian"

// Packages are the packages in the directory. Debian's conflict between them does not matter, because they are only unpacked.
var Packages = []string{"samba", "samba-testsuite", "ksmbd-tools"}

// etc holds the files of /etc that the programs need and that the packages do not contain.
var etc = map[string]string{
	"passwd":        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
	"group":         "root:x:0:\nnogroup:x:65534:\n",
	"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	"hosts":         "127.0.0.1 localhost\n",
}

// Tree returns a directory for chroot that contains [Packages] and their dependencies. It is in $XDG_CACHE_HOME/fileserver. The first
// call downloads the packages, which takes half a minute, and writes a line to log. The error says what is missing.
func Tree(ctx context.Context, log io.Writer) (string, error) {
	if os.Geteuid() != 0 {
		return "", errors.New("debian: Samba and ksmbd's tools run in a chroot, which needs root")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("debian: no cache directory: %w", err)
	}
	suite := os.Getenv("FILESERVER_DEBIAN_SUITE")
	if suite == "" {
		suite = Suite
	}
	dir := filepath.Join(cache, "fileserver", "debian-"+suite)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		return "", fmt.Errorf("debian: %w: as root type: apt-get install -y debootstrap", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("debian: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "debian-new-")
	if err != nil {
		return "", fmt.Errorf("debian: %w", err)
	}
	defer os.RemoveAll(tmp)
	fmt.Fprintf(log, "downloading %s of Debian %s from %s, once, into %s\n", strings.Join(Packages, ", "), suite, mirror, dir)
	if err := fill(ctx, tmp, suite); err != nil {
		return "", fmt.Errorf("debian: %s of suite %s are not available: %w", strings.Join(Packages, ", "), suite, err)
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, os.ErrExist) { // os.ErrExist: another process was faster
		return "", fmt.Errorf("debian: %w", err)
	}
	return dir, nil
}

// fill unpacks the packages below dir. It does not run their scripts, which would configure services.
func fill(ctx context.Context, dir, suite string) error {
	// debootstrap's first stage resolves dependencies, checks signatures and downloads. It may have no script for a new suite, but sid's works
	// for all.
	script := "/usr/share/debootstrap/scripts/sid"
	get := exec.CommandContext(ctx, "debootstrap", "--foreign", "--variant=minbase", "--include="+strings.Join(Packages, ","), suite, dir, mirror, script)
	if out, err := get.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("debootstrap: %w: %s", err, strings.Join(lines[max(0, len(lines)-3):], "; "))
	}
	archives, err := filepath.Glob(filepath.Join(dir, "var/cache/apt/archives/*.deb"))
	if err != nil || len(archives) == 0 {
		return fmt.Errorf("debootstrap left no packages: %w", err)
	}
	for _, deb := range archives {
		// Some directories are symbolic links (/lib to /usr/lib), which must stay.
		unpack := exec.CommandContext(ctx, "sh", "-c", `dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"`, "sh", deb, dir)
		if out, err := unpack.CombinedOutput(); err != nil || len(out) > 0 {
			return fmt.Errorf("unpack %s: %w: %s", filepath.Base(deb), err, out)
		}
		if err := os.Remove(deb); err != nil {
			return err
		}
	}
	for name, text := range etc {
		if err := os.WriteFile(filepath.Join(dir, "etc", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	// In a container debootstrap makes /proc a symbolic link to itself.
	if err := os.RemoveAll(filepath.Join(dir, "proc")); err != nil {
		return err
	}
	for _, sub := range []string{"proc", "sys", "mnt", "run/samba", "var/log/samba"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	return os.Chmod(dir, 0o755)
}
