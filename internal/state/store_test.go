package state_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"fileserver/internal/state"
)

func open(t *testing.T, path string) *state.Store {
	t.Helper()
	s, err := state.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	id := s.ID()
	if id == ([16]byte{}) || s.Epoch() != 1 || !s.WasClean() {
		t.Fatalf("first start: id %x, epoch %d, clean %v", id, s.Epoch(), s.WasClean())
	}
	if err := s.CloseClean(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false} { // after CloseClean, after Close twice
		s = open(t, path)
		if s.ID() != id || s.Epoch() != uint64(i+2) || s.WasClean() != want {
			t.Fatalf("start %d: id %x, epoch %d, clean %v", i+2, s.ID(), s.Epoch(), s.WasClean())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOneServerAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	if _, err := state.Open(path); !errors.Is(err, state.ErrInUse) {
		t.Fatalf("opened twice: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBuckets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	a, err := s.Bucket("a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Bucket("b")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{
		func() error { return a.Put([]byte("2"), []byte("two")) },
		func() error { return a.Put([]byte("1"), nil) },
		func() error { return a.Put([]byte("3"), []byte("three")) },
		func() error { return a.Put([]byte("2"), []byte("zwei")) },
		func() error { return a.Delete([]byte("3")) },
		func() error { return a.Delete([]byte("4")) },
		func() error { return other.Put([]byte("1"), []byte("other")) },
		s.Close,
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, path)
	defer s.Close()
	if a, err = s.Bucket("a"); err != nil {
		t.Fatal(err)
	}
	all, err := a.All()
	if got := fmt.Sprintf("%s", all); err != nil || got != "[{1 } {2 zwei}]" {
		t.Fatalf("%s, %v", got, err)
	}
	if err := a.Put(nil, nil); err == nil {
		t.Fatal("an empty key was accepted")
	}
}
