package vfstest

import (
	"bytes"

	"fileserver/vfs"

	"pgregory.net/rapid"
)

// dataModel is what two files must contain.
type dataModel struct {
	*env
	nodes [2]vfs.Node
	files [2]vfs.File
	want  [2][]byte
}

const modelSize = 200 << 10

// testDataModel runs random programs of reads and changes on two files against byte slices.
func testDataModel(e *env) {
	dir := e.mkdir(e.root, "model", 0o755)
	run := 0
	rapid.Check(e.T, func(t *rapid.T) {
		m := &dataModel{env: e}
		for i := range m.nodes {
			name := string(rune('a' + i))
			n, _, err := dir.Create(e.ctx, e.c, name, true, mode(0o644))
			if err != nil {
				t.Fatal(err)
			}
			defer n.Release()
			defer dir.Remove(e.ctx, e.c, name, false)
			m.nodes[i] = n
			m.open(t, i)
			defer func() { m.files[i].Close() }()
		}
		run++
		t.Repeat(map[string]func(*rapid.T){
			"write": m.write, "truncate": m.truncate, "reopen": m.reopen, "allocate": m.allocate, "deallocate": m.deallocate,
			"copy": m.copy, "clone": m.clone, "seek": m.seek, "": m.check,
		})
	})
}

func (m *dataModel) open(t *rapid.T, i int) {
	f, err := m.nodes[i].Open(m.ctx, m.c, vfs.OpenRead|vfs.OpenWrite)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	m.files[i] = f
}

// offset draws a place, often near the edge of a block.
func offset(t *rapid.T, name string) int {
	if rapid.Bool().Draw(t, name+" near edge") {
		edge := rapid.IntRange(0, modelSize/4096-1).Draw(t, name+" block") * 4096
		return max(0, edge+rapid.IntRange(-3, 3).Draw(t, name+" delta"))
	}
	return rapid.IntRange(0, modelSize-1).Draw(t, name)
}

func span(t *rapid.T) (off, n int) {
	off = offset(t, "off")
	if rapid.Bool().Draw(t, "short") {
		return off, rapid.IntRange(1, min(20, modelSize-off)).Draw(t, "n")
	}
	return off, rapid.IntRange(1, modelSize-off).Draw(t, "n")
}

func pick(t *rapid.T) int { return rapid.IntRange(0, 1).Draw(t, "file") }

// grow makes the model of file i at least n bytes long.
func (m *dataModel) grow(i, n int) {
	if n > len(m.want[i]) {
		m.want[i] = append(m.want[i], make([]byte, n-len(m.want[i]))...)
	}
}

func (m *dataModel) write(t *rapid.T) {
	i := pick(t)
	off, n := span(t)
	p := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte"), 1, 2}, n/3+1)[:n]
	s := rapid.SampledFrom([]vfs.Stability{vfs.Unstable, vfs.Unstable, vfs.DataSync, vfs.FileSync}).Draw(t, "stability")
	if got, err := m.files[i].WriteAt(m.ctx, p, int64(off), s); got != n || err != nil {
		t.Fatalf("WriteAt = %d, %v", got, err)
	}
	m.grow(i, off+n)
	copy(m.want[i][off:], p)
}

func (m *dataModel) truncate(t *rapid.T) {
	i, size := pick(t), offset(t, "size")
	if err := m.nodes[i].SetAttr(m.ctx, m.c, &vfs.SetAttr{Mask: vfs.AttrSize, Size: uint64(size)}); err != nil {
		t.Fatal(err)
	}
	m.grow(i, size)
	m.want[i] = m.want[i][:size:size]
}

func (m *dataModel) reopen(t *rapid.T) {
	i := pick(t)
	if err := m.files[i].Commit(m.ctx, 0, 0); err != nil {
		t.Fatal(err)
	}
	m.files[i].Close()
	m.open(t, i)
}

func (m *dataModel) allocate(t *rapid.T) {
	i := pick(t)
	off, n := span(t)
	if m.opt.NoAllocate {
		return
	}
	if err := m.files[i].(vfs.Allocator).Allocate(m.ctx, int64(off), int64(n)); err != nil {
		t.Fatal(err)
	}
	m.grow(i, off+n)
}

func (m *dataModel) deallocate(t *rapid.T) {
	i := pick(t)
	off, n := span(t)
	if m.opt.NoAllocate {
		return
	}
	if err := m.files[i].(vfs.Allocator).Deallocate(m.ctx, int64(off), int64(n)); err != nil {
		t.Fatal(err)
	}
	if size := len(m.want[i]); off < size {
		clear(m.want[i][off:min(off+n, size)])
	}
}

func (m *dataModel) copy(t *rapid.T) {
	src, dst := pick(t), pick(t)
	from := offset(t, "from")
	off, n := span(t)
	if m.opt.NoCopy {
		return
	}
	n = min(n, len(m.want[src])-from)
	if n <= 0 || src == dst && from < off+n && off < from+n {
		return
	}
	c := m.files[dst].(vfs.Copier)
	for done := 0; done < n; {
		got, err := c.CopyFrom(m.ctx, m.files[src], int64(from+done), int64(off+done), int64(n-done))
		if err != nil || got <= 0 || int(got) > n-done {
			t.Fatalf("CopyFrom = %d, %v", got, err)
		}
		done += int(got)
	}
	m.grow(dst, off+n)
	copy(m.want[dst][off:], m.want[src][from:from+n])
}

func (m *dataModel) clone(t *rapid.T) {
	const blocks = modelSize / cloneBlock
	src := pick(t)
	from := rapid.IntRange(0, blocks-1).Draw(t, "from") * cloneBlock
	off := rapid.IntRange(0, blocks-1).Draw(t, "to") * cloneBlock
	if m.opt.NoClone || from+cloneBlock > len(m.want[src]) {
		return
	}
	if err := m.files[1-src].(vfs.Cloner).CloneFrom(m.ctx, m.files[src], int64(from), int64(off), cloneBlock); err != nil {
		t.Fatal(err)
	}
	m.grow(1-src, off+cloneBlock)
	copy(m.want[1-src][off:], m.want[src][from:from+cloneBlock])
}

// seek checks that holes are zero, and that data and holes take turns.
func (m *dataModel) seek(t *rapid.T) {
	i, off := pick(t), int64(offset(t, "off"))
	if m.opt.NoSeek {
		return
	}
	s, size := m.files[i].(vfs.Seeker), int64(len(m.want[i]))
	for off < size {
		data, err := s.SeekData(m.ctx, off)
		if vfs.StatusOf(err) == vfs.ErrNoData {
			data = size
		} else if err != nil || data < off || data >= size {
			t.Fatalf("SeekData(%d) = %d, %v in %d bytes", off, data, err, size)
		}
		for k := off; k < data; k++ {
			if m.want[i][k] != 0 {
				t.Fatalf("the byte %d of a hole is not 0", k)
			}
		}
		if data == size {
			return
		}
		hole, err := s.SeekHole(m.ctx, data)
		if err != nil || hole <= data || hole > size {
			t.Fatalf("SeekHole(%d) = %d, %v in %d bytes", data, hole, err, size)
		}
		off = hole
	}
	if _, err := s.SeekHole(m.ctx, size); vfs.StatusOf(err) != vfs.ErrNoData {
		t.Fatalf("SeekHole at the end: %v", err)
	}
}

// check reads a part of each file, and compares sizes.
func (m *dataModel) check(t *rapid.T) {
	for i, f := range m.files {
		a, err := f.GetAttr(m.ctx, vfs.AttrSize)
		if err != nil || a.Size != uint64(len(m.want[i])) {
			t.Fatalf("file %d has %d bytes, want %d (%v)", i, a.Size, len(m.want[i]), err)
		}
		off, n := span(t)
		got := make([]byte, n)
		k, eof, err := f.ReadAt(m.ctx, got, int64(off))
		var want []byte
		if off < len(m.want[i]) {
			want = m.want[i][off:min(off+n, len(m.want[i]))]
		}
		if err != nil || k != len(want) || eof != (off+k >= len(m.want[i])) || !bytes.Equal(got[:k], want) {
			t.Fatalf("file %d: ReadAt(%d bytes at %d) = %d, eof %v, %v; want %d, the same: %v", i, n, off, k, eof, err, len(want), bytes.Equal(got[:k], want))
		}
	}
}
