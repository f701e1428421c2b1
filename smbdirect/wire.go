package smbdirect

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Specification constants (MS-SMBD 2.2, 3.1).
const (
	version = 0x0100

	requestLen  = 20 // negotiate request
	responseLen = 32 // negotiate response
	headerLen   = 20 // data transfer message without data
	dataOffset  = 24 // where our data begins: 8-byte aligned

	flagResponseRequested = 0x0001 // SMB_DIRECT_RESPONSE_REQUESTED

	statusSuccess      = 0x00000000
	statusNotSupported = 0xC00000BB // STATUS_NOT_SUPPORTED

	minReceiveSize    = 128
	minFragmentedSize = 131072
)

// negotiateRequest is MS-SMBD 2.2.1.
type negotiateRequest struct {
	minVersion, maxVersion uint16
	creditsRequested       uint16
	preferredSendSize      uint32
	maxReceiveSize         uint32
	maxFragmentedSize      uint32
}

var errShort = errors.New("smbdirect: message is too short")

func parseRequest(b []byte) (r negotiateRequest, err error) {
	if len(b) < requestLen {
		return r, fmt.Errorf("%w: negotiate request of %d bytes", errShort, len(b))
	}
	le := binary.LittleEndian
	r.minVersion, r.maxVersion = le.Uint16(b), le.Uint16(b[2:])
	r.creditsRequested = le.Uint16(b[6:])
	r.preferredSendSize = le.Uint32(b[8:])
	r.maxReceiveSize = le.Uint32(b[12:])
	r.maxFragmentedSize = le.Uint32(b[16:])
	return r, nil
}

func (r negotiateRequest) append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint16(b, r.minVersion)
	b = le.AppendUint16(b, r.maxVersion)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint16(b, r.creditsRequested)
	b = le.AppendUint32(b, r.preferredSendSize)
	b = le.AppendUint32(b, r.maxReceiveSize)
	return le.AppendUint32(b, r.maxFragmentedSize)
}

// negotiateResponse is MS-SMBD 2.2.2.
type negotiateResponse struct {
	minVersion, maxVersion, negotiated uint16
	creditsRequested, creditsGranted   uint16
	status                             uint32
	maxReadWriteSize                   uint32
	preferredSendSize                  uint32
	maxReceiveSize                     uint32
	maxFragmentedSize                  uint32
}

func parseResponse(b []byte) (r negotiateResponse, err error) {
	if len(b) < responseLen {
		return r, fmt.Errorf("%w: negotiate response of %d bytes", errShort, len(b))
	}
	le := binary.LittleEndian
	r.minVersion, r.maxVersion, r.negotiated = le.Uint16(b), le.Uint16(b[2:]), le.Uint16(b[4:])
	r.creditsRequested, r.creditsGranted = le.Uint16(b[8:]), le.Uint16(b[10:])
	r.status = le.Uint32(b[12:])
	r.maxReadWriteSize = le.Uint32(b[16:])
	r.preferredSendSize = le.Uint32(b[20:])
	r.maxReceiveSize = le.Uint32(b[24:])
	r.maxFragmentedSize = le.Uint32(b[28:])
	return r, nil
}

func (r negotiateResponse) append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint16(b, r.minVersion)
	b = le.AppendUint16(b, r.maxVersion)
	b = le.AppendUint16(b, r.negotiated)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint16(b, r.creditsRequested)
	b = le.AppendUint16(b, r.creditsGranted)
	b = le.AppendUint32(b, r.status)
	b = le.AppendUint32(b, r.maxReadWriteSize)
	b = le.AppendUint32(b, r.preferredSendSize)
	b = le.AppendUint32(b, r.maxReceiveSize)
	return le.AppendUint32(b, r.maxFragmentedSize)
}

// dataTransfer is the header of MS-SMBD 2.2.3.
type dataTransfer struct {
	creditsRequested, creditsGranted uint16
	flags                            uint16
	remaining                        uint32 // bytes of the message after this fragment
	offset                           uint32
	length                           uint32
}

// parseData parses a data transfer message. data is a part of b.
func parseData(b []byte) (h dataTransfer, data []byte, err error) {
	if len(b) < headerLen {
		return h, nil, fmt.Errorf("%w: data transfer of %d bytes", errShort, len(b))
	}
	le := binary.LittleEndian
	h.creditsRequested, h.creditsGranted, h.flags = le.Uint16(b), le.Uint16(b[2:]), le.Uint16(b[4:])
	h.remaining, h.offset, h.length = le.Uint32(b[8:]), le.Uint32(b[12:]), le.Uint32(b[16:])
	if h.length == 0 {
		return h, nil, nil // without data the offset has no meaning
	}
	if h.offset%8 != 0 || h.offset < headerLen {
		return h, nil, fmt.Errorf("smbdirect: data at offset %d", h.offset)
	}
	if uint64(h.offset)+uint64(h.length) > uint64(len(b)) {
		return h, nil, fmt.Errorf("smbdirect: %d bytes of data at offset %d of a message of %d", h.length, h.offset, len(b))
	}
	return h, b[h.offset : h.offset+h.length], nil
}

// append appends the header and, if there is data, the padding in front of the data.
func (h dataTransfer) append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint16(b, h.creditsRequested)
	b = le.AppendUint16(b, h.creditsGranted)
	b = le.AppendUint16(b, h.flags)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, h.remaining)
	if h.length == 0 {
		return append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	b = le.AppendUint32(b, dataOffset)
	b = le.AppendUint32(b, h.length)
	return append(b, 0, 0, 0, 0)
}
