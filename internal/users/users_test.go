package users

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestLife(t *testing.T) {
	s := Open(t.TempDir())
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Fatal(list, err)
	}
	ann := User{Name: "Ann", NTHash: [16]byte{1, 2}, UID: 1000, GID: 100, Groups: []uint32{4, 5}}
	if err := s.Add(ann); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(User{Name: "aNN"}); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	st, err := os.Stat(s.Path())
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatal(st.Mode(), err)
	}
	// Another process's change is seen at the next look.
	other := Open(strings.TrimSuffix(s.Path(), "/"+FileName))
	for _, name := range []string{"ann", "ANN"} {
		if u, ok, err := other.Lookup(name); err != nil || !ok || u.Name != "Ann" || u.UID != 1000 || len(u.Groups) != 2 || u.NTHash != ann.NTHash {
			t.Fatalf("%+v %v %v", u, ok, err)
		}
	}
	if err := s.Update("ann", func(u *User) { u.NTHash[0] = 9 }); err != nil {
		t.Fatal(err)
	}
	if u, _, _ := other.Lookup("ann"); u.NTHash[0] != 9 {
		t.Error("the change is not seen")
	}
	if err := s.Remove("Ann"); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := other.Lookup("ann"); ok || err != nil {
		t.Error("still there", err)
	}
	if err := s.Remove("Ann"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if err := s.Update("Ann", func(*User) {}); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"", "a/b", `DOM\a`, "a@b", "a\x00", " a", "a ", strings.Repeat("x", 65)} {
		if err := Open(t.TempDir()).Add(User{Name: name}); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"a", "José Müller", "svc-sql$", strings.Repeat("ü", 64)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestBadFiles(t *testing.T) {
	for name, content := range map[string]string{
		"not JSON":    "users:",
		"unknown key": `{"users": [], "more": 1}`,
		"short hash":  `{"users": [{"name": "a", "nt_hash": "00"}]}`,
		"long hash":   `{"users": [{"name": "a", "nt_hash": "` + strings.Repeat("0", 34) + `"}]}`,
		"twice":       `{"users": [{"name": "a", "nt_hash": "` + strings.Repeat("0", 32) + `"}, {"name": "A", "nt_hash": "` + strings.Repeat("0", 32) + `"}]}`,
		"name":        `{"users": [{"name": "a/b", "nt_hash": "` + strings.Repeat("0", 32) + `"}]}`,
	} {
		s := Open(t.TempDir())
		if err := os.WriteFile(s.Path(), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := s.Lookup("a"); ok || err == nil || !strings.Contains(err.Error(), s.Path()) {
			t.Errorf("%s: %v %v", name, ok, err)
		}
		if err := s.Add(User{Name: "b"}); err == nil {
			t.Errorf("%s: the file was replaced", name)
		}
	}
	s := Open(t.TempDir())
	if err := s.Add(User{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Path(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Lookup("a"); ok || err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that all may read: %v %v", ok, err)
	}
	if err := os.Chmod(s.Path(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Lookup("a"); !ok || err != nil {
		t.Errorf("after the repair: %v %v", ok, err)
	}
}

func TestConcurrentChanges(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := Open(dir).Add(User{Name: string(rune('a' + i))}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := Open(dir).List(); err != nil || len(list) != 20 {
		t.Fatalf("%d users, %v", len(list), err)
	}
}
