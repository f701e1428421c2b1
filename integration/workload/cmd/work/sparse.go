package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fileserver/integration/workload"
)

const gib = 1 << 30

// islands are the written parts of the sparse file: around every power of two that an offset could be cut off at.
var islands = []struct {
	off int64
	n   int
}{
	{1, 70_000}, {2*gib - 511, 1000}, {4*gib - 4097, 9001}, {8*gib - 1, 2}, {1<<40 - 3, 300_001},
}

// sparse writes the islands of a file of a terabyte, and files that grow and shrink.
func sparse(dir string) error {
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		return err
	}
	defer f.Close()
	for i, s := range islands {
		p := make([]byte, s.n)
		workload.Fill(p, uint64(i), s.off)
		if _, err := f.WriteAt(p, s.off); err != nil {
			return fmt.Errorf("write at %d: %w", s.off, err)
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return all([]step{
		{"truncate", func() error { return truncate(filepath.Join(dir, "truncated")) }},
		{"append", func() error { return appended(filepath.Join(dir, "appended")) }},
	})
}

// sparseCheck reads the islands, and the sea around them.
func sparseCheck(dir string) error {
	f, err := os.Open(filepath.Join(dir, "sparse"))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	last := islands[len(islands)-1]
	if err := want("size", info.Size(), last.off+int64(last.n)); err != nil {
		return err
	}
	for i, s := range islands {
		p := make([]byte, s.n, s.n+100)
		if _, err := f.ReadAt(p, s.off); err != nil {
			return fmt.Errorf("read at %d: %w", s.off, err)
		}
		if err := workload.Check(p, uint64(i), s.off); err != nil {
			return err
		}
		if _, err := f.ReadAt(p[:1], s.off-1); err != nil || p[0] != 0 {
			return fmt.Errorf("before the data at %d: %#02x, %v", s.off, p[0], err)
		}
		if s == last {
			continue
		}
		if n, err := f.ReadAt(p[:100], s.off+int64(s.n)); err != nil || !bytes.Equal(p[:100], make([]byte, 100)) {
			return fmt.Errorf("behind the data at %d: % x, %v", s.off, p[:n], err)
		}
	}
	return nil
}

// truncate cuts a file inside a page and lets it grow again: what was cut has to read as zeros.
func truncate(path string) error {
	data := make([]byte, 100_000)
	workload.Fill(data, 1, 0)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return err
	}
	for _, size := range []int{70_001, 4096, 4095, 90_000, 1, 0, 5, 0} {
		if err := os.Truncate(path, int64(size)); err != nil {
			return err
		}
		if size < len(data) {
			data = data[:size]
		}
		data = append(data, make([]byte, size-len(data))...)
		got, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, data) {
			return fmt.Errorf("after truncation to %d: %d bytes that differ", size, len(got))
		}
	}
	return os.Truncate(path, 5*gib+1)
}

// appended writes through two descriptors with O_APPEND in turns.
func appended(path string) error {
	var files [2]*os.File
	for i := range files {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		files[i] = f
	}
	var all []byte
	for i := range 200 {
		p := make([]byte, 1+i*31%777)
		workload.Fill(p, 2, int64(len(all)))
		all = append(all, p...)
		if _, err := files[i%2].Write(p); err != nil {
			return err
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if err := want("length", len(got), len(all)); err != nil {
		return err
	}
	return workload.Check(got, 2, 0)
}
