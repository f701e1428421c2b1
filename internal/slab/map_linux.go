package slab

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func mapArena(size int, huge bool) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("slab: cannot map an arena of %d bytes: %w", size, err)
	}
	if huge {
		// Best effort: without huge pages the arena works as well, with more translation entries.
		_ = unix.Madvise(mem, unix.MADV_HUGEPAGE)
	}
	return mem, nil
}

func unmapArena(mem []byte) error { return unix.Munmap(mem) }
