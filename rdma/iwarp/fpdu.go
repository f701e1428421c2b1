package iwarp

import (
	"encoding/binary"
	"hash/crc32"
)

// FPDUs, RFC 5044 4: length, ULPDU, padding to a multiple of four, CRC32C.
const (
	fpduLengthLen = 2
	fpduCRCLen    = 4
	maxULPDU      = 65535
	// maxFPDU is the longest FPDU there can be.
	maxFPDU = fpduLengthLen + maxULPDU + 3 + fpduCRCLen
	// minFPDU is the shortest MaxFPDU accepted: room for a Read Request.
	minFPDU = 128
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fpduPad is the padding behind a ULPDU of n bytes.
func fpduPad(n int) int { return -(fpduLengthLen + n) & 3 }

// fpduLen is the length of the FPDU of a ULPDU of n bytes.
func fpduLen(n int) int { return fpduLengthLen + n + fpduPad(n) + fpduCRCLen }

// payloadLimit is the most payload behind a header of hdr bytes in an FPDU of at
// most fpdu bytes: a multiple of four, so that FPDUs of the full size need no
// padding and fill a TCP segment exactly.
func payloadLimit(fpdu, hdr int) int {
	n := min(fpdu, maxFPDU-3)&^3 - fpduLengthLen - fpduCRCLen - hdr
	return min(n, maxULPDU-hdr) &^ 3
}

// checkCRC verifies a whole FPDU, whose ULPDU has n bytes.
func checkCRC(fpdu []byte, n int) bool {
	end := fpduLengthLen + n + fpduPad(n)
	return crc32.Checksum(fpdu[:end], castagnoli) == binary.LittleEndian.Uint32(fpdu[end:])
}

// appendFPDU appends a whole FPDU; the transmitter, which sends payload by
// reference, has its own way.
func appendFPDU(b, ulpdu []byte, crc bool) []byte {
	start := len(b)
	b = binary.BigEndian.AppendUint16(b, uint16(len(ulpdu)))
	b = append(b, ulpdu...)
	b = append(b, make([]byte, fpduPad(len(ulpdu)))...)
	var sum uint32
	if crc {
		sum = crc32.Checksum(b[start:], castagnoli)
	}
	return binary.LittleEndian.AppendUint32(b, sum)
}
