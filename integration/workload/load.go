package workload

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Layout of the files that `work load` writes. Files 0 and 1 grow; files 2 and 3 consist of records that are overwritten.
const (
	LoadRecord  = 9 * 1024  // bytes of one record
	LoadRecords = 64        // in one file
	LoadMax     = 256 << 20 // most bytes of a growing file, which is then written again from its start
)

// LoadName returns the name of a file.
func LoadName(file int) string { return fmt.Sprintf("load-%d", file) }

// LoadSeed returns the seed for [Fill] of a file, or of one generation of its records.
func LoadSeed(file, generation int) uint64 { return uint64(file)<<32 | uint64(generation) }

// Ack is an acknowledgement that data is stable: a growing file's first Length bytes, or a record's generation.
type Ack struct {
	File       int
	Length     int64
	Record     int
	Generation int
}

// String returns the line that [ReadAcks] reads.
func (a Ack) String() string {
	return fmt.Sprintf("%d %d %d %d", a.File, a.Length, a.Record, a.Generation)
}

// Acks sums up all acknowledgements: the greatest length of every growing file and the last generation of every record.
type Acks struct {
	Count      int // of acknowledgements
	Length     map[int]int64
	Generation map[int]map[int]int
}

// ReadAcks reads a file of acknowledgements. It ignores an incomplete last line.
func ReadAcks(path string) (Acks, error) {
	acks := Acks{Length: map[int]int64{}, Generation: map[int]map[int]int{}}
	text, err := os.ReadFile(path)
	if err != nil {
		return acks, err
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			continue
		}
		var a Ack
		if _, err := fmt.Sscan(line, &a.File, &a.Length, &a.Record, &a.Generation); err != nil {
			return acks, fmt.Errorf("acknowledgement %q: %w", line, err)
		}
		acks.Count++
		if a.Generation == 0 {
			acks.Length[a.File] = max(acks.Length[a.File], a.Length)
			continue
		}
		if acks.Generation[a.File] == nil {
			acks.Generation[a.File] = map[int]int{}
		}
		acks.Generation[a.File][a.Record] = a.Generation
	}
	return acks, nil
}

// Check compares the files in dir with the acknowledgements. A record may be one generation ahead: written, but not acknowledged yet.
func (a Acks) Check(dir string) error {
	var errs []error
	for file, length := range a.Length {
		errs = append(errs, checkLength(filepath.Join(dir, LoadName(file)), LoadSeed(file, 0), length))
	}
	for file, records := range a.Generation {
		errs = append(errs, checkRecords(filepath.Join(dir, LoadName(file)), file, records))
	}
	return errors.Join(errs...)
}

func checkLength(path string, seed uint64, length int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p := make([]byte, 1<<20)
	for at := int64(0); at < length; at += int64(len(p)) {
		p = p[:min(int64(len(p)), length-at)]
		if _, err := io.ReadFull(f, p); err != nil {
			return fmt.Errorf("%s: %d bytes are acknowledged: at %d: %w", path, length, at, err)
		}
		if err := Check(p, seed, at); err != nil {
			return fmt.Errorf("%s: %d bytes are acknowledged: %w", path, length, err)
		}
	}
	return nil
}

func checkRecords(path string, file int, generations map[int]int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p := make([]byte, LoadRecord)
	for record, gen := range generations {
		at := int64(record) * LoadRecord
		if _, err := f.ReadAt(p, at); err != nil {
			return fmt.Errorf("%s: record %d: %w", path, record, err)
		}
		err := Check(p, LoadSeed(file, gen), at)
		if err == nil || Check(p, LoadSeed(file, gen+1), at) == nil || mixed(p, file, gen, at) {
			continue
		}
		return fmt.Errorf("%s: record %d: generation %d is acknowledged: %w", path, record, gen, err)
	}
	return nil
}

// mixed reports whether every byte of p is of the acknowledged generation or of the next: a write that was cut short by the crash.
func mixed(p []byte, file, gen int, at int64) bool {
	var old, next [LoadRecord]byte
	Fill(old[:], LoadSeed(file, gen), at)
	Fill(next[:], LoadSeed(file, gen+1), at)
	for i := range p {
		if p[i] != old[i] && p[i] != next[i] {
			return false
		}
	}
	return true
}
