package wire

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
)

var dirClasses = []InfoClass{
	FileDirectoryInformation, FileFullDirectoryInformation, FileBothDirectoryInformation, FileNamesInformation,
	FileIDBothDirectoryInformation, FileIDFullDirectoryInformation, FileIDExtdDirectoryInformation, FilePosixInformation,
}

func dirEntries() []DirEntry {
	e := DirEntry{FileIndex: 1, Times: times, EndOfFile: 2, AllocationSize: 1 << 40, FileAttributes: FileAttributeHidden, EASize: 4, ReparseTag: 5,
		ShortName: "SHORT~1.TXT", FileID: 1 << 50, Device: 6, Links: 7, Mode: 8, Owner: sid, Group: sid, Name: "ä name"}
	dots, last := e, e
	dots.Name, dots.ShortName = ".", ""
	last.Name, last.FileAttributes = "\U0001f600", FileAttributeDirectory
	return []DirEntry{dots, e, last}
}

// only returns e with the fields of class c alone.
func only(c InfoClass, e DirEntry) DirEntry {
	if c == FileNamesInformation {
		return DirEntry{FileIndex: e.FileIndex, Name: e.Name}
	}
	if c != FilePosixInformation {
		e.Device, e.Links, e.Mode, e.Owner, e.Group = 0, 0, 0, nil, nil
	}
	if c == FilePosixInformation || c == FileDirectoryInformation {
		e.EASize = 0
	}
	if c != FilePosixInformation && c != FileIDExtdDirectoryInformation {
		e.ReparseTag = 0
	}
	if c == FileDirectoryInformation || c == FileFullDirectoryInformation || c == FileBothDirectoryInformation {
		e.FileID = 0
	}
	if c != FileBothDirectoryInformation && c != FileIDBothDirectoryInformation {
		e.ShortName = ""
	}
	return e
}

func TestDirEntries(t *testing.T) {
	for _, c := range dirClasses {
		l := NewList([]byte("before"), 1<<20)
		var want []DirEntry
		for _, e := range dirEntries() {
			if !l.AddDirEntry(c, &e) {
				t.Fatalf("class %d: no room", c)
			}
			want = append(want, only(c, e))
		}
		b := l.Bytes()[6:]
		if len(b) != l.Len() || l.Empty() {
			t.Error(len(b), l.Len())
		}
		got, err := ParseDirEntries(c, b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("class %d: %v\ngot  %+v\nwant %+v", c, err, got, want)
		}
		for n := range b {
			if got, err := ParseDirEntries(c, b[:n]); err == nil {
				t.Fatalf("class %d: %d of %d bytes are taken: %+v", c, n, len(b), got)
			}
		}
		// As many entries are added as fit. An entry that does not fit leaves no trace.
		for limit := range len(b) {
			l := NewList(nil, limit)
			n := 0
			for _, e := range dirEntries() {
				if !l.AddDirEntry(c, &e) {
					break
				}
				n++
			}
			if l.Len() > limit || n == 3 || l.Empty() != (n == 0) {
				t.Fatalf("class %d: %d bytes of %d, %d entries", c, l.Len(), limit, n)
			}
			if got, err := ParseDirEntries(c, l.Bytes()); n > 0 && (err != nil || !reflect.DeepEqual(got, want[:n])) {
				t.Fatalf("class %d, limit %d: %v, %v", c, limit, got, err)
			}
		}
	}
	if IsDirClass(FileBasicInformation) || !IsDirClass(FilePosixInformation) {
		t.Error("IsDirClass")
	}
	if _, err := ParseDirEntries(FileBasicInformation, make([]byte, 100)); err == nil {
		t.Error("FileBasicInformation is a directory")
	}
}

// Listing a directory allocates nothing but the room of the output.
func TestDirEntryAllocations(t *testing.T) {
	buf := make([]byte, 0, 4096)
	e := dirEntries()[1]
	for _, c := range dirClasses {
		if n := testing.AllocsPerRun(100, func() {
			l := NewList(buf, 4096)
			for l.AddDirEntry(c, &e) {
			}
		}); n > 1 { // 1: the entry that does not fit
			t.Errorf("class %d: %v allocations", c, n)
		}
	}
}

func FuzzDirEntries(f *testing.F) {
	for _, c := range dirClasses {
		l := NewList(nil, 1<<20)
		for _, e := range dirEntries() {
			l.AddDirEntry(c, &e)
		}
		f.Add(uint8(c), l.Bytes())
	}
	f.Fuzz(func(t *testing.T, c uint8, b []byte) {
		got, err := ParseDirEntries(InfoClass(c), b)
		if err != nil {
			return
		}
		l := NewList(nil, 1<<30)
		for i := range got {
			l.AddDirEntry(InfoClass(c), &got[i])
		}
		if again, err := ParseDirEntries(InfoClass(c), l.Bytes()); err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%v\nagain %+v\nwas   %+v", err, again, got)
		}
	})
}

// checkList checks a list of two entries in the way TestDirEntries does.
func checkList[T any](t *testing.T, add func(*List, *T) bool, parse func([]byte) ([]T, error), values ...T) {
	t.Helper()
	l := NewList(nil, 1<<20)
	for _, v := range values {
		if !add(&l, &v) {
			t.Fatal("no room")
		}
	}
	b := l.Bytes()
	if got, err := parse(b); err != nil || !reflect.DeepEqual(got, values) {
		t.Fatalf("%v\ngot  %+v\nwant %+v", err, got, values)
	}
	for n := 1; n < len(b); n++ {
		if got, err := parse(bytes.Clone(b[:n])); err == nil && !reflect.DeepEqual(got, values) {
			t.Fatalf("%d of %d bytes are taken: %+v", n, len(b), got)
		}
		l := NewList(nil, n)
		for _, v := range values {
			add(&l, &v)
		}
		if l.Len() > n {
			t.Fatalf("%d bytes of %d", l.Len(), n)
		}
	}
	if got, err := parse(nil); err != nil || got != nil {
		t.Error(got, err)
	}
}

var (
	streams    = []Stream{{Size: 1, AllocationSize: 4096, Name: "::$DATA"}, {Size: 1 << 40, Name: ":a:$DATA"}}
	notifies   = []Notify{{FileActionAdded, "file"}, {FileActionRenamedOldName, `dir\x`}}
	attributes = []EA{{Flags: EANeed, Name: []byte("user.a"), Value: []byte("value")}, {Name: []byte("B"), Value: []byte{}}}
)

func parseEAList(b []byte) (list []EA, err error) {
	eas, err := ParseEAs(b)
	for ea := range eas.All() {
		list = append(list, ea)
	}
	return list, err
}

func parseEANameList(b []byte) (list []string, err error) {
	names, err := ParseEANames(b)
	for n := range names.All() {
		list = append(list, string(n))
	}
	return list, err
}

func TestLists(t *testing.T) {
	checkList(t, (*List).AddStream, ParseStreams, streams...)
	checkList(t, (*List).AddNotify, ParseNotifies, notifies...)
	checkList(t, (*List).AddEA, parseEAList, attributes...)
	checkList(t, func(l *List, s *string) bool { return l.AddEAName([]byte(*s)) }, parseEANameList, "user.a", "B")
	for i, b := range [][]byte{
		{0, 0, 0, 0, 0, 1, 0, 0, 'a', 'b'},                    // no end of the name
		{0, 0, 0, 0, 0, 2, 0, 0, 'a', 0, 0},                   // an end inside
		{0, 0, 0, 0, 0, 1, 1, 0, 'a', 0},                      // no value
		{0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 'a', 0},             // much too long
		{8, 0, 0, 0, 0, 1, 0, 0, 'a', 0, 0, 0},                // next entry inside
		{13, 0, 0, 0, 0, 1, 0, 0, 'a', 0, 0, 0, 0, 0, 0},      // not aligned
		{0xfc, 0xff, 0xff, 0xff, 0, 1, 0, 0, 'a', 0, 0, 0, 0}, // beyond
	} {
		if _, err := ParseEAs(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func FuzzLists(f *testing.F) {
	l := NewList(nil, 1<<20)
	l.AddEA(&attributes[0])
	l.AddEA(&attributes[1])
	f.Add(l.Bytes())
	l = NewList(nil, 1<<20)
	l.AddStream(&streams[0])
	l.AddStream(&streams[1])
	f.Add(l.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if list, err := parseEAList(b); err == nil {
			l := NewList(nil, 1<<30)
			for i := range list {
				l.AddEA(&list[i])
			}
			if again, err := parseEAList(l.Bytes()); err != nil || !reflect.DeepEqual(again, list) {
				t.Fatal(again, err)
			}
		}
		parseEANameList(b)
		ParseStreams(b)
		ParseNotifies(b)
	})
}
