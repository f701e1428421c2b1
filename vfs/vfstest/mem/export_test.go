package mem

import "fmt"

// Check finds what does not add up.
func (fs *FS) Check() error {
	for len(fs.journal.recs) > 0 { // it keeps the storage of what was removed
		fs.journal.sync(fs.journal.recs[len(fs.journal.recs)-1].attrs[0].in)
	}
	fs.ns.Lock()
	defer fs.ns.Unlock()
	var used, count int64
	names := map[*inode]uint32{}
	var walk func(in *inode)
	walk = func(in *inode) {
		for _, e := range in.dir.names {
			names[e.in]++
			if e.in.dir != nil {
				names[e.in]++ // its own "."
				names[in]++   // its ".."
				walk(e.in)
			}
		}
	}
	names[fs.root] = 2
	walk(fs.root)
	for i := range fs.shards {
		for h, in := range fs.shards[i].m {
			count++
			used += int64(in.attr.Used)
			if err := in.check(h == in.handle, names[in]); err != nil {
				return err
			}
		}
	}
	if used != fs.used.Load() || count != fs.count.Load() {
		return fmt.Errorf("%d bytes in %d objects, accounted are %d in %d", used, count, fs.used.Load(), fs.count.Load())
	}
	return nil
}

func (in *inode) check(handle bool, names uint32) error {
	if !handle || in.attr.Nlink != names || in.dead.Load() != (names == 0) {
		return fmt.Errorf("object %d has %d links (dead: %v), and %d names", in.attr.FileID, in.attr.Nlink, in.dead.Load(), names)
	}
	blocks := uint64(0)
	for ri, r := range in.data.regions {
		for i, b := range r.blocks {
			if (b != nil) != (r.here&(1<<i) != 0) || b == nil && r.shared&(1<<i) != 0 {
				return fmt.Errorf("region %d of %d: bits %x and %x do not fit block %d", ri, in.attr.FileID, r.here, r.shared, i)
			}
			if b == nil {
				continue
			}
			blocks++
			if at := (ri*regionBlocks + uint64(i)) * blockSize; at >= in.attr.Size {
				return fmt.Errorf("object %d has a block at %d behind its end %d", in.attr.FileID, at, in.attr.Size)
			}
		}
	}
	if blocks*blockSize != in.attr.Used {
		return fmt.Errorf("object %d uses %d bytes and has %d blocks", in.attr.FileID, in.attr.Used, blocks)
	}
	return nil
}
