//go:build !race

package bench

import (
	"testing"
)

// TestAllocations holds READ and WRITE to nothing, of client and server together.
func TestAllocations(t *testing.T) {
	r := newRig(t)
	r.each(func(t *testing.T, c Config) {
		c.BlockSize = 16 << 10
		s, err := Dial(t.Context(), &c.Target)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		f, err := s.Open(t.Context(), "file")
		if err != nil {
			t.Fatal(err)
		}
		io, err := f.NewIO(t.Context(), c.BlockSize)
		if err != nil {
			t.Fatal(err)
		}
		defer io.Release()
		turn := func() {
			err := io.Write(t.Context(), 0, c.BlockSize)
			if err == nil {
				_, err = io.Read(t.Context(), 0, c.BlockSize)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 6000 { // until the server's cache of replies is full
			turn()
		}
		if n := testing.AllocsPerRun(1000, turn); n >= 1 {
			t.Errorf("%v allocations in a WRITE and a READ", n)
		}
	})
}
