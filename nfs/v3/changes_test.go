package v3_test

import (
	"fmt"
	"slices"
	"testing"

	v3 "fileserver/nfs/v3"
	"fileserver/vfs"
	"fileserver/vfs/notify"
	"fileserver/vfs/vfstest/mem"
)

// What every procedure changes is told to those who watch.
func TestChanges(t *testing.T) {
	w := newWorld(t, mem.Options{}, nil)
	w.chmodRoot(0o777)
	d := w.dir("d")
	root, err := w.fs.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Release()
	var got []string
	watch := w.locks.Changes.Watch(t.Context(), w.fs, root, &vfs.Cred{}, ^notify.What(0), true, func(list []notify.Event) {
		for _, e := range list {
			got = append(got, fmt.Sprintf("%d:%s", e.Action, e.Name))
		}
	})
	defer watch.Close()
	told := func(want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		got = nil
	}
	rename := func(from v3.Handle, name string, to v3.Handle, as string) {
		t.Helper()
		var res v3.RenameRes
		w.call(v3.ProcRename, &v3.RenameArgs{From: v3.DirOp{Dir: from, Name: name}, To: v3.DirOp{Dir: to, Name: as}}, &res)
		w.want(res.Status, v3.OK)
	}
	f := w.file("f")
	told("1:f")
	w.want(w.write(f, 0, []byte("x"), v3.Unstable).Status, v3.OK)
	told("3:f")
	w.want(w.setattr(f, mode(0o600), nil).Status, v3.OK)
	told("3:f")
	w.want(w.create(w.root, "f", v3.Unchecked, v3.SetAttr{Size: p(uint64(0))}, [8]byte{}).Status, v3.OK)
	told("3:f")
	w.want(w.create(d, "x", v3.Exclusive, v3.SetAttr{}, [8]byte{1}).Status, v3.OK)
	w.want(w.create(d, "x", v3.Exclusive, v3.SetAttr{}, [8]byte{1}).Status, v3.OK) // again: nothing happens
	told("1:d/x")
	w.mknod("fifo", v3.TypeFIFO)
	w.want(w.symlink("link", "f").Status, v3.OK)
	w.want(w.mkdir(d, "sub").Status, v3.OK)
	told("1:fifo", "1:link", "1:d/sub")
	var res v3.LinkRes
	w.call(v3.ProcLink, &v3.LinkArgs{File: f, Link: v3.DirOp{Dir: d, Name: "l"}}, &res)
	w.want(res.Status, v3.OK)
	told("1:d/l")
	rename(w.root, "f", d, "l") // the same file: nothing happens
	told()
	rename(w.root, "fifo", w.root, "fifo2")
	rename(w.root, "fifo2", d, "x")
	told("4:fifo", "5:fifo2", "2:d/x", "2:fifo2", "1:d/x")
	w.want(w.remove(v3.ProcRemove, d, "x").Status, v3.OK)
	w.want(w.remove(v3.ProcRmdir, d, "sub").Status, v3.OK)
	w.want(w.remove(v3.ProcRemove, d, "none").Status, v3.ErrNoEnt)
	told("2:d/x", "2:d/sub")
}
