package interop

import (
	"bytes"
	"encoding/hex"
	"testing"

	"fileserver/rdma"
)

func TestInfo(t *testing.T) {
	want := rdma.Segment{Addr: 0x0102030405060708, RKey: 0x11121314, Length: 0x21222324}
	b := appendInfo(nil, want)
	if h := hex.EncodeToString(b); h != "01020304050607081112131421222324" {
		t.Error(h)
	}
	if got, err := parseInfo(b); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for i := range b {
		if _, err := parseInfo(b[:i]); err == nil {
			t.Errorf("a message of %d bytes was accepted", i)
		}
	}
}

func TestKeys(t *testing.T) {
	want := keys{outReads: 16, qpn: 0x123456, rkey: 0xfedcba98, addr: 0x0102030405060708}
	b := want.append(nil)
	if h := hex.EncodeToString(b[:32]); len(b) != keysSize || h != "00000000"+"00000010"+"00123456"+"00000000"+"fedcba98"+"00000000"+"0102030405060708" {
		t.Error(len(b), h)
	}
	if got, err := parseKeys(b); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for i := range b {
		if _, err := parseKeys(b[:i]); err == nil {
			t.Errorf("a message of %d bytes was accepted", i)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(appendInfo(nil, rdma.Segment{Addr: 1, RKey: 2, Length: 3}))
	f.Add(keys{outReads: 1, qpn: 2, rkey: 3, addr: 4}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseInfo(b); (err == nil) != (len(b) == infoSize) || err == nil && !bytes.Equal(appendInfo(nil, s), b) {
			t.Errorf("%x: %+v, %v", b, s, err)
		}
		k, err := parseKeys(b)
		if (err == nil) != (len(b) == keysSize) {
			t.Errorf("%x: %+v, %v", b, k, err)
		}
		if again, e := parseKeys(k.append(nil)); e != nil || again != k {
			t.Errorf("%+v, again %+v, %v", k, again, e)
		}
	})
}
