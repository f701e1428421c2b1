package posix

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"hash"
	"sync"

	"golang.org/x/sys/unix"

	"fileserver/vfs"
)

// A handle is
//
//	byte 0      how the object is identified: idNative, idTable
//	bytes 1…    the identity
//	last 12     HMAC-SHA256 of all before, truncated, under the key of the share
//
// An idNative identity is the type (1 byte) and the bytes of the kernel's file handle. An idTable
// identity is the inode number (8 bytes) and a verifier that no later object of the same number has.
const (
	idNative = 1
	idTable  = 2

	macLen = 12
	maxID  = vfs.MaxHandle - macLen
)

// identity is the authenticated part of a handle, comparable.
type identity struct {
	n uint8
	b [maxID]byte
}

func (id *identity) bytes() []byte { return id.b[:id.n] }

// shard spreads identities over the shards of the cache.
func (id *identity) shard() int {
	var x byte
	for _, c := range id.b[1:id.n] {
		x = x*7 + c
	}
	return int(x) % cacheShards
}

// ino is the inode number in an idTable identity.
func (id *identity) ino() uint64 { return binary.BigEndian.Uint64(id.b[1:9]) }

// signer authenticates the identities of one share.
type signer struct {
	pool sync.Pool // of *macState
}

// macState holds the input and output of the hash. On the caller's stack they would escape to the heap.
type macState struct {
	h   hash.Hash
	in  [maxID]byte
	sum [sha256.Size]byte
}

func newSigner(key []byte) *signer {
	s := new(signer)
	s.pool.New = func() any { return &macState{h: hmac.New(sha256.New, key)} }
	return s
}

func (s *signer) mac(id *identity) (m [macLen]byte) {
	st := s.pool.Get().(*macState)
	st.h.Reset()
	st.h.Write(st.in[:copy(st.in[:], id.bytes())])
	copy(m[:], st.h.Sum(st.sum[:0]))
	s.pool.Put(st)
	return m
}

// sign returns the handle of an identity.
func (s *signer) sign(id *identity) vfs.Handle {
	var b [vfs.MaxHandle]byte
	m := s.mac(id)
	n := copy(b[:], id.bytes())
	n += copy(b[n:], m[:])
	h, _ := vfs.HandleFrom(b[:n])
	return h
}

// parse splits a handle. It does not authenticate it.
func parse(h *vfs.Handle) (id identity, mac [macLen]byte, ok bool) {
	var buf [vfs.MaxHandle]byte
	b := h.Append(buf[:0])
	if len(b) < 2+macLen {
		return id, mac, false
	}
	id.n = uint8(copy(id.b[:], b[:len(b)-macLen]))
	copy(mac[:], b[len(b)-macLen:])
	switch id.b[0] {
	case idNative:
		return id, mac, id.n > 2
	case idTable:
		return id, mac, id.n >= 9
	}
	return id, mac, false
}

// verify authenticates an identity in constant time.
func (s *signer) verify(id *identity, mac *[macLen]byte) bool {
	want := s.mac(id)
	return subtle.ConstantTimeCompare(want[:], mac[:]) == 1
}

// nativeIdentity returns the identity of a kernel handle; ok is false if the handle is too long.
func nativeIdentity(h *fileHandle) (id identity, ok bool) {
	if h.kind < 0 || h.kind > 255 || h.size == 0 || int(h.size) > maxID-2 {
		return id, false
	}
	id.b[0], id.b[1] = idNative, byte(h.kind)
	id.n = uint8(2 + copy(id.b[2:], h.b[:h.size]))
	return id, true
}

// kernelHandle is the reverse of nativeIdentity.
func (id *identity) kernelHandle(h *fileHandle) {
	h.kind = int32(id.b[1])
	h.size = uint32(copy(h.b[:], id.b[2:id.n]))
}

// tableIdentity returns an identity for the table: the inode number and a verifier. The verifier is the kernel's
// handle (it holds the generation of the inode), or else the time of creation.
func tableIdentity(st *unix.Statx_t, h *fileHandle) (id identity) {
	id.b[0] = idTable
	binary.BigEndian.PutUint64(id.b[1:], st.Ino)
	const at = 9
	switch {
	case h != nil && int(h.size) <= maxID-at-1:
		id.b[at] = byte(h.kind)
		id.n = uint8(at + 1 + copy(id.b[at+1:], h.b[:h.size]))
	case h != nil:
		sum := sha256.Sum256(h.b[:h.size])
		id.n = uint8(at + copy(id.b[at:], sum[:16]))
	case st.Mask&unix.STATX_BTIME != 0:
		binary.BigEndian.PutUint64(id.b[at:], uint64(st.Btime.Sec))
		binary.BigEndian.PutUint32(id.b[at+8:], st.Btime.Nsec)
		id.n = at + 12
	default: // there is no verifier: a reused number cannot be detected
		id.n = at
	}
	return id
}
