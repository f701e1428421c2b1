package posix

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Thin system calls that neither allocate nor copy, unlike those of x/sys/unix. All of them
// concern the calling thread only.

// maxName is the longest name of a directory entry, bytes.
const maxName = 255

// cname is a name as the kernel wants it, terminated by a zero byte; the zero cname is the empty path.
type cname [maxName + 1]byte

// set stores s, which must not be longer than maxName.
func (c *cname) set(s string) { c[copy(c[:maxName], s)] = 0 }

// setInt stores i ≥ 0 in decimal, behind the first at bytes.
func (c *cname) setInt(at, i int) {
	var d [20]byte
	p := len(d)
	for {
		p--
		d[p] = byte('0' + i%10)
		if i /= 10; i == 0 {
			break
		}
	}
	c[at+copy(c[at:], d[p:])] = 0
}

var emptyName [1]byte

// statxFD is statx(2) of an open object, O_PATH ones included.
func statxFD(fd int, mask uint32, st *unix.Statx_t) unix.Errno {
	_, _, e := unix.Syscall6(unix.SYS_STATX, uintptr(fd), uintptr(unsafe.Pointer(&emptyName)), unix.AT_EMPTY_PATH,
		uintptr(mask), uintptr(unsafe.Pointer(st)), 0)
	return e
}

// statxCached is statxFD that asks nobody but this machine's kernel.
func statxCached(fd int, mask uint32, st *unix.Statx_t) unix.Errno {
	_, _, e := unix.Syscall6(unix.SYS_STATX, uintptr(fd), uintptr(unsafe.Pointer(&emptyName)), unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC,
		uintptr(mask), uintptr(unsafe.Pointer(st)), 0)
	return e
}

// statxAt is statx(2) of a name in a directory; it follows nothing.
func statxAt(dir int, name *cname, mask uint32, st *unix.Statx_t) unix.Errno {
	_, _, e := unix.Syscall6(unix.SYS_STATX, uintptr(dir), uintptr(unsafe.Pointer(name)), unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT,
		uintptr(mask), uintptr(unsafe.Pointer(st)), 0)
	return e
}

// openat2 is openat2(2), tried again when a signal interrupts it.
func openat2(dir int, name *cname, how *unix.OpenHow) (int, unix.Errno) {
	for {
		fd, _, e := unix.Syscall6(unix.SYS_OPENAT2, uintptr(dir), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(how)),
			unix.SizeofOpenHow, 0, 0)
		if e != unix.EINTR {
			return int(fd), e
		}
	}
}

// openat is openat(2).
func openat(dir int, name *cname, flags int) (int, unix.Errno) {
	for {
		fd, _, e := unix.Syscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(name)), uintptr(flags), 0, 0, 0)
		if e != unix.EINTR {
			return int(fd), e
		}
	}
}

// faccessFD is faccessat2(2) of an open object with the effective (file-system) identity of the thread.
func faccessFD(fd int, mode uint32) unix.Errno {
	_, _, e := unix.Syscall6(unix.SYS_FACCESSAT2, uintptr(fd), uintptr(unsafe.Pointer(&emptyName)), uintptr(mode),
		unix.AT_EACCESS|unix.AT_EMPTY_PATH, 0, 0)
	return e
}

// fileHandle is struct file_handle with room for the longest handle there is.
type fileHandle struct {
	size uint32
	kind int32
	b    [128]byte // MAX_HANDLE_SZ
}

// nameToHandle is name_to_handle_at(2) of an open object.
func nameToHandle(fd int, h *fileHandle) unix.Errno {
	var mount int32
	h.size = uint32(len(h.b))
	_, _, e := unix.Syscall6(unix.SYS_NAME_TO_HANDLE_AT, uintptr(fd), uintptr(unsafe.Pointer(&emptyName)), uintptr(unsafe.Pointer(h)),
		uintptr(unsafe.Pointer(&mount)), unix.AT_EMPTY_PATH, 0)
	return e
}

// openByHandle is open_by_handle_at(2).
func openByHandle(mount int, h *fileHandle, flags int) (int, unix.Errno) {
	for {
		fd, _, e := unix.Syscall(unix.SYS_OPEN_BY_HANDLE_AT, uintptr(mount), uintptr(unsafe.Pointer(h)), uintptr(flags))
		if e != unix.EINTR {
			return int(fd), e
		}
	}
}

// pwritev2 writes one buffer with RWF flags.
func pwritev2(fd int, p []byte, off int64, flags int) (int, unix.Errno) {
	iov := unix.Iovec{Base: unsafe.SliceData(p)}
	iov.SetLen(len(p))
	n, _, e := unix.Syscall6(unix.SYS_PWRITEV2, uintptr(fd), uintptr(unsafe.Pointer(&iov)), 1, uintptr(off), uintptr(uint64(off)>>32), uintptr(flags))
	return int(n), e
}

// getdents is getdents64(2).
func getdents(fd int, b []byte) (int, unix.Errno) {
	for {
		n, _, e := unix.Syscall(unix.SYS_GETDENTS64, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		if e != unix.EINTR {
			return int(n), e
		}
	}
}

// getxattrSize reports whether the object a path leads to has an extended attribute: nil, ENODATA, EOPNOTSUPP and so on.
func getxattrSize(path, name *cname) unix.Errno {
	_, _, e := unix.Syscall6(unix.SYS_GETXATTR, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(name)), 0, 0, 0, 0)
	return e
}

// threadSetGroups, threadSetFSGID and threadSetFSUID change the calling thread only, which must be locked:
// those of package syscall change the whole process.
func threadSetGroups(g []uint32) unix.Errno {
	_, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(g)), uintptr(unsafe.Pointer(unsafe.SliceData(g))), 0)
	return e
}

// threadSetFSGID reports whether the thread has the group now: setfsgid(2) itself does not tell.
func threadSetFSGID(id uint32) bool {
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSGID, uintptr(id), 0, 0)
	now, _, _ := unix.RawSyscall(unix.SYS_SETFSGID, uintptr(^uint32(0)), 0, 0)
	return uint32(now) == id
}

// threadSetFSUID reports whether the thread has the user now.
func threadSetFSUID(id uint32) bool {
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, uintptr(id), 0, 0)
	now, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, uintptr(^uint32(0)), 0, 0)
	return uint32(now) == id
}

// fsUUID is struct fsuuid2 of FS_IOC_GETFSUUID.
type fsUUID struct {
	n uint8
	b [16]byte
}

// getFSUUID asks the file system of an open object for its UUID (Linux 6.9).
func getFSUUID(fd int) (u [16]byte, ok bool) {
	const request = 0x80111500 // _IOR(0x15, 0, struct fsuuid2)
	var v fsUUID
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&v)))
	return v.b, e == 0 && v.n == 16
}

// procFD is where the descriptors of the process are names.
const procFD = "/proc/self/fd/"

// setFD stores the path that leads to the object of a descriptor, whatever its name is.
func (c *cname) setFD(fd int) { c.set(procFD); c.setInt(len(procFD), fd) }

// String copies the name.
func (c *cname) String() string { return unix.ByteSliceToString(c[:]) }
