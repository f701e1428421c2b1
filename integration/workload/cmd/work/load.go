package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/integration/workload"
)

// load writes until the file STOP appears, and notes in the file ACKS (workload.Ack) what the file system has promised to keep. Two
// writers append through the page cache and call fsync; two overwrite records in place with O_DSYNC and direct I/O. Each holds a
// lock on its file. Every system call has to succeed, however long it takes; but cifs gives some up when its connection is lost, as
// its handles do not outlive it: there a writer opens its file anew and goes on behind what was promised.
func load(args []string) error {
	dir, acks, stop := args[0], &ackFile{path: args[1]}, args[2]
	stopped := func() bool { _, err := os.Stat(stop); return err == nil }
	writers := []func() error{
		func() error { return appendLoad(dir, 0, acks, stopped) },
		func() error { return appendLoad(dir, 1, acks, stopped) },
		func() error { return recordLoad(dir, 2, acks, stopped) },
		func() error { return recordLoad(dir, 3, acks, stopped) },
	}
	errs := make([]error, len(writers))
	var wg sync.WaitGroup
	for i, w := range writers {
		wg.Go(func() {
			if err := w(); err != nil {
				errs[i] = fmt.Errorf("writer %d: %w", i, err)
				fmt.Fprintln(os.Stderr, errs[i]) // at once: the others go on
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// ackFile appends acknowledgements where the host reads them. Closing the file after each is what brings it there.
type ackFile struct {
	mu   sync.Mutex
	path string
}

func (a *ackFile) add(k workload.Ack) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := os.OpenFile(a.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, k)
	return errors.Join(err, f.Close())
}

func openLoad(dir string, file, flag int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, workload.LoadName(file)), os.O_CREATE|os.O_RDWR|flag, 0o644)
	if err != nil {
		return nil, err
	}
	if err := posix.lock(f, unix.F_WRLCK, 0, 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// appendLoad writes pieces of 1 byte to 300 kB one behind the other, and one fsync for every few of them.
func appendLoad(dir string, file int, acks *ackFile, stopped func() bool) error {
	f, err := openLoad(dir, file, 0)
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	rnd := rand.New(rand.NewPCG(uint64(file), 1))
	var at int64
	for !stopped() {
		next, err := appendPieces(f, file, at, rnd)
		if err != nil {
			if f, err = again(f, dir, file, 0, err); err != nil {
				return err
			}
			continue
		}
		at = next
		if err := acks.add(workload.Ack{File: file, Length: at}); err != nil {
			return err
		}
		if at > workload.LoadMax {
			time.Sleep(100 * time.Millisecond)
			at = 0 // the same bytes again
		}
	}
	return f.Close()
}

// appendPieces writes some pieces from at on, and returns where they end.
func appendPieces(f *os.File, file int, at int64, rnd *rand.Rand) (int64, error) {
	for range 1 + rnd.IntN(6) {
		p := make([]byte, 1+rnd.IntN(300_000))
		workload.Fill(p, workload.LoadSeed(file, 0), at)
		if _, err := f.WriteAt(p, at); err != nil {
			return 0, err
		}
		at += int64(len(p))
	}
	return at, f.Sync()
}

// again opens a writer's file anew after an error, where that is no fault.
func again(f *os.File, dir string, file, flag int, err error) (*os.File, error) {
	if !smb {
		return f, err
	}
	fmt.Printf("writer %d: again after: %v\n", file, err)
	_ = f.Close() // says the same again, or what was not promised
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		f, next := openLoad(dir, file, flag)
		if next == nil || time.Now().After(end) {
			return f, next
		}
	}
}

// recordLoad overwrites one record after the other with its next generation.
func recordLoad(dir string, file int, acks *ackFile, stopped func() bool) error {
	f, err := openLoad(dir, file, syscall.O_DIRECT|syscall.O_DSYNC)
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	p := make([]byte, workload.LoadRecord)
	for gen := 1; ; gen++ {
		for r := range workload.LoadRecords {
			if stopped() {
				return f.Close()
			}
			at := int64(r) * workload.LoadRecord
			workload.Fill(p, workload.LoadSeed(file, gen), at)
			for {
				_, err := f.WriteAt(p, at)
				if err == nil {
					break
				}
				if f, err = again(f, dir, file, syscall.O_DIRECT|syscall.O_DSYNC, err); err != nil {
					return err
				}
			}
			if err := acks.add(workload.Ack{File: file, Record: r, Generation: gen}); err != nil {
				return err
			}
		}
	}
}

// promises compares a server's share with the acknowledgements of its clients.
func promises(args []string) error {
	acks, err := workload.ReadAcks(args[1])
	if err != nil {
		return err
	}
	return acks.Check(args[0])
}
