package notify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

var (
	ctx  = context.Background()
	root = &vfs.Cred{}
)

// rig is a tree with the directories d, d/e and d/e/f.
type rig struct {
	t     *testing.T
	fs    *mem.FS
	hub   Hub
	nodes map[string]vfs.Node
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, fs: mem.New(mem.Options{}), nodes: map[string]vfs.Node{}}
	n, err := r.fs.Root(ctx)
	if err != nil {
		t.Fatal(err)
	}
	path := ""
	r.nodes[path] = n
	for _, name := range []string{"d", "e", "f"} {
		if n, err = n.Mkdir(ctx, root, name, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o755}); err != nil {
			t.Fatal(err)
		}
		path = strings.TrimPrefix(path+"/"+name, "/")
		r.nodes[path] = n
	}
	t.Cleanup(func() {
		for _, n := range r.nodes {
			n.Release()
		}
		if nodes, _ := r.fs.Outstanding(); nodes != 0 {
			t.Errorf("%d nodes are left", nodes)
		}
		if r.hub.Active() || len(r.hub.watches)+len(r.hub.trees)+len(r.hub.sources) != 0 {
			t.Errorf("watches are left: %+v", r.hub.watches)
		}
	})
	return r
}

// log records the events of a watch, one line per call.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) tell(list []Event) {
	var s []string
	for _, e := range list {
		s = append(s, fmt.Sprintf("%d:%s", e.Action, e.Name))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.Join(s, " "))
}

func (l *log) expect(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.lines, want) {
		t.Errorf("told %q, want %q", l.lines, want)
	}
	l.lines = nil
}

func (r *rig) watch(path string, c *vfs.Cred, what What, tree bool) (*Watch, *log) {
	l := &log{}
	return r.hub.Watch(ctx, r.fs, r.nodes[path], c, what, tree, l.tell), l
}

func (r *rig) report(path, name string, a Action, what, or What) {
	r.hub.Report(ctx, r.fs, Change{Dir: r.nodes[path], Name: name, Action: a, What: what, Else: or})
}

func TestReport(t *testing.T) {
	r := newRig(t)
	r.report("d", "nobody", Added, FileName, 0)
	one, told := r.watch("d", root, FileName|Size, false)
	two, tree := r.watch("d", root, Attributes, true)
	bob := &vfs.Cred{UID: 1000}
	three, bobs := r.watch("", bob, Names, true)
	if !r.hub.Wants(Size) || r.hub.Wants(LastWrite) || !r.hub.Active() {
		t.Error("it does not know what is waited for")
	}
	r.report("d", "x", Added, FileName, 0)
	r.report("d/e", "y", RenamedNew, FileName, Attributes)
	r.report("d/e/f", "z", Modified, Attributes, 0)
	r.report("", "w", Added, DirName, 0)
	told.expect(t, "1:x")
	tree.expect(t, "3:e/y", "3:e/f/z")
	bobs.expect(t, "1:d/x", "5:d/e/y", "1:w")
	// Changes that belong together are delivered together.
	r.hub.Report(ctx, r.fs, Change{Dir: r.nodes["d"], Name: "a", Action: RenamedOld, What: FileName}, Change{Dir: r.nodes["d"], Name: "b", Action: RenamedNew, What: FileName})
	told.expect(t, "4:a 5:b")
	bobs.expect(t, "4:d/a 5:d/b")
	// A watcher gets no events of a directory that it may not list. A wrong path does no harm.
	if err := r.nodes["d/e"].SetAttr(ctx, root, &vfs.SetAttr{Mask: vfs.AttrMode, Mode: 0o711}); err != nil {
		t.Fatal(err)
	}
	r.report("d/e", "secret", Added, FileName, 0)
	r.report("d/e/f", "secret", Added, FileName, Attributes)
	bobs.expect(t)
	tree.expect(t, "3:e/f/secret")
	r.hub.Report(ctx, r.fs, Change{Dir: r.nodes["d/e/f"], Path: "wrong/path", Name: "n", Action: Modified, What: Attributes})
	tree.expect(t, "3:e/f/n")
	// Directories are followed through renames.
	if err := r.nodes["d"].Rename(ctx, root, "e", r.nodes[""], "moved"); err != nil {
		t.Fatal(err)
	}
	r.report("d/e/f", "n", Modified, Attributes, 0)
	tree.expect(t)
	if err := r.nodes[""].Rename(ctx, root, "moved", r.nodes["d"], "back"); err != nil {
		t.Fatal(err)
	}
	r.report("d/e/f", "n", Modified, Attributes, 0)
	tree.expect(t, "3:back/f/n")
	r.hub.Deleted(r.nodes["d"].Identity())
	told.expect(t, "9:")
	tree.expect(t, "9:")
	for _, w := range []*Watch{two, one, three} {
		w.Close()
	}
	r.report("d", "x", Added, FileName, 0)
	told.expect(t)
}

// Reports cost nothing while nobody watches.
func TestIdle(t *testing.T) {
	r := newRig(t)
	n := r.nodes["d"]
	if a := testing.AllocsPerRun(100, func() {
		if r.hub.Wants(Size) {
			r.hub.Report(ctx, r.fs, Change{Dir: n, Name: "x", Action: Modified, What: Size})
		}
		r.hub.Changed(ctx, r.fs, n, Size)
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

// local is a directory that reports the events that the test makes.
type local struct {
	vfs.Node
	fn      func(vfs.DirEvent)
	stopped bool
}

func (l *local) Watch(_ context.Context, fn func(vfs.DirEvent)) (func(), error) {
	l.fn = fn
	return func() { l.stopped = true }, nil
}

// TestLocal checks that changes by local programs are reported, and those by the server reported once.
func TestLocal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		dir := &local{Node: r.nodes["d"]}
		told := &log{}
		w := r.hub.Watch(ctx, r.fs, dir, root, Names|Size|Attributes, false, told.tell)
		event := func(op vfs.DirOp, name, to string) { dir.fn(vfs.DirEvent{Op: op, Name: name, To: to}) }
		settled := func(want ...string) {
			t.Helper()
			time.Sleep(2 * settle)
			synctest.Wait()
			told.expect(t, want...)
		}
		event(vfs.EntryAdded, "a", "")
		event(vfs.EntryWritten, "a", "")
		event(vfs.EntryRenamed, "a", "b")
		event(vfs.EntryAttr, "b", "")
		dir.fn(vfs.DirEvent{Op: vfs.EntryRemoved, Name: "sub", Kind: vfs.KindDirectory})
		event(vfs.EventsLost, "", "")
		settled("1:a", "3:a", "4:a 5:b", "3:b", "2:sub", "10:")
		// The report comes before the event, or after it.
		r.report("d", "n", Added, FileName, 0)
		event(vfs.EntryAdded, "n", "")
		event(vfs.EntryAttr, "n", "")
		event(vfs.EntryWritten, "m", "")
		r.report("d", "m", Modified, Size, 0)
		event(vfs.EntryRenamed, "n", "o")
		r.hub.Report(ctx, r.fs, Change{Dir: r.nodes["d"], Name: "n", Action: RenamedOld, What: FileName}, Change{Dir: r.nodes["d"], Name: "o", Action: RenamedNew, What: FileName})
		event(vfs.EntryRemoved, "o", "")
		r.report("d", "o", Removed, FileName, 0)
		settled("1:n", "3:m", "4:n 5:o", "2:o")
		// One report matches one event: the second event is from a local program.
		event(vfs.EntryAdded, "o", "")
		event(vfs.EntryRemoved, "o", "")
		settled("1:o", "2:o")
		time.Sleep(echo)
		event(vfs.EntryWritten, "m", "")
		settled("3:m")
		event(vfs.DirGone, "", "")
		settled("9:")
		event(vfs.EntryAdded, "late", "")
		w.Close()
		settled()
		if !dir.stopped {
			t.Error("the backend goes on watching")
		}
		event(vfs.EntryAdded, "later", "")
		settled()
	})
}

// TestEchoesBounded checks that reports without events are forgotten: some backends do not report what the server
// does.
func TestEchoesBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		dir := &local{Node: r.nodes["d"]}
		w := r.hub.Watch(ctx, r.fs, dir, root, Size, false, func([]Event) {})
		defer w.Close()
		for i := range 3 * maxEchoes {
			if i%maxEchoes == 0 {
				time.Sleep(2 * nameEcho)
			}
			r.report("d", fmt.Sprint(i%(maxEchoes+100)), Added, FileName, 0)
		}
		for _, s := range r.hub.sources {
			n := 0
			for _, list := range s.echoes {
				n += len(list)
			}
			if n > maxEchoes || n != s.count {
				t.Errorf("%d reports are kept, counted as %d", n, s.count)
			}
		}
	})
}

func TestAspects(t *testing.T) {
	if NameOf(vfs.KindDirectory) != DirName || NameOf(vfs.KindSymlink) != FileName {
		t.Error("names")
	}
	for mask, want := range map[vfs.AttrMask]What{
		0: 0, vfs.AttrMode: Security, vfs.AttrSize | vfs.AttrAtime: Size | LastWrite | LastAccess, vfs.AttrUID | vfs.AttrMtime: Security | LastWrite, vfs.AttrBtime: Creation,
	} {
		if got := Set(mask); got != want {
			t.Errorf("%#x: %#x, want %#x", mask, got, want)
		}
	}
}
