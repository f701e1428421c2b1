package mem

import (
	"context"
	"testing"

	"fileserver/vfs"
)

func TestWhere(t *testing.T) {
	ctx, c := context.Background(), &vfs.Cred{}
	fs := New(Options{})
	root, err := fs.Root(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Release()
	d, err := root.Mkdir(ctx, c, "d", &vfs.SetAttr{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	f, _, err := d.Create(ctx, c, "f", true, &vfs.SetAttr{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	for n, want := range map[vfs.Node]string{d: "d", f: "f"} {
		dir, name, err := n.(vfs.Namer).Where(ctx)
		if err != nil || name != want {
			t.Errorf("%q: %q %v", want, name, err)
			continue
		}
		if in, err := dir.Lookup(ctx, c, name); err != nil || in.Handle() != n.Handle() {
			t.Errorf("%q is not there: %v", want, err)
		} else {
			in.Release()
		}
		dir.Release()
	}
	if err := d.Remove(ctx, c, "f", false); err != nil {
		t.Fatal(err)
	}
	for _, n := range []vfs.Node{f, root} {
		if _, _, err := n.(vfs.Namer).Where(ctx); vfs.StatusOf(err) != vfs.ErrNotFound {
			t.Error(err)
		}
	}
}
