package wire

import (
	"bytes"
	"reflect"
	"testing"
)

// testHeader is the header that tests put before a body.
var testHeader = func() []byte {
	h := Header{Command: CmdEcho, MessageID: 7, TreeID: 3, SessionID: 9}
	return h.Append(nil)
}()

// message appends header and body to at other bytes, because messages of a compound do not begin at 0. It returns the
// message alone.
func message[T any](app func(*T, []byte, int) []byte, v *T, at int) []byte {
	b := append(bytes.Repeat([]byte{0xaa}, at), testHeader...)
	return app(v, b, at)[at:]
}

// checkMessage checks that parsing an appended message yields the same value,
// and that a message does not parse when bytes that carry a value are cut off.
func checkMessage[T any](t *testing.T, parse func([]byte) (T, error), app func(*T, []byte, int) []byte, values ...T) {
	t.Helper()
	for _, v := range values {
		for _, at := range []int{0, 24} {
			checkBytes(t, parse, message(app, &v, at), v)
		}
	}
}

// checkData is checkMessage for data without a header: contexts and information classes.
func checkData[T any](t *testing.T, parse func([]byte) (T, error), app func(*T, []byte) []byte, values ...T) {
	t.Helper()
	for _, v := range values {
		checkBytes(t, parse, app(&v, nil), v)
		if b := app(&v, []byte{1, 2, 3, 4, 5, 6, 7, 8}); !bytes.Equal(b[8:], app(&v, nil)) {
			t.Errorf("%T: appended differently to something", v)
		}
	}
}

func checkBytes[T any](t *testing.T, parse func([]byte) (T, error), b []byte, v T) {
	t.Helper()
	got, err := parse(b)
	if err != nil {
		t.Fatalf("%T: %v\n%x", v, err, b)
	}
	if !reflect.DeepEqual(got, v) {
		t.Fatalf("got  %+v\nwant %+v", got, v)
	}
	for n := 0; n < len(b); n += 1 + len(b)/2000 {
		got, err := parse(bytes.Clone(b[:n]))
		if err == nil && (!reflect.DeepEqual(got, v) || len(b)-n > 8 || len(bytes.Trim(b[n:], "\x00")) > 0) {
			t.Fatalf("%T: %d of %d bytes are taken for the whole", v, n, len(b))
		}
	}
}

// fuzzMessage checks that a value a parser returns is the same after it has been appended and parsed again.
func fuzzMessage[T any](f *testing.F, parse func([]byte) (T, error), app func(*T, []byte, int) []byte, seeds ...T) {
	for _, v := range seeds {
		f.Add(message(app, &v, 0))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parse(b)
		if err != nil {
			return
		}
		if got, err := parse(message(app, &v, 0)); err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("again: %+v, %v\nwas    %+v", got, err, v)
		}
	})
}

// fuzzData is fuzzMessage for data without a header.
func fuzzData[T any](f *testing.F, parse func([]byte) (T, error), app func(*T, []byte) []byte, seeds ...T) {
	for _, v := range seeds {
		f.Add(app(&v, nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parse(b)
		if err != nil {
			return
		}
		if got, err := parse(app(&v, nil)); err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("again: %+v, %v\nwas    %+v", got, err, v)
		}
	})
}

func name(s string) []byte { return AppendUTF16(nil, s) }

var (
	testGUID = GUID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	testFile = FileID{0x1122334455667788, 0x99aabbccddeeff00}
	testKey  = LeaseKey{16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
)

func TestGUID(t *testing.T) {
	if s := testGUID.String(); s != "04030201-0605-0807-090a-0b0c0d0e0f10" {
		t.Error(s)
	}
}
