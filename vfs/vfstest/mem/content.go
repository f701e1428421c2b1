package mem

// This file changes the content of regular files. in.mu is held for writing in all of it.

// writable returns block bi for writing, making or copying it as needed; nil if there is no room.
// With whole the caller overwrites all of it.
func (in *inode) writable(bi uint64, whole bool) *block {
	b := in.data.get(bi)
	if b == nil && !in.fs.reserve(blockSize) {
		return nil
	}
	keep := b != nil && in.data.isShared(bi)
	if in.fs.opt.Crashable {
		keep = in.undo.write(in.attr.Size, bi, b) || keep
	}
	switch {
	case b == nil:
		in.attr.Used += blockSize
		b = new(block)
	case keep:
		old := b
		b = new(block)
		if !whole {
			*b = *old
		}
	default:
		return b
	}
	in.data.set(bi, b, false)
	return b
}

// write stores p at off and returns how much of it there was room for. It does not set the size.
func (in *inode) write(p []byte, off uint64) (done int) {
	for len(p) > 0 {
		at := off % blockSize
		n := min(uint64(len(p)), blockSize-at)
		b := in.writable(off/blockSize, n == blockSize)
		if b == nil {
			return done
		}
		copy(b[at:], p[:n])
		p, off, done = p[n:], off+n, done+int(n)
	}
	return done
}

// drop makes block bi a hole.
func (in *inode) drop(bi uint64) {
	in.data.set(bi, nil, false)
	in.attr.Used -= blockSize
	in.fs.used.Add(-blockSize)
}

// truncate sets the size by the rules of SetAttr.
func (in *inode) truncate(size uint64) {
	if in.fs.opt.Crashable {
		in.undo.resize(in.attr.Size, size)
	}
	if size < in.attr.Size {
		bi, keep := size/blockSize, int(size%blockSize)
		if b := in.data.get(bi); b != nil && keep > 0 {
			if in.fs.opt.Crashable {
				in.undo.cut(bi, b, keep)
			}
			nb := new(block)
			copy(nb[:keep], b[:])
			in.data.set(bi, nb, false)
		}
		if keep > 0 {
			bi++
		}
		in.data.from(bi, ^uint64(0)/blockSize, func(bi uint64) {
			if in.fs.opt.Crashable {
				in.undo.cut(bi, in.data.get(bi), 0)
			}
			in.drop(bi)
		})
	}
	in.attr.Size = size
	if in.fs.opt.Crashable && !in.fs.opt.UnstableMetadata {
		in.undo.syncMeta(size)
	}
}

// punch makes [off, end) read as zeros and gives back whole blocks.
func (in *inode) punch(off, end uint64) {
	zero := func(from, to uint64) { // within one block
		if from < to && in.data.get(from/blockSize) != nil {
			clear(in.writable(from/blockSize, false)[from%blockSize : (to-1)%blockSize+1])
		}
	}
	first, last := (off+blockSize-1)/blockSize, end/blockSize
	if first > last { // all within one block
		zero(off, end)
		return
	}
	zero(off, min(first*blockSize, end))
	zero(max(last*blockSize, off), end)
	in.data.from(first, last, func(bi uint64) {
		if in.fs.opt.Crashable {
			in.undo.write(in.attr.Size, bi, in.data.get(bi))
		}
		in.drop(bi)
	})
}
