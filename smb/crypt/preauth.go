package crypt

import "crypto/sha512"

// Preauth is the preauthentication integrity hash of 3.1.1: of a connection, or of a
// session that is being set up (MS-SMB2 3.1.4.4.1, 3.3.5.4, 3.3.5.5). The zero value is the initial hash.
type Preauth [sha512.Size]byte

// Add adds a message in wire form to the hash.
func (p *Preauth) Add(msg []byte) {
	h := sha512.New()
	h.Write(p[:])
	h.Write(msg)
	h.Sum(p[:0])
}
