package smb

import (
	"context"
	"net/netip"
	"reflect"
	"testing"

	"fileserver/smb/wire"
	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

// Shares are the same only if all that is configured of them is.
func TestSameShares(t *testing.T) {
	other := mem.New(mem.Options{})
	defer other.Close()
	values := map[reflect.Kind]reflect.Value{
		reflect.String: reflect.ValueOf("x"), reflect.Bool: reflect.ValueOf(true), reflect.Uint32: reflect.ValueOf(uint32(1)),
		reflect.Slice: reflect.ValueOf([]netip.Prefix{}), reflect.Interface: reflect.ValueOf(other),
	}
	for i := range reflect.TypeFor[Share]().NumField() {
		f := reflect.TypeFor[Share]().Field(i)
		if !f.IsExported() {
			continue
		}
		a, b := &Share{}, &Share{}
		if !a.Same(b) {
			t.Fatal("two empty shares are not the same")
		}
		reflect.ValueOf(b).Elem().Field(i).Set(values[f.Type.Kind()])
		if a.Same(b) || b.Same(a) {
			t.Errorf("shares with another %s are the same", f.Name)
		}
	}
}

// Options of shares do what they say.
func TestShareOptions(t *testing.T) {
	modeOf := func(e *env, name string) uint32 {
		ctx, c := context.Background(), &vfs.Cred{}
		dir, err := e.fs.Root(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Release()
		n, err := dir.Lookup(ctx, c, name)
		if err != nil {
			t.Fatal(err)
		}
		defer n.Release()
		a, err := n.GetAttr(ctx, vfs.AttrMode)
		if err != nil {
			t.Fatal(err)
		}
		return a.Mode
	}
	for _, set := range []bool{false, true} {
		e := newFileEnv(t, func(s *Share) {
			if set {
				s.CaseSensitive, s.HideDotFiles, s.NoOplocks, s.FileMode, s.DirMode = true, true, true, 0o660, 0o770
			}
		})
		c := e.files(wire.Dialect210)
		q := caching(".f", levelBatch)
		q.Disposition = wire.FileCreate
		r := c.must(q)
		if granted := r.OplockLevel == levelBatch; granted == set {
			t.Errorf("oplock of level %d", r.OplockLevel)
		}
		c.closeFile(r.FileID)
		o := c.must(want(".f", wire.FileOpen)).FileID
		if hidden := c.attributes(o)&wire.FileAttributeHidden != 0; hidden != set {
			t.Errorf("hidden: %v", hidden)
		}
		c.closeFile(o)
		if r, st := c.create(want(".F", wire.FileOpen)); st == wire.StatusSuccess {
			c.closeFile(r.FileID)
			if set {
				t.Error("another case is found")
			}
		} else if !set || st != wire.StatusObjectNameNotFound {
			t.Error(st)
		}
		c.mkdir("d")
		file, dir := modeOf(e, ".f"), modeOf(e, "d")
		if set && (file != 0o660 || dir != 0o770) || !set && (file != 0o644 || dir != 0o755) {
			t.Errorf("modes %#o and %#o", file, dir)
		}
		c.W.Close()
	}
}
