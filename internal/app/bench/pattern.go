package bench

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// Files consist of cells. Each cell begins with its generation and a checksum of its file and place. The other words are
// computed from file, place and generation. So a cell alone shows whether it is complete, where it belongs, and how old it is.
const (
	cell = 512 // bytes

	step   = 0x9e3779b97f4a7c15 // from one word to the next
	placeK = 0xd1b54a32d192ed03
	genK   = 0xeb44accab455d165

	// genMask are the bits of a generation. Generation 0 is that of a file that is being laid out.
	genMask = 1<<31 - 1
)

var le = binary.LittleEndian

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fileID returns a number that identifies a file.
func fileID(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return mix(h.Sum64())
}

func seed(file, place uint64, gen uint32) uint64 {
	return mix(file ^ place*placeK ^ uint64(gen)*genK)
}

// fill writes a generation of the file at off into b: whole cells.
func fill(b []byte, file, off uint64, gen uint32) {
	for place := off / cell; len(b) >= cell; place++ {
		x := seed(file, place, gen)
		c := (*[cell]byte)(b)
		le.PutUint64(c[:8], uint64(gen)<<32|x>>32)
		for i := 8; i < cell; i += 8 {
			x += step
			le.PutUint64(c[i:i+8], x)
		}
		b = b[cell:]
	}
}

// check reports whether b is what the file has at off: whole cells of one generation, or of any where want is 0. It returns the
// generation, 0 if there are several.
func check(b []byte, file, off uint64, want uint32) (uint32, error) {
	first, uniform := uint32(0), true
	for i := 0; len(b) >= cell; i++ {
		c := (*[cell]byte)(b)
		head := le.Uint64(c[:8])
		gen := uint32(head >> 32)
		x := seed(file, off/cell+uint64(i), gen)
		bad := uint64(uint32(head)) ^ x>>32
		for k := 8; k < cell; k += 8 {
			x += step
			bad |= le.Uint64(c[k:k+8]) ^ x
		}
		if bad != 0 || want != 0 && gen != want {
			return 0, mismatch(c, file, off+uint64(i)*cell, want)
		}
		if i == 0 {
			first = gen
		}
		uniform = uniform && gen == first
		b = b[cell:]
	}
	if !uniform {
		first = 0
	}
	return first, nil
}

// DataError is data that is not what was written.
type DataError struct {
	Offset uint64 // of the first byte that is wrong, in the file
	Text   string
}

// Error implements error.
func (e *DataError) Error() string {
	return fmt.Sprintf("wrong data at offset %d: %s", e.Offset, e.Text)
}

// mismatch explains what is wrong with a cell.
func mismatch(c *[cell]byte, file, off uint64, want uint32) *DataError {
	if *c == [cell]byte{} {
		return &DataError{off, "zeros, as of a hole, or of data that was lost"}
	}
	head := le.Uint64(c[:8])
	gen := uint32(head >> 32)
	var right [cell]byte
	fill(right[:], file, off, gen)
	if *c == right {
		return &DataError{off, fmt.Sprintf("generation %d of the block, where %d was written last: data that is out of date, or another run uses the file", gen, want)}
	}
	if want != 0 && le.Uint64(right[:]) != head {
		fill(right[:], file, off, want)
	}
	wrong, at := 0, -1
	for i := range c {
		if c[i] != right[i] {
			wrong++
			if at < 0 {
				at = i
			}
		}
	}
	return &DataError{off + uint64(at), fmt.Sprintf("%#02x instead of %#02x; %d of the %d bytes around it are not what was written there", c[at], right[at], wrong, cell)}
}
