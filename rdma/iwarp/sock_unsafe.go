package iwarp

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxIovec is the kernel's limit on the elements of one call (UIO_MAXIOV).
const maxIovec = 1024

// writev and readv are unix.Writev and unix.Readv without their allocations.
func writev(fd uintptr, v []unix.Iovec) (int, error) { return iocall(unix.SYS_WRITEV, fd, v) }

func readv(fd uintptr, v []unix.Iovec) (int, error) { return iocall(unix.SYS_READV, fd, v) }

func iocall(trap, fd uintptr, v []unix.Iovec) (int, error) {
	for {
		n, _, e := unix.Syscall(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(v))), uintptr(len(v)))
		switch e {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, e
		}
	}
}

func iovec(b []byte) unix.Iovec {
	v := unix.Iovec{Base: unsafe.SliceData(b)}
	v.SetLen(len(b))
	return v
}

// skip removes n bytes, at most its length, from the front of v.
func skip(v *unix.Iovec, n int) {
	v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
	v.SetLen(int(v.Len) - n)
}
