package users

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzFile reads users.json as it may have become: whatever is in it, the answer is users who are as they have to be, or an
// error that names the file. What is read comes back when it is written.
func FuzzFile(f *testing.F) {
	hash := strings.Repeat("0f", 16)
	for _, s := range []string{
		"", "{}", `{"users": []}`, `{"users": null}`, `{"users": [{}]}`, `{"users": {}}`, "[]", "null", `{"users": []} {"users": []}`,
		`{"users": [{"name": "Ann", "nt_hash": "` + hash + `", "uid": 1, "gid": 2, "groups": [3, 4]}]}`,
		`{"users": [{"name": "a", "nt_hash": "` + hash + `"}, {"name": "A", "nt_hash": "` + hash + `"}]}`,
		`{"users": [{"name": "a", "nt_hash": "zz"}]}`, `{"users": [{"name": "a", "uid": -1}]}`, `{"users": [{"name": "a", "uid": 4294967296}]}`,
		`{"users": [{"name": "\u0000"}]}`, `{"users": [{"name": "` + strings.Repeat("x", 65) + `"}]}`, `{"users": [], "more": 1}`,
	} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), FileName)
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := read(path)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		for name, u := range list {
			if CheckName(u.Name) != nil || fold(u.Name) != name {
				t.Errorf("%q is under %q", u.Name, name)
			}
		}
		if err := write(path, list); err != nil {
			t.Fatal(err)
		}
		again, err := read(path)
		same := func(a, b User) bool {
			return a.Name == b.Name && a.NTHash == b.NTHash && a.UID == b.UID && a.GID == b.GID && slices.Equal(a.Groups, b.Groups)
		}
		if err != nil || !maps.EqualFunc(list, again, same) {
			t.Errorf("%v became %v, %v", list, again, err)
		}
		left, err := filepath.Glob(path + ".*")
		if err != nil || len(left) > 0 {
			t.Errorf("%q are left, %v", left, err)
		}
		written, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := write(path, again); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, written) {
			t.Errorf("written twice it differs: %v", err)
		}
	})
}

// Version changes with every change of the users, and only then.
func TestVersion(t *testing.T) {
	dir := t.TempDir()
	s, other := Open(dir), Open(dir)
	last := s.Version()
	next := func(what string, changed bool) {
		t.Helper()
		if v := s.Version(); (v != last) != changed {
			t.Errorf("%s: version %d after %d", what, v, last)
		} else {
			last = v
		}
	}
	next("no file", false)
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"add", func() error { return other.Add(User{Name: "a"}) }},
		{"update", func() error { return other.Update("a", func(u *User) { u.UID = 7 }) }},
		{"own change", func() error { return s.Update("a", func(u *User) { u.UID = 8 }) }},
		{"remove", func() error { return other.Remove("a") }},
		{"no file any more", func() error { return os.Remove(s.Path()) }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		next(step.what, true)
		next(step.what+", again", false)
	}
}
