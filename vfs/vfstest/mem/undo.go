package mem

// undo is what stable storage holds of a file where that differs from the file.
type undo struct {
	active  bool
	size    uint64 // stable
	resized bool   // SetAttr changed the size, to newSize: SyncMeta makes that stable
	newSize uint64
	blocks  map[uint64]undoBlock
}

// undoBlock is one block as stable storage holds it.
type undoBlock struct {
	old   *block // nil: a hole
	meta  bool   // a change of the size emptied it, in whole or part:
	after *block // SyncMeta makes this stable,
	wrote bool   // and there are further changes, which it does not
}

func (u *undo) start(size uint64) {
	if !u.active {
		*u = undo{active: true, size: size, blocks: make(map[uint64]undoBlock)}
	}
}

// write notes that block bi is about to change, and is cur now. With keep, cur must not be changed in place.
func (u *undo) write(size, bi uint64, cur *block) (keep bool) {
	u.start(size)
	e, ok := u.blocks[bi]
	if !ok {
		u.blocks[bi] = undoBlock{old: cur}
		return true
	}
	if e.meta && !e.wrote {
		e.wrote = true
		u.blocks[bi] = e
	}
	return false // it is a copy already
}

// resize notes a change of the size.
func (u *undo) resize(size, newSize uint64) {
	u.start(size)
	u.resized, u.newSize = true, newSize
}

// cut notes that a change of the size is about to empty block bi from byte keep on.
func (u *undo) cut(bi uint64, cur *block, keep int) {
	e, ok := u.blocks[bi]
	if !ok {
		e.old = cur
	} else if !e.meta {
		e.wrote = true
	}
	e.meta = true
	if keep == 0 {
		e.wrote, e.after = false, nil
	} else if base := e.base(); base != nil {
		e.after = new(block)
		copy(e.after[:keep], base[:])
	}
	u.blocks[bi] = e
}

func (e *undoBlock) base() *block {
	if e.after != nil {
		return e.after
	}
	return e.old
}

// syncMeta makes changes of the size by SetAttr stable.
func (u *undo) syncMeta(size uint64) {
	if !u.active || !u.resized {
		return
	}
	for bi, e := range u.blocks {
		switch {
		case e.meta && e.wrote:
			u.blocks[bi] = undoBlock{old: e.after}
		case e.meta:
			delete(u.blocks, bi)
		}
	}
	u.size, u.resized = u.newSize, false
	u.settle(size)
}

// commit makes the data in [off, end) stable, and as much of the size as it takes to read them.
func (u *undo) commit(size, off, end uint64) {
	if !u.active {
		return
	}
	if off == 0 && end >= size {
		*u = undo{}
		return
	}
	for bi := range u.blocks {
		if bi >= off/blockSize && bi <= (end-1)/blockSize {
			delete(u.blocks, bi)
		}
	}
	u.size = max(u.size, min(size, end))
	u.settle(size)
}

func (u *undo) settle(size uint64) {
	if len(u.blocks) == 0 && u.size == size && !u.resized {
		*u = undo{}
	}
}
