package wire

import (
	"bytes"
	"testing"
)

var (
	symlinkErrors = []SymlinkError{{Unparsed: 6, Substitute: name("target"), Print: name("t"), Flags: SymlinkRelative}, {Substitute: name("x")}}
	errorContexts = func() []byte {
		b := (&ErrorContext{ID: ErrorIDDefault, Data: []byte("four!")}).Append(nil)
		return (&ErrorContext{ID: ErrorIDShareRedirect, Data: []byte("more")}).Append(b)
	}()
	errorResponses = []ErrorResponse{{}, {Data: AppendBufferTooSmall(nil, 100)}, {ContextCount: 2, Data: errorContexts}}
)

func TestErrorResponse(t *testing.T) {
	checkMessage(t, ParseErrorResponse, (*ErrorResponse).Append, errorResponses...)
	checkData(t, ParseSymlinkError, (*SymlinkError).Append, symlinkErrors...)
	one, rest, err := ParseErrorContext(errorContexts)
	if err != nil || string(one.Data) != "four!" {
		t.Fatal(one, err)
	}
	two, rest, err := ParseErrorContext(rest)
	if err != nil || two.ID != ErrorIDShareRedirect || string(two.Data) != "more" || len(rest) != 0 {
		t.Fatal(two, rest, err)
	}
	for n := range 13 {
		if _, _, err := ParseErrorContext(errorContexts[:n]); err == nil {
			t.Errorf("error context of %d bytes is taken", n)
		}
	}
}

func FuzzErrorResponse(f *testing.F) {
	fuzzMessage(f, ParseErrorResponse, (*ErrorResponse).Append, errorResponses...)
}

func FuzzErrorContext(f *testing.F) {
	f.Add(errorContexts)
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			_, rest, err := ParseErrorContext(b)
			if err != nil {
				return
			}
			if len(rest) >= len(b) {
				t.Fatal("no progress")
			}
			b = rest
		}
	})
}

func FuzzSymlinkError(f *testing.F) {
	for _, s := range symlinkErrors {
		f.Add(s.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSymlinkError(b)
		if err != nil || len(s.Substitute)+len(s.Print) > 0xfff0 {
			return
		}
		if again, err := ParseSymlinkError(s.Append(nil)); err != nil || !bytes.Equal(again.Substitute, s.Substitute) || !bytes.Equal(again.Print, s.Print) {
			t.Fatal(again, err)
		}
	})
}
