package vfstest

import (
	"fmt"
	"slices"

	"fileserver/vfs"
)

// scan reads a directory from cookie on, at most max entries (0: all), and checks the cookies.
func (e *env) scan(dir vfs.Node, cookie uint64, max int) (entries []vfs.DirEntry, eof bool) {
	e.Helper()
	eof, err := dir.ReadDir(e.ctx, e.c, cookie, 0, false, func(d *vfs.DirEntry) bool {
		if max > 0 && len(entries) == max {
			return false
		}
		if d.Cookie <= 2 {
			e.Errorf("entry %q has the cookie %d", d.Name, d.Cookie)
		}
		entries = append(entries, *d)
		return true
	})
	if err != nil {
		e.Fatalf("ReadDir from %d: %v", cookie, err)
	}
	return entries, eof
}

func testReadDir(e *env) {
	if all, eof := e.scan(e.root, 0, 0); len(all) != 0 || !eof {
		e.Fatalf("an empty directory has %d entries, eof %v", len(all), eof)
	}
	objects := e.all(e.root)
	for i := range 100 {
		name := fmt.Sprintf("n%d", i)
		objects[name] = e.file(e.root, name, "")
	}
	all, eof := e.scan(e.root, 0, 0)
	if !eof || len(all) != len(objects) {
		e.Fatalf("%d entries of %d, eof %v", len(all), len(objects), eof)
	}
	cookies := map[uint64]bool{}
	for i, d := range all {
		n := objects[d.Name]
		if n == nil || d.FileID != e.attr(n).FileID || d.Kind != n.Kind() && d.Kind != vfs.KindUnknown {
			e.Fatalf("entry %+v", d)
		}
		if cookies[d.Cookie] {
			e.Fatalf("cookie %d comes twice", d.Cookie)
		}
		cookies[d.Cookie] = true
		if i%10 == 0 || i == len(all)-1 {
			rest, eof := e.scan(e.root, d.Cookie, 0)
			if !eof || !slices.EqualFunc(rest, all[i+1:], func(a, b vfs.DirEntry) bool { return a.Name == b.Name && a.Cookie == b.Cookie }) {
				e.Fatalf("from entry %d on there are %d more, eof %v; want %d", i, len(rest), eof, len(all)-i-1)
			}
		}
	}
	// In pieces, as protocols read.
	var got []string
	for cookie, done := uint64(0), false; !done; {
		var part []vfs.DirEntry
		part, done = e.scan(e.root, cookie, 7)
		for _, d := range part {
			got = append(got, d.Name)
			cookie = d.Cookie
		}
		if len(part) == 0 && !done {
			e.Fatal("nothing read, and not the end")
		}
	}
	slices.Sort(got)
	if want := e.list(e.root); !slices.Equal(got, want) {
		e.Fatalf("in pieces: %q, want %q", got, want)
	}
	calls := 0
	eof, err := e.root.ReadDir(e.ctx, e.c, 0, 0, false, func(*vfs.DirEntry) bool { calls++; return false })
	if eof || err != nil || calls != 1 {
		e.Fatalf("refusing the first entry: eof %v, %v, %d calls", eof, err, calls)
	}
	// With attributes and handles; and fn may call the file system.
	_, err = e.root.ReadDir(e.ctx, e.c, 0, vfs.AttrStat, true, func(d *vfs.DirEntry) bool {
		n := objects[d.Name]
		a := e.attr(n)
		if d.Attr.Mask&(vfs.AttrMode|vfs.AttrSize) == 0 || d.Attr.Kind != a.Kind || d.Attr.Mode != a.Mode || d.Attr.Size != a.Size || d.Attr.FileID != a.FileID {
			e.Errorf("entry %q has %+v, want %+v", d.Name, d.Attr, a)
		}
		if d.Handle != n.Handle() {
			e.Errorf("entry %q has another handle", d.Name)
		}
		e.lookup(e.root, d.Name)
		return true
	})
	e.ok("ReadDir with attributes", err)
}

// testReadDirModify changes a directory while it is read: what is there all the time comes exactly once.
func testReadDirModify(e *env) {
	const n = 500
	for i := range n {
		e.file(e.root, fmt.Sprintf("stay%d", i), "")
		e.file(e.root, fmt.Sprintf("go%d", i), "")
	}
	seen := map[string]int{}
	for cookie, round, done := uint64(0), 0, false; !done; round++ {
		var part []vfs.DirEntry
		part, done = e.scan(e.root, cookie, 10)
		for i, d := range part {
			seen[d.Name]++
			cookie = d.Cookie
			// Every other entry read goes, the last of the piece too: reading goes on behind what is no more.
			if d.Name[0] == 'g' && (i%2 == 0 || i == len(part)-1) {
				e.remove(e.root, d.Name, false)
			}
		}
		if round < 100 {
			e.file(e.root, fmt.Sprintf("new%d", round), "")
			e.rename(e.root, fmt.Sprintf("new%d", round), e.root, fmt.Sprintf("renamed%d", round))
		}
		// And some that are perhaps not read yet.
		if err := e.root.Remove(e.ctx, e.c, fmt.Sprintf("go%d", n-1-round), false); err != nil {
			e.want("Remove", err, vfs.ErrNotFound)
		}
	}
	for i := range n {
		if c := seen[fmt.Sprintf("stay%d", i)]; c != 1 {
			e.Errorf("stay%d came %d times", i, c)
		}
	}
	for name, c := range seen {
		if c > 1 {
			e.Errorf("%s came %d times", name, c)
		}
	}
}

// testReadDirLarge reads a directory of 100,000 entries in pieces, then removes them.
func testReadDirLarge(e *env) {
	n := 100_000
	if e.short() {
		n = 5_000
	}
	d := e.mkdir(e.root, "large", 0o755)
	for i := range n {
		f, _, err := d.Create(e.ctx, e.c, fmt.Sprintf("entry-%06d", i), true, mode(0o644))
		e.ok("Create", err)
		f.Release()
	}
	seen := make(map[string]bool, n)
	for cookie, done := uint64(0), false; !done; {
		var part []vfs.DirEntry
		part, done = e.scan(d, cookie, 1000)
		for _, x := range part {
			if seen[x.Name] {
				e.Fatalf("%s comes twice", x.Name)
			}
			seen[x.Name] = true
			cookie = x.Cookie
		}
	}
	if len(seen) != n {
		e.Fatalf("%d entries, want %d", len(seen), n)
	}
	e.lookup(d, fmt.Sprintf("entry-%06d", n-1))
	for name := range seen {
		e.ok("Remove", d.Remove(e.ctx, e.c, name, false))
	}
	if rest, _ := e.scan(d, 0, 0); len(rest) > 0 {
		e.Fatalf("%d entries left", len(rest))
	}
	e.remove(e.root, "large", true)
}
