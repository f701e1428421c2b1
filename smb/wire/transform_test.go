package wire

import (
	"bytes"
	"testing"
)

var (
	transforms   = []TransformHeader{{Signature: testGUID, Nonce: testKey, OriginalSize: 100, Flags: TransformEncrypted, SessionID: 1 << 60}}
	compressedBy = []CompressionHeader{{OriginalSize: 4096, Algorithm: CompressionLZ77, Offset: 64}, {OriginalSize: 1, Flags: CompressionFlagChained}}
	payloads     = []CompressionPayload{
		{Algorithm: CompressionNone, Flags: CompressionFlagChained, OriginalSize: 5, Data: []byte("plain")},
		{Algorithm: CompressionLZ77Huffman, OriginalSize: 1 << 20, Data: []byte("compressed")},
		{Algorithm: CompressionPatternV1, OriginalSize: 1000, Data: (&PatternV1{'x', 1000}).Append(nil)},
	}
)

func TestTransform(t *testing.T) {
	checkData(t, ParseTransform, (*TransformHeader).Append, transforms...)
	b := make([]byte, 60)
	transforms[0].Put(b)
	if h, err := ParseTransform(b); err != nil || h != transforms[0] {
		t.Error(h, err)
	}
	if a := TransformAuthenticated(b); len(a) != 32 || !bytes.Equal(a[:16], testKey[:]) {
		t.Errorf("%x", a)
	}
}

func parsePayload(b []byte) (CompressionPayload, error) {
	p, _, err := ParseCompressionPayload(b)
	return p, err
}

func TestCompression(t *testing.T) {
	checkData(t, ParseCompression, (*CompressionHeader).Append, compressedBy...)
	checkData(t, parsePayload, (*CompressionPayload).Append, payloads...)
	checkData(t, ParsePatternV1, (*PatternV1).Append, PatternV1{1, 2})
	var chain []byte
	for _, p := range payloads {
		chain = p.Append(chain)
	}
	for i := range payloads {
		p, rest, err := ParseCompressionPayload(chain)
		if err != nil || p.OriginalSize != payloads[i].OriginalSize {
			t.Fatal(p, err)
		}
		chain = rest
	}
	if len(chain) != 0 {
		t.Error(len(chain), "bytes left")
	}
}

func FuzzTransform(f *testing.F) {
	fuzzData(f, ParseTransform, (*TransformHeader).Append, transforms...)
}

func FuzzCompression(f *testing.F) {
	fuzzData(f, ParseCompression, (*CompressionHeader).Append, compressedBy...)
}

func FuzzCompressionPayload(f *testing.F) {
	fuzzData(f, parsePayload, (*CompressionPayload).Append, payloads...)
}
