package state_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fileserver/internal/budget"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/vfs/lock"
)

// TestScripts plays the files of testdata. A line is a command and, behind "->", what it says. See world.do for the commands.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			w := &world{t: t, now: time.Unix(1e6, 0), records: map[string]bool{}}
			w.start(nil)
			for i, line := range strings.Split(string(text), "\n") {
				line, _, _ = strings.Cut(line, "#")
				cmd, want, _ := strings.Cut(line, "->")
				if cmd = strings.TrimSpace(cmd); cmd == "" {
					continue
				}
				if got := w.do(strings.Fields(cmd)); got != strings.TrimSpace(want) {
					t.Errorf("%s:%d: %s -> %s, want %s", name, i+1, cmd, got, strings.TrimSpace(want))
				}
			}
			w.now = w.now.Add(1e6 * time.Hour)
			w.act(w.all.Tick(w.now))
			if c := w.locks.Counts(); c != (lock.Counts{}) || w.open != 0 {
				t.Errorf("left over: %+v, %d files", c, w.open)
			}
			if n, _ := w.files.Used(); n != 0 {
				t.Errorf("%d files were not given back to the budget", n)
			}
		})
	}
}

// world is a server of which only the state is real.
type world struct {
	t        *testing.T
	now      time.Time
	all      *state.Clients
	locks    *lock.Manager
	files    *budget.Files // that may be open; nil: any number
	records  map[string]bool
	open     int // files
	instance uint32
	ids      map[string]uint64 // client IDs, by the script's names
	sessions map[string]proto.SessionID
	sids     map[string]proto.StateID
	turns    map[string]*state.Turn
}

// start begins another run of the server.
func (w *world) start(args map[string]string) {
	w.instance++
	num := func(k string) int { n, _ := strconv.Atoi(args[k]); return n }
	w.locks, w.open = lock.New(), 0
	w.ids, w.sessions, w.sids, w.turns = map[string]uint64{}, map[string]proto.SessionID{}, map[string]proto.StateID{}, map[string]*state.Turn{}
	w.files = nil
	if n := num("files"); n > 0 {
		w.files = budget.NewFiles(n)
	}
	var random uint64
	w.all = state.New(state.Config{
		Instance: w.instance, Lease: 10 * time.Second, Courtesy: 100 * time.Second, Locks: w.locks,
		Files:      w.files,
		MaxClients: num("clients"), MaxUnconfirmed: num("unconfirmed"), ReplyCache: int64(num("replies")),
		OwnerBytes:  int64(num("owners")),
		MaxSessions: num("sessions"), MaxAllSessions: num("allsessions"), MaxStates: num("states"), MaxAllStates: num("allstates"),
		Random: func() uint64 { random++; return random },
	}, slices.Collect(maps.Keys(w.records)), w.now, 20*time.Second)
}

// resource counts itself.
type resource struct {
	w    *world
	refs int
}

func (r *resource) Retain() { r.refs++ }

func (r *resource) Release() {
	if r.refs--; r.refs == 0 {
		r.w.open--
	}
	if r.refs < 0 {
		r.w.t.Error("a file is released too often")
	}
}

func (w *world) act(a state.Actions) (s string) {
	for _, l := range a.Unlock {
		w.locks.UnlockAll(l.File(), l.Owner)
		s += " unlock:" + l.Owner.ID
	}
	for _, r := range a.Release {
		r.Release()
	}
	if len(a.Release) > 0 {
		s += fmt.Sprintf(" release:%d", len(a.Release))
	}
	for _, k := range a.Forget {
		delete(w.records, k)
		s += " forget:" + k[len(k)-1:]
	}
	if a.GraceOver {
		s += " grace-over"
	}
	return s
}

func key(name string) state.FileKey {
	var k state.FileKey
	copy(k.FS[:], name)
	return k
}

func status(st proto.Status) string {
	if st == proto.OK {
		return "ok"
	}
	return strings.TrimPrefix(st.String(), "NFS4ERR_")
}

// client is the client of a session.
func (w *world) client(session string) *state.Client {
	id := w.sessions[session]
	se := w.all.Session(&id)
	if se == nil {
		w.t.Fatalf("no session %s", session)
	}
	return se.Client
}
