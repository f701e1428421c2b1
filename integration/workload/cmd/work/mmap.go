package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"fileserver/integration/workload"
)

const mapped = 8<<20 + 1234 // the last page is shared with nothing

// mmap writes a file through a mapping in one mount and reads it through a mapping in another, both ways.
func mmap(args []string) error {
	for i, dirs := range [][2]string{{args[0], args[1]}, {args[1], args[0]}} {
		name := fmt.Sprintf("mapped-%d", i)
		if err := mapWrite(filepath.Join(dirs[0], name), uint64(i)); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		if err := mapRead(filepath.Join(dirs[1], name), uint64(i)); err != nil {
			return fmt.Errorf("read: %w", err)
		}
	}
	return nil
}

// mapWrite writes backwards in steps of an odd length, so that pages are dirtied in pieces, and one page by write(2) in between.
func mapWrite(path string, seed uint64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(mapped); err != nil {
		return err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, mapped, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	const step = 3001
	for at := (mapped - 1) / step * step; at >= 0; at -= step {
		workload.Fill(m[at:min(at+step, mapped)], seed, int64(at))
	}
	page := make([]byte, 4096)
	workload.Fill(page, seed+100, 4096)
	if _, err := f.WriteAt(page, 4096); err != nil {
		return err
	}
	if err := workload.Check(m[4096:8192], seed+100, 4096); err != nil {
		return fmt.Errorf("write(2) seen through the mapping: %w", err)
	}
	workload.Fill(m[4096:8192], seed, 4096)
	return errors.Join(unix.Msync(m, unix.MS_SYNC), unix.Munmap(m), f.Close())
}

func mapRead(path string, seed uint64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := want("size", info.Size(), mapped); err != nil {
		return err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, mapped, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	return errors.Join(workload.Check(m, seed, 0), unix.Munmap(m))
}
