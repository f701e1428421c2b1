// Package xdrtest compares codecs of this repository with those of another implementation: for tests.
package xdrtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"fileserver/nfs/xdr"
)

// Codec is a type of ours, by pointer.
type Codec interface {
	Append([]byte) []byte
	Decode(*xdr.Decoder)
}

// Case is a value, and the same value of the other implementation.
type Case struct {
	Name   string
	Ours   Codec
	Theirs io.WriterTo
	// Read decodes their type.
	Read func(io.Reader) (io.WriterTo, error)
}

// New makes a Case.
func New(name string, ours Codec, theirs io.WriterTo, read func(io.Reader) (io.WriterTo, error)) Case {
	return Case{name, ours, theirs, read}
}

// From makes a Read of a type that reads itself.
func From[T any, P interface {
	*T
	io.ReaderFrom
	io.WriterTo
}](r io.Reader) (io.WriterTo, error) {
	v := P(new(T))
	_, err := v.ReadFrom(r)
	return v, err
}

// Union makes a Read of a union, which is read by a function.
func Union[T io.WriterTo](read func(io.Reader) (T, int64, error)) func(io.Reader) (io.WriterTo, error) {
	return func(r io.Reader) (io.WriterTo, error) {
		v, _, err := read(r)
		return v, err
	}
}

// Run checks that both sides encode the value to the same bytes, and decode it from them; that ours is the
// same afterwards; and that every truncated prefix is an error.
func Run(t *testing.T, cases []Case) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			b := c.Ours.Append(nil)
			if want := encode(t, c.Theirs); !bytes.Equal(b, want) {
				t.Fatalf("encoded\n%x, theirs\n%x", b, want)
			}
			got, err := decode(c.Ours, b)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.Ours) {
				t.Fatalf("decoded\n%+v, want\n%+v", got, c.Ours)
			}
			for i := range b {
				if _, err := decode(c.Ours, b[:i]); err == nil {
					t.Fatalf("prefix of %d of %d bytes is accepted", i, len(b))
				}
			}
			if _, err := decode(c.Ours, append(b, 0, 0, 0, 0)); err == nil {
				t.Fatal("trailing bytes are accepted")
			}
			r := bytes.NewReader(b)
			v, err := c.Read(r)
			if err != nil || r.Len() != 0 {
				t.Fatalf("theirs: %v, %d bytes left", err, r.Len())
			}
			if again := encode(t, v); !bytes.Equal(again, b) {
				t.Fatalf("theirs, decoded and encoded\n%x, want\n%x", again, b)
			}
		})
	}
}

func encode(t testing.TB, v io.WriterTo) []byte {
	t.Helper()
	var w bytes.Buffer
	if _, err := v.WriteTo(&w); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

// decode decodes a new value of the type of like.
func decode(like Codec, b []byte) (Codec, error) {
	v := reflect.New(reflect.TypeOf(like).Elem()).Interface().(Codec)
	d := xdr.NewDecoder(b)
	v.Decode(&d)
	return v, d.Finish()
}

// Fuzz compares the decoders of both sides on any input. The first byte chooses the case; the cases are the seeds.
func Fuzz(f *testing.F, cases []Case) {
	for i, c := range cases {
		f.Add(append([]byte{byte(i)}, c.Ours.Append(nil)...))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) == 0 {
			return
		}
		c, b := cases[int(in[0])%len(cases)], in[1:]
		if err := compare(t, c, b); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
	})
}

func compare(t *testing.T, c Case, b []byte) error {
	ours, err := decode(c.Ours, b)
	r := bytes.NewReader(b)
	theirs, theirErr := c.Read(r)
	theyAccept := theirErr == nil && r.Len() == 0
	if err != nil {
		// Ours is stricter in what it bounds and which values it allows, and in nothing else.
		if theyAccept && !errors.Is(err, xdr.ErrTooLong) && !errors.Is(err, xdr.ErrBadValue) {
			return fmt.Errorf("ours: %w; theirs accepts", err)
		}
		return nil
	}
	again := ours.Append(nil)
	if !bytes.Equal(again, b) { // pads that are not zero
		if _, err := decode(c.Ours, again); err != nil {
			return fmt.Errorf("encoded and decoded: %w", err)
		}
		return nil
	}
	if theirErr != nil && strings.Contains(theirErr.Error(), "non-ASCII") {
		return nil // names are bytes here
	}
	if !theyAccept {
		return fmt.Errorf("theirs: %w, %d bytes left; ours accepts", theirErr, r.Len())
	}
	if w := encode(t, theirs); !bytes.Equal(w, again) {
		return fmt.Errorf("encoded again\n%x, theirs\n%x", again, w)
	}
	return nil
}
