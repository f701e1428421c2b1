package state_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fileserver/vfs/lock"
)

// moves are the commands of a sequence, one for each value of a byte.
var moves = strings.Split(strings.TrimSpace(`
exchange A owner=a from=192.0.2.1
exchange A owner=a from=192.0.2.1 verifier=2
exchange A owner=a from=192.0.2.1 update
exchange A owner=a from=192.0.2.2 principal=other
exchange B owner=b from=192.0.2.1
exchange C owner=c from=192.0.2.1
exchange D owner=d from=192.0.2.2
session S A seq=1
session S A seq=2
session S2 A seq=2
session S2 A seq=3 slots=64
session T B seq=1
session T B seq=2
session U D seq=1 slots=64
session U D seq=1 principal=other from=192.0.2.9
destroy-session S
destroy-session S conn=2
destroy-session S2
destroy-session T
destroy-client A
destroy-client B
destroy-client D
complete S
complete T
complete U
begin x S seq=1
begin x S seq=2 conn=2
begin x S seq=3
begin y T seq=1
begin y T seq=2 slot=1
end x
end x reply=text
end y
open o S owner=x file=f access=1
open o S owner=x file=f access=3 deny=2
open p S owner=y file=g access=2
open q T owner=x file=f access=2
open q T owner=x file=f access=1 deny=1
open r U owner=z file=h access=3 deny=3
downgrade o S file=f access=1
close o S file=f
close p S file=g
close q T file=f
close r U file=h
use o S file=f access=1
use o S file=f access=2 seq=1
use q T file=f access=2
lock l S open=o owner=k file=f
lock l S write open=o owner=k file=f
lock m T write open=q owner=k file=f
relock l S file=f
use l S file=f access=1
free l S
free m T
test o S
test l S
reclaimed
expire-holders f
expire-holders g
wait 1
wait 6
wait 11
wait 200
restart clients=8 unconfirmed=1 sessions=2 states=4 allstates=6 replies=8192
`), "\n")

// FuzzSequences plays sequences of the commands that scripts have: whatever clients do, and in whichever order, what is counted
// is what there is, and at the end nothing is left.
func FuzzSequences(f *testing.F) {
	script := func(names ...string) (b []byte) {
		for _, n := range names {
			i := slices.Index(moves, n)
			if i < 0 {
				f.Fatalf("no move %q", n)
			}
			b = append(b, byte(i))
		}
		return b
	}
	f.Add(script("exchange A owner=a from=192.0.2.1", "session S A seq=1", "complete S", "open o S owner=x file=f access=3 deny=2",
		"lock l S write open=o owner=k file=f", "use l S file=f access=1", "wait 11", "exchange B owner=b from=192.0.2.1", "session T B seq=1",
		"expire-holders f", "open q T owner=x file=f access=2"))
	f.Add(script("restart clients=8 unconfirmed=1 sessions=2 states=4 allstates=6 replies=8192", "exchange A owner=a from=192.0.2.1",
		"session S A seq=1", "begin x S seq=1", "end x reply=text", "begin x S seq=1", "exchange C owner=c from=192.0.2.1",
		"exchange A owner=a from=192.0.2.1 verifier=2", "session S A seq=1", "destroy-session S", "destroy-client A"))
	f.Fuzz(func(t *testing.T, in []byte) {
		w := &world{t: t, now: time.Unix(1e6, 0), records: map[string]bool{}}
		w.start(nil)
		for _, b := range in[:min(len(in), 200)] {
			line := moves[int(b)%len(moves)]
			if words := strings.Fields(line); w.possible(words) {
				w.do(words)
			}
			if err := w.all.Check(); err != nil {
				t.Fatalf("after %s: %v", line, err)
			}
		}
		for _, turn := range w.turns {
			turn.End(nil, w.now)
		}
		w.now = w.now.Add(1e6 * time.Hour)
		w.act(w.all.Tick(w.now))
		if c := w.locks.Counts(); c != (lock.Counts{}) || w.open != 0 {
			t.Errorf("left over: %+v, %d files", c, w.open)
		}
	})
}

// possible reports whether the sessions and turns that a command names exist: that others do not is the caller's to find out.
func (w *world) possible(f []string) bool {
	switch f[0] {
	case "exchange", "session", "restart", "wait", "reclaimed", "expire-holders", "destroy-client", "begin", "destroy-session":
		return f[0] != "begin" || w.turns[f[1]] == nil || w.turns[f[1]].Session() == nil // one at a time
	case "end":
		return w.turns[f[1]] != nil
	}
	id := w.sessions[f[min(2, len(f)-1)]]
	if f[0] == "complete" {
		id = w.sessions[f[1]]
	}
	return w.all.Session(&id) != nil
}
