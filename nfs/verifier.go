package nfs

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// WriteErrorCounter is implemented by a [vfs.FS] that notices when data written without stability could not be made stable.
type WriteErrorCounter interface {
	// WriteErrors counts such events since the file system was opened.
	WriteErrors() uint64
}

// WriteVerifier is the verifier in the results of WRITE and COMMIT of all versions (RFC 1813 3.3.7, RFC 8881 18.32.3):
// a client whose COMMIT returns another than its WRITEs writes the data again. It is another after every
// restart, and changes when unstable data of any export may have been lost.
type WriteVerifier struct {
	exports *Exports
	boot    uint64
	lost    atomic.Uint64
	mu      sync.Mutex    // a leaf; held to change seen
	seen    atomic.Uint64 // sum of the exports' WriteErrors that is in lost already
}

// NewWriteVerifier makes the verifier of a server that publishes x.
func NewWriteVerifier(x *Exports) *WriteVerifier {
	var b [8]byte
	rand.Read(b[:])
	return &WriteVerifier{exports: x, boot: binary.BigEndian.Uint64(b[:])}
}

// Current is the verifier of the moment. For a WRITE take it before the data is
// written, for a COMMIT after the data is stable: what is lost in between shows.
func (v *WriteVerifier) Current() [8]byte {
	var sum uint64
	for _, e := range v.exports.List() {
		if c, ok := e.FS.(WriteErrorCounter); ok {
			sum += c.WriteErrors()
		}
	}
	if sum != v.seen.Load() {
		v.mu.Lock()
		if sum != v.seen.Load() {
			v.lost.Add(1) // first: a caller that reads the new sum must read the new verifier
			v.seen.Store(sum)
		}
		v.mu.Unlock()
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v.boot+v.lost.Load())
	return b
}

// Lost changes the verifier: data written without stability may have been lost.
func (v *WriteVerifier) Lost() { v.lost.Add(1) }
