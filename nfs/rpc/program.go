package rpc

import (
	"context"
	"fmt"
)

// Program is one version of an RPC program: a table of procedures.
type Program struct {
	Prog, Vers uint32
	Name       string      // "nfs", "mount"
	Procs      []Procedure // by number; number 0 is NULL, which Server answers itself
	// StatusText names the protocol's status codes ([Call.Status]) for metrics and logs; nil if it has none.
	StatusText func(uint32) string
}

// Procedure is one procedure of a program. One without Serve does not exist: PROC_UNAVAIL.
type Procedure struct {
	Name string // "READ"
	// Serve executes the call: it decodes c.Args, sets c.Status and appends the
	// results to r. Unless it returns [Success] what it appended is taken back.
	// A panic becomes [SystemErr].
	Serve func(ctx context.Context, c *Call, r *Reply) AcceptStat
	// Cache: executing the call twice is not the same as once, so its reply
	// goes through the duplicate request cache. Such replies carry no payloads.
	Cache bool
	// Bulk, with Cache: the arguments carry bulk data. Of them only the first bytes are summed, and the
	// replies are kept apart, so that many WRITEs do not drive out the replies to changes of names.
	Bulk bool
}

// programSet is what Server dispatches to.
type programSet []*boundProgram

type boundProgram struct {
	*Program
	procs []boundProcedure
}

type boundProcedure struct {
	*Procedure
	observer ProcedureObserver
}

func bind(programs []*Program, o Observer) (programSet, error) {
	var set programSet
	for _, p := range programs {
		if b, _, _ := set.find(p.Prog, p.Vers); b != nil {
			return nil, fmt.Errorf("rpc: program %d version %d is registered twice", p.Prog, p.Vers)
		}
		b := &boundProgram{Program: p}
		for i := range max(1, len(p.Procs)) {
			proc := &Procedure{Name: "NULL"}
			if i > 0 {
				proc = &p.Procs[i]
			}
			b.procs = append(b.procs, boundProcedure{proc, o.Procedure(p, uint32(i), proc.Name)})
		}
		set = append(set, b)
	}
	return set, nil
}

// find returns the program; nil with the versions there are, or 0, 0 if there is no such program. The
// list is short: a linear search beats a map.
func (s programSet) find(prog, vers uint32) (p *boundProgram, lowest, highest uint32) {
	found := false
	for _, p := range s {
		if p.Prog != prog {
			continue
		}
		if p.Vers == vers {
			return p, vers, vers
		}
		if !found || p.Vers < lowest {
			lowest = p.Vers
		}
		highest = max(highest, p.Vers)
		found = true
	}
	return nil, lowest, highest
}
