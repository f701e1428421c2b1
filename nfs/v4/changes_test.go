package v4_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"fileserver/vfs"
	"fileserver/vfs/notify"
)

// What every operation changes is told to those who watch.
func TestChanges(t *testing.T) {
	r := newRig(t)
	c := r.client("a", 0)
	root, err := r.data.Root(bg)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Release()
	var got []string
	watch := r.cfg.Locks.Changes.Watch(bg, r.data, root, &vfs.Cred{}, ^notify.What(0), true, func(list []notify.Event) {
		for _, e := range list {
			got = append(got, fmt.Sprintf("%d:%s", e.Action, e.Name))
		}
	})
	defer watch.Close()
	in := []arg{putroot(), lookup("data")}
	do := func(what string, want []string, ops ...arg) {
		t.Helper()
		c.ok(append(slices.Clone(in), ops...)...)
		if !slices.Equal(got, want) {
			t.Errorf("%s: told %q, want %q", what, got, want)
		}
		got = nil
	}
	do("mkdir", []string{"1:d"}, mkdir("d"))
	do("symlink", []string{"1:d/l"}, lookup("d"), symlink("l", "x"))
	do("open", []string{"1:f"}, rw("f"), closeOp(current))
	do("open again", nil, rw("f"), closeOp(current))
	s, fh := c.open("o", 3, 0)
	got = nil
	for what, op := range map[string]arg{
		"WRITE": write(s, 0, "xyz"), "SETATTR": setattr(s, size(2)), "ALLOCATE": allocate(s, 0, 10), "DEALLOCATE": deallocate(s, 0, 1),
	} {
		c.ok(putfh(fh), op)
		if !slices.Equal(got, []string{"3:f"}) {
			t.Errorf("%s: told %q", what, got)
		}
		got = nil
	}
	c.ok(putfh(fh), closeOp(s))
	do("truncate", []string{"3:f"}, how{access: 2, owner: "new", create: &nfsv4.Createhow4_UNCHECKED4{Createattrs: size(0)}}.open("f"), closeOp(current))
	do("rename", []string{"4:f", "5:g"}, savefh(), rename("f", "g"))
	do("move", []string{"2:d/l", "2:g", "1:d/l"}, savefh(), lookup("d"), rename("g", "l"))
	do("link", []string{"1:h"}, lookup("d"), lookup("l"), savefh(), putroot(), lookup("data"), link("h"))
	do("remove", []string{"2:h"}, remove("h"))
	do("remove a directory", []string{"2:d/l", "2:d"}, lookup("d"), remove("l"), putroot(), lookup("data"), remove("d"))
}
