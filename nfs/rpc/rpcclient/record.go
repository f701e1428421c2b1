package rpcclient

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// recordReader reads one record after the other, whatever their fragments (RFC 5531 11).
type recordReader struct {
	r    *bufio.Reader
	left int // of the fragment
	last bool
	n    int // bytes of the record
	word [4]byte
}

// begin goes to the beginning of the next record. The last one must have been read.
func (r *recordReader) begin() error {
	r.n = 0
	return r.mark()
}

func (r *recordReader) mark() error {
	if _, err := io.ReadFull(r.r, r.word[:]); err != nil {
		return err
	}
	m := binary.BigEndian.Uint32(r.word[:])
	r.left, r.last = int(m&^(1<<31)), m>>31 == 1
	if r.n += r.left; r.n > MaxReply {
		return fmt.Errorf("rpcclient: reply longer than %d bytes", MaxReply)
	}
	return nil
}

// Read implements io.Reader over one record.
func (r *recordReader) Read(p []byte) (int, error) {
	for r.left == 0 {
		if r.last {
			return 0, io.EOF
		}
		if err := r.mark(); err != nil {
			return 0, err
		}
	}
	n, err := r.r.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// rest appends what is left of the record to b.
func (r *recordReader) rest(b []byte) ([]byte, error) {
	for {
		for r.left == 0 {
			if r.last {
				return b, nil
			}
			if err := r.mark(); err != nil {
				return b, err
			}
		}
		if cap(b)-len(b) < r.left {
			b = append(make([]byte, 0, len(b)+r.left), b...)
		}
		n, err := io.ReadFull(r.r, b[len(b):len(b)+r.left])
		b = b[:len(b)+n]
		r.left -= n
		if err != nil {
			return b, err
		}
	}
}
