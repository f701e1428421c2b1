//go:build linux && cgo && rdmacore

package verbs

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func pointerTo[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }

// array makes the n elements, outside of Go's memory, that a structure of C points to.
func array[T any](t *testing.T, p **T, n int) []T {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, n*int(unsafe.Sizeof(**p)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	*p = (*T)(unsafe.Pointer(&mem[0]))
	return unsafe.Slice(*p, n)
}
