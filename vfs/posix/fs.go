package posix

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"fileserver/internal/budget"
	"fileserver/vfs"
)

// FS is a published directory of the local file system. It implements [vfs.FS].
type FS struct {
	log    *slog.Logger
	budget *budget.Share
	crew   crew
	kernel bool // the kernel checks permissions for the caller
	// protectLinks is the sysctl fs.protected_hardlinks, for the server's own checks.
	protectLinks bool
	path         string // Config.Root
	mount        int    // the root directory, open for reading
	proc         int    // /proc/self/fd
	root         *node
	dev          uint64
	caps         vfs.Caps
	sign         *signer
	loc          locator
	ids          identifier
	cache        cache
	graveyard    graveyard
	reclaimer    reclaimer

	// life is held for reading by calls that use mount or proc without having a node.
	life        sync.RWMutex
	closed      atomic.Bool
	live        atomic.Int64 // nodes, which need mount and proc
	writeErrors atomic.Uint64
	tick        atomic.Uint32 // of the janitor
	kept        int           // limit of descriptors kept open; used only by the janitor
	open        openList
	watches     watches

	kick chan struct{} // wakes the janitor
	stop chan struct{}
	done sync.WaitGroup
}

var umask sync.Once

// New publishes a directory. It sets the umask of the process to 0, because clients choose the modes of their
// files.
//
// As root, with CAP_SETUID and CAP_SETGID, the kernel enforces permissions for the caller's identity. Otherwise (or
// with OwnChecks) the server applies the rules of POSIX before each call, and makes the call as its own user.
func New(cfg Config) (*FS, error) {
	umask.Do(func() { unix.Umask(0) })
	fs := &FS{log: cfg.Log, path: cfg.Root, budget: cfg.Budget, mount: -1, proc: -1, stop: make(chan struct{}), kick: make(chan struct{}, 1)}
	if fs.log == nil {
		fs.log = slog.New(slog.DiscardHandler)
	}
	if fs.budget == nil {
		fs.budget = budget.NewShares(0, 0).Add()
	}
	if err := fs.init(&cfg); err != nil {
		fs.budget.Close()
		fs.crew.close()
		fs.closeFDs()
		return nil, err
	}
	fs.done.Add(1)
	go fs.janitor()
	return fs, nil
}

func (fs *FS) init(cfg *Config) (err error) {
	if fs.crew.base, err = ownIdentity(); err != nil {
		return err
	}
	fs.kernel = !cfg.OwnChecks && fs.crew.trial()
	sysctl, err := os.ReadFile("/proc/sys/fs/protected_hardlinks")
	fs.protectLinks = err != nil || strings.TrimSpace(string(sysctl)) != "0"
	if fs.mount, err = unix.Open(cfg.Root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("posix: root directory %s: %w", cfg.Root, err)
	}
	if fs.proc, err = unix.Open(procFD, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("posix: %s is needed to open objects: %w", procFD, err)
	}
	var dot cname
	dot.set(".")
	fd, e := openat2(fs.mount, &dot, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC})
	if e != 0 {
		return fmt.Errorf("posix: openat2 of %s (Linux 5.8 or later is needed): %w", cfg.Root, e)
	}
	var st unix.Statx_t
	if e := statxFD(fd, statAll, &st); e != 0 {
		_ = unix.Close(fd)
		return fmt.Errorf("posix: statx of %s: %w", cfg.Root, e)
	}
	fs.dev = devOf(&st)
	fs.cache.init()
	fs.setLimits(fs.budget.Cache())
	if err := fs.initHandles(cfg, fd, &st); err != nil {
		_ = unix.Close(fd)
		return err
	}
	return nil
}

// initHandles decides how objects are identified and found, and creates the root's node from fd.
func (fs *FS) initHandles(cfg *Config, fd int, st *unix.Statx_t) error {
	var sfs unix.Statfs_t
	if err := again(func() error { return unix.Fstatfs(fs.mount, &sfs) }); err != nil {
		return fmt.Errorf("posix: statfs of %s: %w", cfg.Root, err)
	}
	if err := fs.chooseIdentity(cfg.Handles, fd, sfs.Type); err != nil {
		return fmt.Errorf("posix: %s: %w", cfg.Root, err)
	}
	id, err := fs.ids.identify(fd, st)
	if err != nil {
		return fmt.Errorf("posix: identity of %s: %w", cfg.Root, err)
	}
	where := fs.whereabouts(&sfs, st)
	sum := sha256.Sum256(append(where, id.bytes()...))
	key, err := cfg.shareKey(sum[:])
	if err != nil {
		return err
	}
	fs.sign = newSigner(key)
	fs.live.Add(1)
	fs.root = fs.cache.put(&node{fs: fs, id: id, h: fs.sign.sign(&id), object: identityOf(st), kind: vfs.KindDirectory, fd: fd})
	fs.caps = capsOf(fs.mount, &sfs)
	copy(fs.caps.FSID[:], sum[:])
	tag := sha256.Sum256(key)
	if err := fs.openLocator(cfg, tag[:8]); err != nil {
		fs.root = nil
		return fmt.Errorf("posix: %w", err)
	}
	fs.log.Info("directory published", "root", cfg.Root, "kernel_permissions", fs.kernel, "native_handles", fs.ids.native)
	return nil
}

// whereabouts returns bytes that identify the file system and stay the same after a restart.
func (fs *FS) whereabouts(sfs *unix.Statfs_t, st *unix.Statx_t) []byte {
	if u, ok := getFSUUID(fs.mount); ok {
		return append([]byte("uuid"), u[:]...)
	}
	b := binary.BigEndian.AppendUint64([]byte("fsid"), uint64(sfs.Type))
	if v := sfs.Fsid.Val; v != [2]int32{} {
		b = binary.BigEndian.AppendUint32(b, uint32(v[0]))
		return binary.BigEndian.AppendUint32(b, uint32(v[1]))
	}
	return binary.BigEndian.AppendUint64(b, devOf(st))
}

func devOf(st *unix.Statx_t) uint64 { return uint64(st.Dev_major)<<32 | uint64(st.Dev_minor) }

// enter begins a call that has no node; the caller ends it with life.RUnlock.
func (fs *FS) enter() error {
	fs.life.RLock()
	if fs.closed.Load() {
		fs.life.RUnlock()
		return vfs.ErrIO
	}
	return nil
}

// Budget returns the budget of the file system.
func (fs *FS) Budget() *budget.Share { return fs.budget }

// Current reports whether Config.Root still leads to the published directory. It does not if another disk was
// mounted there, the disk was unmounted, or the directory was replaced.
func (fs *FS) Current() bool {
	if fs.enter() != nil {
		return false
	}
	defer fs.life.RUnlock()
	fd, err := unix.Open(fs.path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	// While the root is open here, no other directory can have its numbers.
	var now, published unix.Statx_t
	return statxFD(fd, unix.STATX_INO, &now) == 0 && statxFD(fs.mount, unix.STATX_INO, &published) == 0 &&
		now.Ino == published.Ino && devOf(&now) == devOf(&published)
}

// Root implements [vfs.FS].
func (fs *FS) Root(context.Context) (vfs.Node, error) {
	if err := fs.enter(); err != nil {
		return nil, err
	}
	defer fs.life.RUnlock()
	fs.cache.hold(fs.root)
	return fs.root, nil
}

// Caps implements [vfs.FS].
func (fs *FS) Caps() vfs.Caps { return fs.caps }

// KernelPermissions reports whether the kernel enforces permissions for the caller's identity. If not, [FS]
// enforces them, and every new object belongs to the user the server runs as.
func (fs *FS) KernelPermissions() bool { return fs.kernel }

// NativeHandles reports whether handles are those of the kernel (HandleNative).
func (fs *FS) NativeHandles() bool { return fs.ids.native }

// WriteErrors returns the number of failures to make written data stable, however they were noticed. After each
// failure, data that was written but not committed may be lost: a server changes its write verifier (RFC 1813
// 3.3.7) when the number has changed.
func (fs *FS) WriteErrors() uint64 { return fs.writeErrors.Load() }

// StatFS implements [vfs.FS].
func (fs *FS) StatFS(ctx context.Context, c *vfs.Cred) (vfs.StatFS, error) {
	if err := fs.begin(ctx); err != nil {
		return vfs.StatFS{}, err
	}
	defer fs.budget.Leave()
	if err := fs.enter(); err != nil {
		return vfs.StatFS{}, err
	}
	defer fs.life.RUnlock()
	var s unix.Statfs_t
	if err := again(func() error { return unix.Fstatfs(fs.mount, &s) }); err != nil {
		return vfs.StatFS{}, statusOf(err)
	}
	unit := uint64(s.Frsize)
	if unit == 0 {
		unit = uint64(s.Bsize)
	}
	out := vfs.StatFS{
		TotalBytes: s.Blocks * unit, FreeBytes: s.Bfree * unit, AvailBytes: s.Bavail * unit,
		TotalFiles: s.Files, FreeFiles: s.Ffree, AvailFiles: s.Ffree, BlockSize: uint32(s.Bsize),
	}
	if c != nil && c.UID == 0 {
		out.AvailBytes = out.FreeBytes
	}
	return out, nil
}

func (fs *FS) readOnly() bool {
	var s unix.Statfs_t
	return unix.Fstatfs(fs.mount, &s) == nil && s.Flags&unix.ST_RDONLY != 0
}

func capsOf(fd int, s *unix.Statfs_t) vfs.Caps {
	c := vfs.Caps{
		MaxName: maxName, MaxLink: 32000, MaxFileSize: 1<<63 - 1, TimeGranularity: 1,
		ReadOnly: s.Flags&unix.ST_RDONLY != 0,
	}
	if s.Namelen > 0 && s.Namelen < maxName {
		c.MaxName = int(s.Namelen)
	}
	switch s.Type {
	case unix.EXT4_SUPER_MAGIC:
		c.MaxLink, c.MaxFileSize = 65000, (1<<32-1)*int64(s.Bsize)
	case unix.XFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		c.MaxLink = 1<<31 - 1
	case unix.BTRFS_SUPER_MAGIC:
		c.MaxLink, c.Clones = 65535, true
	}
	switch s.Type {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.BTRFS_SUPER_MAGIC:
		c.Holes = true
	}
	// These file systems keep nothing over a crash, so there is nothing to make stable.
	c.StableMetadata = s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC
	if flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS); err == nil {
		const casefold = 0x40000000
		c.CaseInsensitive = flags&casefold != 0
	}
	return c
}

// Close implements [vfs.FS]. Nodes in use are destroyed at their last release.
func (fs *FS) Close() error {
	fs.life.Lock()
	was := fs.closed.Swap(true)
	fs.life.Unlock()
	if was {
		return nil
	}
	close(fs.stop)
	fs.done.Wait()
	fs.watches.close()
	err := fs.loc.close()
	for _, n := range fs.graveyard.close() {
		n.destroy()
	}
	fs.cache.close()
	fs.root.Release()
	fs.crew.close()
	fs.budget.Close()
	return err
}

// closeFDs closes the descriptors that all nodes need.
func (fs *FS) closeFDs() {
	for _, fd := range []int{fs.mount, fs.proc} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

var errNoNative = errors.New("file handles of the kernel are not available here")
