package namespace

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"fileserver/vfs"
)

// Bounds of the tables of one share.
const (
	maxTables = 4096
	maxNames  = 1 << 20 // in all tables
	// A table with more names keeps their hashes only: a hit has to look for the name.
	bigTable = 1 << 15
)

// tableLife is how long a table is used that may have missed a change: one within the granularity of the directory's
// times, or one at the same time as a change by the server.
const tableLife = 2 * time.Second

// tables are the folded names of directories. mu is taken before a table's, never the other way round.
type tables struct {
	seed maphash.Seed

	mu    sync.Mutex
	m     map[vfs.Handle]*table
	names int
	tick  uint64
}

// table is a directory's names by folded hash. The first of several wins.
type table struct {
	used  uint64 // guarded by tables.mu
	count int    // likewise: of names, as accounted for

	mu      sync.Mutex // held while the directory is read: others wait for it
	loaded  bool
	change  uint64
	expires time.Time     // zero: not while change is the same
	cost    time.Duration // of reading the directory
	read    time.Time
	names   map[uint64]string // "" in big tables
}

// get returns the table of a directory. If there is none, it returns nil or, with make, creates it.
func (t *tables) get(h vfs.Handle, make bool) *table {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.m[h]
	if d == nil {
		if !make {
			return nil
		}
		d = &table{}
		t.m[h] = d
	}
	t.tick++
	d.used = t.tick
	return d
}

// account records the size of a table, and drops the least recently used tables until all are within bounds.
func (t *tables) account(d *table, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names += n - d.count
	d.count = n
	for len(t.m) > maxTables || t.names > maxNames && len(t.m) > 0 {
		var oldest vfs.Handle
		var o *table
		for h, x := range t.m {
			if o == nil || x.used < o.used {
				oldest, o = h, x
			}
		}
		delete(t.m, oldest)
		t.names -= o.count
		o.count = 0
	}
}

// find returns the name in dir that is the same as name but for case.
func (t *tables) find(ctx context.Context, c *vfs.Cred, dir vfs.Node, name string) (string, error) {
	d := t.get(dir.Handle(), true)
	d.mu.Lock()
	defer d.mu.Unlock()
	a, err := dir.GetAttr(ctx, vfs.AttrChange|vfs.AttrCtime)
	if err != nil {
		return "", err
	}
	if !d.loaded || d.change != a.Change || !d.expires.IsZero() && time.Now().After(d.expires) {
		if err := t.load(ctx, c, dir, d, &a); err != nil {
			return "", err
		}
	}
	want := Visible(name)
	found, ok := d.names[fold(t.seed, want)]
	switch {
	case !ok:
		return "", vfs.ErrNotFound
	case found != "" && Equal(Visible(found), want):
		return found, nil
	}
	return search(ctx, c, dir, want)
}

// load reads the directory. The caller holds d.mu.
func (t *tables) load(ctx context.Context, c *vfs.Cred, dir vfs.Node, d *table, a *vfs.Attr) error {
	start := time.Now()
	d.loaded, d.names = false, make(map[uint64]string)
	_, err := dir.ReadDir(ctx, c, 0, 0, false, func(e *vfs.DirEntry) bool {
		h := fold(t.seed, Visible(e.Name))
		if _, ok := d.names[h]; !ok {
			name := e.Name
			if len(d.names) >= bigTable {
				name = ""
			}
			d.names[h] = name
		}
		return len(d.names) < maxNames
	})
	if err != nil {
		d.names = nil
		return err
	}
	d.read = time.Now()
	d.cost = d.read.Sub(start)
	d.expires = time.Time{}
	if start.Sub(a.Ctime.Go()) < time.Second {
		d.expires = d.limit()
	}
	d.change, d.loaded = a.Change, len(d.names) < maxNames
	if len(d.names) >= bigTable {
		for h := range d.names {
			d.names[h] = ""
		}
	}
	t.account(d, len(d.names))
	return nil
}

// limit returns when a table that may have missed a change is read again. Reading must take only a small part of the time.
func (d *table) limit() time.Time { return d.read.Add(max(tableLife, 20*d.cost)) }

// search reads the directory for a name.
func search(ctx context.Context, c *vfs.Cred, dir vfs.Node, want string) (found string, err error) {
	_, err = dir.ReadDir(ctx, c, 0, 0, false, func(e *vfs.DirEntry) bool {
		if Equal(Visible(e.Name), want) {
			found = e.Name
			return false
		}
		return true
	})
	if err == nil && found == "" {
		err = vfs.ErrNotFound
	}
	return found, err
}

// added adds a name that the server has created in dir to the table, so that the directory need not be read again.
func (t *tables) added(ctx context.Context, dir vfs.Node, name string) {
	d := t.get(dir.Handle(), false)
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.loaded {
		return
	}
	a, err := dir.GetAttr(ctx, vfs.AttrChange)
	if err != nil || time.Now().After(d.limit()) {
		d.loaded, d.names = false, nil
		return
	}
	if h := fold(t.seed, Visible(name)); d.names[h] == "" {
		if len(d.names) >= bigTable {
			name = ""
		}
		d.names[h] = name
	}
	d.change, d.expires = a.Change, d.limit()
	t.account(d, len(d.names))
}
