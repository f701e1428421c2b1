package hostile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// attack is a test case. To add a group of cases, write a file for them and add its list to attacks.
type attack struct {
	name   string   // what the attacker does; S1 to S19 are the numbers of issue 8
	factor float64  // how many times its usual time the victim's work may take
	config string   // sections of the configuration, in addition to frame
	ways   []string // the ways in that the victim uses; nil: all
	// also returns what the victim does in each round in addition; nil: nothing.
	also func(*victim) func(context.Context) error
	// run starts the attack and returns when it is under way. The attack goes on until the rig's ctx ends.
	run func(*rig)
	// after checks the server's state just before the attack ends; nil: no check.
	after func(*rig)
}

// attacks are all the cases.
var attacks = slices.Concat(idleAttacks, unreadAttacks, nfsAttacks, lockAttacks)

// TestHostile wants the victim's work to go on during each attack. It prints how long the work took before and during each.
func TestHostile(t *testing.T) {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "attack\tway\tusual\tattacked\tfactor\tallowed")
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			r := newRig(t, a.config)
			list := a.ways
			if list == nil {
				list = ways
			}
			victims := make([]*victim, len(list))
			usual := make([]time.Duration, len(list))
			for i, way := range list {
				v := r.newVictim(way)
				defer v.session.Close()
				if a.also != nil {
					v.also = a.also(v)
				}
				took, err := v.work(t.Context())
				if err != nil {
					t.Fatalf("%s: before the attack: %v", way, err)
				}
				victims[i], usual[i] = v, max(took, shortest)
			}
			a.run(r)
			for i, v := range victims {
				took, err := v.work(t.Context())
				if err != nil {
					t.Errorf("%s: the victim's work fails during the attack: %v", v.way, err)
					fmt.Fprintf(w, "%s\t%s\t%v\tfails\t\t%v\n", a.name, v.way, usual[i].Round(time.Millisecond), a.factor)
					continue
				}
				factor := float64(took) / float64(usual[i])
				fmt.Fprintf(w, "%s\t%s\t%v\t%v\t%.1f\t%v\n", a.name, v.way, usual[i].Round(time.Millisecond), took.Round(time.Millisecond), factor, a.factor)
				if factor > a.factor {
					t.Errorf("%s: the victim's work takes %v, %.1f times its usual time (%v); at most %v times is allowed", v.way, took, factor, usual[i], a.factor)
				}
			}
			if a.after != nil {
				a.after(r)
			}
			r.endAttack()
			if t.Failed() {
				t.Logf("the end of the server's log:\n%s", tail(r.log.String(), 40))
			}
		})
	}
	w.Flush()
	t.Logf("what each attack cost the victim:\n%s", table.String())
}

// tail returns the last lines of s.
func tail(s string, lines int) string {
	all := strings.Split(s, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
