package secdesc

import (
	"bytes"
	"testing"
)

func TestSID(t *testing.T) {
	for text, s := range map[string]SID{
		"S-1-1-0":            Everyone,
		"S-1-22-1-1000":      UnixUser(1000),
		"S-1-22-2-100":       UnixGroup(100),
		"S-1-5-32-544":       Administrators,
		"S-1-0x123456789abc": NewSID(0x123456789abc),
		"S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-4294967295": NewSID(5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 1<<32-1),
	} {
		if got, err := ParseSIDString(text); err != nil || got != s || got.String() != text {
			t.Errorf("%s: %s, %v", text, got, err)
		}
		b := s.Append(nil)
		if got, err := ParseSID(append(b, 1, 2)); err != nil || got != s || got.Len() != len(b) {
			t.Errorf("%s: %s, %v", text, got, err)
		}
		for n := range b {
			if got, err := ParseSID(b[:n]); err == nil {
				t.Errorf("%s: %d bytes are %s", text, n, got)
			}
		}
	}
	for _, text := range []string{"", "S-1", "S-2-5-1", "X-1-5-1", "S-1-5-4294967296", "S-1-281474976710656-1", "S-1-5--1", "S-1-5-x",
		"S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16"} {
		if s, err := ParseSIDString(text); err == nil {
			t.Errorf("%q is %s", text, s)
		}
	}
	if b := UnixUser(1000).Append(nil); !bytes.Equal(b, []byte{1, 2, 0, 0, 0, 0, 0, 22, 1, 0, 0, 0, 0xe8, 3, 0, 0}) {
		t.Errorf("%x", b)
	}
	if s := (SID{}); !s.IsZero() || s.String() != "none" || Nobody.IsZero() {
		t.Error("the zero SID is one")
	}
}

func TestSIDNumbers(t *testing.T) {
	for _, c := range []struct {
		s              SID
		uid, gid, mode bool
	}{
		{UnixUser(7), true, false, false}, {UnixGroup(7), false, true, false}, {NFSMode(7), false, false, true},
		{NewSID(5, 88, 1, 7), true, false, false}, {NewSID(5, 88, 2, 7), false, true, false},
		{Everyone, false, false, false}, {NewSID(22, 1), false, false, false}, {NewSID(22, 1, 7, 7), false, false, false}, {SID{}, false, false, false},
	} {
		u, uid := c.s.UID()
		g, gid := c.s.GID()
		m, mode := c.s.Mode()
		if uid != c.uid || gid != c.gid || mode != c.mode || uid && u != 7 || gid && g != 7 || mode && m != 7 {
			t.Errorf("%s: %d %v, %d %v, %d %v", c.s, u, uid, g, gid, m, mode)
		}
	}
}

func FuzzSIDString(f *testing.F) {
	f.Add("S-1-5-32-544")
	f.Add("S-1-0x123456789abc-1")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSIDString(text)
		if err != nil {
			return
		}
		if again, err := ParseSIDString(s.String()); err != nil || again != s {
			t.Fatal(again, err)
		}
		if again, err := ParseSID(s.Append(nil)); err != nil || again != s {
			t.Fatal(again, err)
		}
	})
}
