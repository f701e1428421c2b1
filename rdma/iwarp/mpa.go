package iwarp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// MPA request and reply frames, RFC 5044 7.1 and RFC 6581 4.
const (
	mpaRequestKey = "MPA ID Req Frame"
	mpaReplyKey   = "MPA ID Rep Frame"
	mpaKeyLen     = 16
	mpaHeaderLen  = 20
	mpaMaxPrivate = 512 // PD_Length, with the IRD and ORD words

	mpaFlagMarkers  = 0x80 // the sender of the frame wants markers in what it receives
	mpaFlagCRC      = 0x40
	mpaFlagReject   = 0x20
	mpaFlagEnhanced = 0x10 // revision 2: IRD and ORD words lead the private data

	mpaHighBit  = 0x8000 // IRD word: A, peer to peer; ORD word: C, zero-length WRITE
	mpaNextBit  = 0x4000 // IRD word: B, zero-length SEND; ORD word: D, zero-length READ
	mpaDepth    = 0x3fff // the depth itself; all ones: not negotiated
	mpaRevision = 2
)

var (
	errMPAKey     = errors.New("not an MPA frame")
	errMPALength  = errors.New("private data is longer than 512 bytes")
	errMPAShort   = errors.New("MPA frame is truncated")
	errMPANoDepth = errors.New("enhanced MPA frame without IRD and ORD")
)

// mpaFrame is a request or a reply.
type mpaFrame struct {
	Reply   bool
	Markers bool
	CRC     bool
	Reject  bool
	Rev     uint8
	// Enhanced frames (revision 2 and later) carry the fields up to ORD.
	Enhanced   bool
	PeerToPeer bool // A: the initiator sends a ready-to-receive frame first
	RTRSend    bool // B
	RTRWrite   bool // C
	RTRRead    bool // D
	IRD, ORD   uint16
	Private    []byte
}

// append writes the frame. Private data must fit: 512 bytes, 508 in an enhanced frame.
func (f *mpaFrame) append(b []byte) []byte {
	key := mpaRequestKey
	if f.Reply {
		key = mpaReplyKey
	}
	b = append(b, key...)
	var flags byte
	set := func(on bool, bit byte) {
		if on {
			flags |= bit
		}
	}
	set(f.Markers, mpaFlagMarkers)
	set(f.CRC, mpaFlagCRC)
	set(f.Reject, mpaFlagReject)
	set(f.Enhanced, mpaFlagEnhanced)
	n := len(f.Private)
	if f.Enhanced {
		n += 4
	}
	b = append(b, flags, f.Rev)
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	if f.Enhanced {
		b = binary.BigEndian.AppendUint16(b, depthWord(f.IRD, f.PeerToPeer, f.RTRSend))
		b = binary.BigEndian.AppendUint16(b, depthWord(f.ORD, f.RTRWrite, f.RTRRead))
	}
	return append(b, f.Private...)
}

func depthWord(depth uint16, high, next bool) uint16 {
	w := min(depth, mpaDepth)
	if high {
		w |= mpaHighBit
	}
	if next {
		w |= mpaNextBit
	}
	return w
}

// parseMPAHeader reads the first 20 bytes of a frame, and says how many bytes follow.
func parseMPAHeader(b []byte, reply bool) (f mpaFrame, follow int, err error) {
	if len(b) < mpaHeaderLen {
		return f, 0, errMPAShort
	}
	key := mpaRequestKey
	if reply {
		key = mpaReplyKey
	}
	if string(b[:mpaKeyLen]) != key {
		return f, 0, errMPAKey
	}
	flags := b[16]
	f = mpaFrame{
		Reply:   reply,
		Markers: flags&mpaFlagMarkers != 0,
		CRC:     flags&mpaFlagCRC != 0,
		Reject:  flags&mpaFlagReject != 0,
		Rev:     b[17],
	}
	f.Enhanced = f.Rev >= 2 && flags&mpaFlagEnhanced != 0
	follow = int(binary.BigEndian.Uint16(b[18:]))
	if follow > mpaMaxPrivate {
		return f, 0, fmt.Errorf("%w: %d", errMPALength, follow)
	}
	return f, follow, nil
}

// parsePrivate reads what follows the header. The frame's Private aliases b.
func (f *mpaFrame) parsePrivate(b []byte) error {
	if f.Enhanced {
		if len(b) < 4 {
			return errMPANoDepth
		}
		ird, ord := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
		f.PeerToPeer, f.RTRSend = ird&mpaHighBit != 0, ird&mpaNextBit != 0
		f.RTRWrite, f.RTRRead = ord&mpaHighBit != 0, ord&mpaNextBit != 0
		f.IRD, f.ORD = ird&mpaDepth, ord&mpaDepth
		b = b[4:]
	}
	f.Private = b
	return nil
}

// parseMPA reads a whole frame.
func parseMPA(b []byte, reply bool) (mpaFrame, error) {
	f, n, err := parseMPAHeader(b, reply)
	if err != nil {
		return f, err
	}
	if len(b) < mpaHeaderLen+n {
		return f, errMPAShort
	}
	return f, f.parsePrivate(b[mpaHeaderLen : mpaHeaderLen+n])
}
