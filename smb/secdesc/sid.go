package secdesc

import (
	"strconv"
	"strings"
)

// MaxSubAuthorities is how many subauthorities a SID has at most (MS-DTYP 2.4.2.2).
const MaxSubAuthorities = 15

// SID is a security identifier (MS-DTYP 2.4.2). It is comparable; the zero SID is none.
type SID struct {
	revision  uint8
	n         uint8
	authority uint64 // 48 bits
	sub       [MaxSubAuthorities]uint32
}

// NewSID makes a SID of an authority of 48 bits and at most MaxSubAuthorities subauthorities; more are a bug, and panic.
func NewSID(authority uint64, sub ...uint32) SID {
	s := SID{revision: 1, n: uint8(len(sub)), authority: authority & (1<<48 - 1)}
	if copy(s.sub[:], sub) != len(sub) {
		panic("secdesc: too many subauthorities")
	}
	return s
}

const sidFixedLen = 8

// ParseSID reads the SID at the beginning of b; its Len tells what follows (MS-DTYP 2.4.2.2).
func ParseSID(b []byte) (s SID, err error) {
	if len(b) < sidFixedLen {
		return s, malformed("SID of %d bytes", len(b))
	}
	n := int(b[1])
	if b[0] != 1 || n > MaxSubAuthorities || len(b) < sidFixedLen+4*n {
		return s, malformed("SID of revision %d with %d subauthorities in %d bytes", b[0], n, len(b))
	}
	s.revision, s.n = 1, uint8(n)
	for _, c := range b[2:8] {
		s.authority = s.authority<<8 | uint64(c)
	}
	for i := range n {
		s.sub[i] = le.Uint32(b[sidFixedLen+4*i:])
	}
	return s, nil
}

// IsZero reports whether there is no SID.
func (s SID) IsZero() bool { return s.revision == 0 }

// Len is the length of the SID on the wire, bytes.
func (s SID) Len() int { return sidFixedLen + 4*int(s.n) }

// Append appends the SID as it is on the wire.
func (s SID) Append(b []byte) []byte {
	b = append(b, 1, s.n)
	for i := 5; i >= 0; i-- {
		b = append(b, byte(s.authority>>(8*i)))
	}
	for _, v := range s.sub[:s.n] {
		b = le.AppendUint32(b, v)
	}
	return b
}

// String is the SID as S-1-… (MS-DTYP 2.4.2.1).
func (s SID) String() string {
	if s.IsZero() {
		return "none"
	}
	b := []byte("S-1-")
	if s.authority < 1<<32 {
		b = strconv.AppendUint(b, s.authority, 10)
	} else {
		b = append(b, "0x"...)
		for i := 44; i >= 0; i -= 4 {
			b = append(b, "0123456789abcdef"[s.authority>>i&15])
		}
	}
	for _, v := range s.sub[:s.n] {
		b = strconv.AppendUint(append(b, '-'), uint64(v), 10)
	}
	return string(b)
}

// ParseSIDString reads a SID from S-1-….
func ParseSIDString(text string) (s SID, err error) {
	parts := strings.Split(text, "-")
	if len(parts) < 3 || len(parts) > 3+MaxSubAuthorities || !strings.EqualFold(parts[0], "S") || parts[1] != "1" {
		return s, malformed("SID %.200q", text)
	}
	s.revision, s.n = 1, uint8(len(parts)-3)
	if hex, ok := strings.CutPrefix(parts[2], "0x"); ok {
		s.authority, err = strconv.ParseUint(hex, 16, 48)
	} else {
		s.authority, err = strconv.ParseUint(parts[2], 10, 48)
	}
	for i, p := range parts[3:] {
		v, e := strconv.ParseUint(p, 10, 32)
		if e != nil {
			err = e
		}
		s.sub[i] = uint32(v)
	}
	if err != nil {
		return SID{}, malformed("SID %.200q", text)
	}
	return s, nil
}

// under reports whether s is S-1-authority-sub…-x, and returns x.
func (s SID) under(authority uint64, sub ...uint32) (x uint32, ok bool) {
	if s.IsZero() || s.authority != authority || int(s.n) != len(sub)+1 {
		return 0, false
	}
	for i, v := range sub {
		if s.sub[i] != v {
			return 0, false
		}
	}
	return s.sub[len(sub)], true
}
