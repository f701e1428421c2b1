package namespace

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/posix"
	"fileserver/vfs/vfstest/mem"
)

// onBackends runs a test with a new file of vfs/vfstest/mem, and one of vfs/posix.
func onBackends(t *testing.T, f func(t *testing.T, n vfs.Node)) {
	p, err := posix.New(posix.Config{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for name, fs := range map[string]vfs.FS{"mem": mem.New(mem.Options{}), "posix": p} {
		t.Run(name, func(t *testing.T) {
			defer fs.Close()
			dir, err := fs.Root(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Release()
			n, _, err := dir.Create(t.Context(), system, "f", true, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o644})
			if err != nil {
				t.Fatal(err)
			}
			defer n.Release()
			if name == "posix" && !HasStreams(t.Context(), n) {
				err := n.(vfs.Xattrer).SetXattr(t.Context(), system, "a", nil, 0)
				if vfs.StatusOf(err) != vfs.ErrUnsupported {
					t.Errorf("no streams, but an attribute: %v", err)
				}
				t.Logf("%s has no extended attributes: vfs/vfstest/mem has to do", t.TempDir())
				return
			}
			f(t, n)
		})
	}
}

func TestStreams(t *testing.T) {
	onBackends(t, func(t *testing.T, n vfs.Node) {
		ctx, x := t.Context(), n.(vfs.Xattrer)
		for attr, v := range map[string]string{ // as Samba has them, and what are none
			"DosStream.one:$DATA": "data\x00", "DosStream.two": "\x00", "DosStream.a:b:$DATA": "x", "DosStream.": "x", "dosstream.x:$DATA": "x", "plain": "x",
		} {
			if err := x.SetXattr(ctx, system, attr, []byte(v), 0); err != nil {
				t.Fatal(err)
			}
		}
		if !HasStreams(ctx, n) {
			t.Error("HasStreams")
		}
		three := NewStream("Three")
		if err := StoreStream(ctx, n, three, []byte("333"), vfs.XattrReplace); vfs.StatusOf(err) != vfs.ErrNoAttr {
			t.Errorf("replaced: %v", err)
		}
		if err := StoreStream(ctx, n, three, []byte("333"), vfs.XattrCreate); err != nil {
			t.Fatal(err)
		}
		all, err := ListStreams(ctx, n)
		var names []string
		for _, r := range all {
			names = append(names, r.Name)
		}
		if slices.Sort(names); err != nil || !slices.Equal(names, []string{"Three", "one", "two"}) {
			t.Errorf("%q, %v", names, err)
		}
		for name, want := range map[string]string{"ONE": "data", "Two": "", "three": "333"} {
			r, found, err := FindStream(ctx, n, name)
			if !found || err != nil {
				t.Fatalf("%s: %v %v", name, found, err)
			}
			if got, err := LoadStream(ctx, n, r); string(got) != want || err != nil {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		if v, err := x.GetXattr(ctx, system, "DosStream.Three:$DATA"); string(v) != "333\x00" || err != nil {
			t.Errorf("%q, %v", v, err)
		}
		for range 2 {
			if err := RemoveStream(ctx, n, three); err != nil {
				t.Error(err)
			}
		}
		if _, found, err := FindStream(ctx, n, "Three"); found || err != nil {
			t.Errorf("removed: %v %v", found, err)
		}
		if _, err := LoadStream(ctx, n, three); vfs.StatusOf(err) != vfs.ErrNoAttr {
			t.Error(err)
		}
		if err := StoreStream(ctx, n, three, make([]byte, MaxStream+1), 0); vfs.StatusOf(err) != vfs.ErrNoSpace {
			t.Errorf("too large: %v", err)
		}
		// As large as the file system takes: all of it, or it has no room.
		big := bytes.Repeat([]byte("b"), MaxStream)
		switch err := StoreStream(ctx, n, three, slices.Clone(big), 0); vfs.StatusOf(err) {
		case vfs.OK:
			if got, err := LoadStream(ctx, n, three); err != nil || !bytes.Equal(got, big) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		case vfs.ErrNoSpace:
		default:
			t.Errorf("%d bytes: %v", MaxStream, err)
		}
		if !OwnXattr("DosStream.one:$DATA") || OwnXattr("DosStream") {
			t.Error("OwnXattr")
		}
	})
}

// What there is in extended attributes is anybody's to write.
func FuzzStreamValue(f *testing.F) {
	fs := mem.New(mem.Options{})
	ctx := context.Background()
	dir, err := fs.Root(ctx)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { dir.Release(); fs.Close() })
	f.Add("one:$DATA", []byte("x\x00"))
	f.Add(":$DATA", []byte{})
	f.Add("\xff:$DATA:$DATA", []byte("x"))
	f.Fuzz(func(t *testing.T, name string, v []byte) {
		x := dir.(vfs.Xattrer)
		if x.SetXattr(ctx, system, streamPrefix+name, v, 0) != nil {
			return
		}
		defer x.RemoveXattr(ctx, system, streamPrefix+name)
		all, err := ListStreams(ctx, dir)
		if err != nil || len(all) > 1 {
			t.Fatalf("%q: %q, %v", name, all, err)
		}
		for _, r := range all {
			data, err := LoadStream(ctx, dir, r)
			if err != nil || len(data) != max(len(v), 1)-1 {
				t.Fatalf("%q: %d bytes, %v", r.Name, len(data), err)
			}
			if found, ok, err := FindStream(ctx, dir, r.Name); !ok || err != nil || found != r {
				t.Fatalf("%q: %v, %v, %v", r.Name, found, ok, err)
			}
		}
	})
}
