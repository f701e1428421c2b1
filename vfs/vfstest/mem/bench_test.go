package mem_test

import (
	"testing"

	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

func BenchmarkFile(b *testing.B) {
	fs := mem.New(mem.Options{})
	dir, _ := fs.Root(ctx)
	n, _, err := dir.Create(ctx, root, "f", true, nil)
	if err != nil {
		b.Fatal(err)
	}
	f, _ := n.Open(ctx, root, vfs.OpenRead|vfs.OpenWrite)
	buf := make([]byte, 1<<20)
	f.WriteAt(ctx, buf, 0, vfs.Unstable)
	h := n.Handle()
	for _, c := range []struct {
		name string
		size int
		run  func(p []byte)
	}{
		{"Read1M", 1 << 20, func(p []byte) { f.ReadAt(ctx, p, 0) }},
		{"Read4K", 4 << 10, func(p []byte) { f.ReadAt(ctx, p, 8192) }},
		{"Write1M", 1 << 20, func(p []byte) { f.WriteAt(ctx, p, 0, vfs.Unstable) }},
		{"Write4K", 4 << 10, func(p []byte) { f.WriteAt(ctx, p, 8192, vfs.Unstable) }},
		{"GetAttr", 0, func([]byte) { n.GetAttr(ctx, vfs.AttrStat) }},
		{"ResolveOpenClose", 0, func([]byte) {
			n, _ := fs.Resolve(ctx, h)
			f, _ := n.Open(ctx, root, vfs.OpenRead)
			f.Close()
			n.Release()
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(c.size))
			for b.Loop() {
				c.run(buf[:c.size])
			}
		})
	}
}
