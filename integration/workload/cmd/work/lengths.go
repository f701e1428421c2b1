package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"fileserver/integration/workload"
)

// place is where the record of a length is: records of all lengths follow one another, each at an odd offset, with a gap of one to
// three bytes that nobody writes.
func place(length int) int64 {
	n := int64(length)
	at := (n-1)*n/2 + 2*n // the lengths before, and two bytes for each
	return at | 1
}

// lengths writes one record of every length from 1 to n twice: into "direct", where each is read back at once, also through direct
// I/O, with its neighbours; and into "buffered", from the longest to the shortest, through the page cache.
func lengths(dir string, n int) error {
	direct, err := os.OpenFile(filepath.Join(dir, "direct"), os.O_CREATE|os.O_RDWR|syscall.O_DIRECT, 0o644)
	if err != nil {
		return err
	}
	defer direct.Close()
	buf := make([]byte, n+2)
	for l := 1; l <= n; l++ {
		workload.Fill(buf[:l], uint64(l), place(l))
		if _, err := direct.WriteAt(buf[:l], place(l)); err != nil {
			return fmt.Errorf("direct write of %d: %w", l, err)
		}
		if err := readRecord(direct, buf[:l+1], l); err != nil {
			return fmt.Errorf("direct: %w", err)
		}
	}
	buffered, err := os.OpenFile(filepath.Join(dir, "buffered"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer buffered.Close()
	for l := n; l > 0; l-- {
		workload.Fill(buf[:l], uint64(l), place(l))
		if _, err := buffered.WriteAt(buf[:l], place(l)); err != nil {
			return fmt.Errorf("buffered write of %d: %w", l, err)
		}
		if l%1000 == 1 {
			if err := buffered.Sync(); err != nil {
				return err
			}
		}
	}
	return buffered.Close()
}

// readRecord reads the record of a length together with the byte before it, which has to be zero; p is one byte longer.
func readRecord(f *os.File, p []byte, length int) error {
	if _, err := f.ReadAt(p, place(length)-1); err != nil {
		return fmt.Errorf("read of %d: %w", length, err)
	}
	if p[0] != 0 {
		return fmt.Errorf("the byte before the record of %d is %#02x", length, p[0])
	}
	if err := workload.Check(p[1:], uint64(length), place(length)); err != nil {
		return fmt.Errorf("record of %d: %w", length, err)
	}
	return nil
}

// lengthsCheck reads every record of both files: what was written directly through the cache, and the other way round.
func lengthsCheck(dir string, n int) error {
	for name, flag := range map[string]int{"direct": 0, "buffered": syscall.O_DIRECT} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDONLY|flag, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if err := want("size", info.Size(), place(n)+int64(n)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		buf := make([]byte, n+1)
		for l := 1; l <= n; l++ {
			if err := readRecord(f, buf[:l+1], l); err != nil {
				return fmt.Errorf("%s, afterwards: %w", name, err)
			}
		}
	}
	return nil
}
