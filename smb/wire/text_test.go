package wire

import (
	"testing"
	"time"
	"unicode/utf16"
)

func TestUTF16(t *testing.T) {
	for _, s := range []string{"", "a", "Grüße", "日本語", "\U0001f600x", "￿", "\ufffd", "a\x00b"} {
		b := AppendUTF16(nil, s)
		var want []byte
		for _, u := range utf16.Encode([]rune(s)) {
			want = le.AppendUint16(want, u)
		}
		if string(b) != string(want) || UTF16Len(s) != len(b) {
			t.Errorf("%q: %x, not %x; length %d", s, b, want, UTF16Len(s))
		}
		if got, err := UTF16(b); err != nil || got != s {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	if s := string(AppendUTF16(nil, "a\xffb\xed\xa0")); s != "a\x00\xfd\xffb\x00\xfd\xff\xfd\xff" {
		t.Errorf("no UTF-8: %x", s)
	}
	if _, err := UTF16([]byte{1}); err == nil {
		t.Error("half a character was taken")
	}
}

func FuzzUTF16(f *testing.F) {
	f.Add([]byte("a\x00\x00\xd8\x00\xdc\x00\xdc\x00\xd8"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := UTF16(b)
		if err != nil {
			return
		}
		if got := AppendUTF16(nil, s); string(got) != string(b) || UTF16Len(s) != len(b) {
			t.Fatalf("%x became %q and %x, length %d", b, s, got, UTF16Len(s))
		}
	})
}

func FuzzUTF16String(f *testing.F) {
	f.Add("a\xffb\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		b := AppendUTF16(nil, s)
		if len(b) != UTF16Len(s) {
			t.Fatalf("%q: %d bytes, %d", s, len(b), UTF16Len(s))
		}
		if again, err := UTF16(b); err != nil || string(AppendUTF16(nil, again)) != string(b) {
			t.Fatalf("%q: %q, %v", s, again, err)
		}
	})
}

func TestFiletime(t *testing.T) {
	for s, want := range map[string]Filetime{
		"1601-01-01T00:00:00.0000001Z": 1,
		"1970-01-01T00:00:00Z":         116444736000000000,
		"2000-01-01T00:00:00.5000001Z": 125911584005000001,
	} {
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		if f := FiletimeOf(at); f != want || !f.Time().Equal(at) {
			t.Errorf("%s: %d, which is %s", s, f, f.Time())
		}
	}
	if FiletimeOf(time.Time{}) != 0 || !Filetime(0).Time().IsZero() {
		t.Error("the zero time is not 0")
	}
	if f := UnixFiletime(-1<<40, 5); f != 0 {
		t.Error("before 1601:", f)
	}
	if f := UnixFiletime(1<<60, 5); f < 1<<62 || f >= 1<<63 {
		t.Error("too far ahead:", f)
	}
	if sec, nsec := UnixFiletime(1_700_000_000, 999_999_999).Unix(); sec != 1_700_000_000 || nsec != 999_999_900 {
		t.Error(sec, nsec)
	}
}
