package state_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"fileserver/nfs/v4/proto"
	"fileserver/nfs/v4/state"
	"fileserver/vfs/lock"
)

// do executes a command:
//
//	restart [clients=N] [unconfirmed=N] [sessions=N] [allsessions=N] [states=N] [allstates=N] [owners=BYTES] [replies=BYTES] [files=N]    another run of the server
//	wait SECONDS                                   time passes, and Tick
//	exchange CLIENT owner=O [verifier=N] [principal=P] [from=ADDRESS] [update]
//	session SESSION CLIENT seq=N [principal=P] [conn=N] [slots=N]    CREATE_SESSION
//	begin TURN SESSION slot=N seq=N [conn=N] [sum=N] [highest=N] [ops=N] [size=N]
//	end TURN [reply=TEXT]
//	destroy-session SESSION [conn=N], destroy-client CLIENT
//	complete SESSION                               RECLAIM_COMPLETE
//	open STATEID SESSION owner=O file=F access=N [deny=N]
//	downgrade STATEID SESSION file=F access=N [deny=N]
//	close STATEID SESSION file=F
//	use STATEID SESSION file=F access=N [seq=N]
//	lock STATEID SESSION open=STATEID owner=O file=F [write]; relock STATEID SESSION file=F
//	free STATEID SESSION, test STATEID SESSION
//	reclaimed                                      somebody reclaims
//	expire-holders FILE, stats, grace
func (w *world) do(f []string) string {
	args := map[string]string{}
	var pos []string
	for _, a := range f[1:] {
		if k, v, named := strings.Cut(a, "="); named {
			args[k] = v
		} else {
			pos = append(pos, a)
		}
	}
	num := func(k string, def int) int {
		if v, ok := args[k]; ok {
			n, err := strconv.Atoi(v)
			if err != nil {
				w.t.Fatalf("%v: %v", f, err)
			}
			return n
		}
		return def
	}
	switch f[0] {
	case "restart":
		w.start(args)
		return fmt.Sprintf("grace:%v", w.all.Grace().Active())
	case "wait":
		n, _ := strconv.Atoi(pos[0])
		w.now = w.now.Add(time.Duration(n) * time.Second)
		return "ok" + w.act(w.all.Tick(w.now))
	case "exchange":
		flags := uint32(0)
		if len(pos) > 1 && pos[1] == "update" {
			flags = state.FlagUpdConfirmed
		}
		e, a, st := w.all.ExchangeID([]byte(args["owner"]), proto.Verifier{byte(num("verifier", 1))}, w.caller(args), flags, w.now)
		acts := w.act(a)
		if st != proto.OK {
			return status(st) + acts
		}
		same := ""
		if w.ids[pos[0]] == e.ClientID {
			same = " same"
		}
		w.ids[pos[0]] = e.ClientID
		return fmt.Sprintf("ok seq:%d confirmed:%v%s%s", e.Seq, e.Flags&state.FlagConfirmed != 0, same, acts)
	case "session":
		fore := proto.ChannelAttrs{MaxRequest: 4096, MaxResponse: 4096, MaxResponseCached: 512, MaxOps: 8, MaxRequests: uint32(num("slots", 4))}
		n, a, st := w.all.CreateSession(state.SessionArgs{ClientID: w.ids[pos[1]], Seq: uint32(num("seq", 1)), Fore: fore}, w.caller(args), w.now)
		acts := w.act(a)
		if st == proto.OK {
			w.sessions[pos[0]] = n.ID
			if n.Fore.MaxRequests != fore.MaxRequests {
				acts = fmt.Sprintf(" slots:%d", n.Fore.MaxRequests) + acts
			}
		}
		return status(st) + acts
	case "begin":
		return w.begin(pos, num)
	case "end":
		var reply []byte
		if r, ok := args["reply"]; ok {
			reply = []byte(r)
		}
		w.turns[pos[0]].End(reply, w.now)
		return "ok"
	case "destroy-session":
		id := w.sessions[pos[0]]
		return status(w.all.DestroySession(&id, nil, uint64(num("conn", 1))))
	case "destroy-client":
		a, st := w.all.DestroyClientID(w.ids[pos[0]])
		return status(st) + w.act(a)
	case "complete":
		w.record(w.client(pos[0]))
		a, st := w.all.ReclaimComplete(w.client(pos[0]))
		return status(st) + w.act(a)
	case "reclaimed":
		w.all.Grace().Reclaimed(w.now)
		return "ok"
	case "expire-holders":
		a, some := w.all.ExpireHolders(key(pos[0]), w.now)
		return fmt.Sprint(some) + w.act(a)
	case "stats":
		s := w.all.Stats()
		return fmt.Sprintf("clients:%d sessions:%d states:%d files:%d records:%d", s.Clients, s.Sessions, s.States, w.open, len(w.records))
	case "grace":
		return fmt.Sprint(w.all.Grace().Active())
	}
	return w.stateful(f[0], pos, args, num)
}

// caller is who calls: from an address of its own for each owner, unless the script says from where.
func (w *world) caller(args map[string]string) state.Caller {
	from := args["from"]
	if from == "" {
		from = fmt.Sprintf("192.0.2.%d", (args["owner"] + "\x00")[0])
	}
	conn, _ := strconv.ParseUint(cmp.Or(args["conn"], "1"), 10, 64)
	return state.Caller{Principal: state.Principal{Flavor: 1, Name: args["principal"]}, Addr: netip.MustParseAddr(from), Conn: conn}
}

func (w *world) record(c *state.Client) {
	if c.NeedsRecord() {
		w.records[c.Record()] = true
		c.SetRecorded()
	}
}

func (w *world) begin(pos []string, num func(string, int) int) string {
	id := w.sessions[pos[1]]
	se := w.all.Session(&id)
	if se == nil {
		return "BADSESSION"
	}
	t, head, st := se.Begin(&state.Sequence{
		Conn: uint64(num("conn", 1)),
		Seq:  uint32(num("seq", 1)), Slot: uint32(num("slot", 0)), Highest: uint32(num("highest", 0)), Sum: uint64(num("sum", 0)),
		Ops: num("ops", 1), Size: num("size", 100),
	}, nil, w.now)
	w.turns[pos[0]] = &t
	switch {
	case st != proto.OK:
		return status(st)
	case t.Cached:
		return "replay " + string(head)
	case t.Replay:
		return "replay, not kept"
	}
	return "ok"
}

// stateful executes the commands on stateids.
func (w *world) stateful(cmd string, pos []string, args map[string]string, num func(string, int) int) string {
	c, file := w.client(pos[1]), key(args["file"])
	access, deny := state.Share(num("access", 0)), state.Share(num("deny", 0))
	sid := w.sids[pos[0]]
	if n := num("seq", -1); n >= 0 {
		sid.Seq = uint32(n)
	}
	var a state.Actions
	var st proto.Status
	next := sid
	switch cmd {
	case "open":
		w.record(c)
		w.open++
		next, a, st = c.AddOpen([]byte(args["owner"]), file, access, deny, lock.CacheRead|lock.CacheHandle, &resource{w, 1})
	case "downgrade":
		next, a, st = c.Downgrade(&sid, file, access, deny)
	case "close":
		a, st = c.CloseOpen(&sid, file)
	case "use":
		var r state.Resource
		if r, st = c.Use(&sid, &file, access); st == proto.OK {
			r.Release()
		}
	case "lock", "relock":
		return w.lock(c, pos, args, sid)
	case "free":
		var l *state.LockState
		if l, st = c.FindLocks(&sid); st == proto.OK {
			if w.locks.Held(l.File(), l.Owner) {
				return "held"
			}
			st = c.Free(l)
		}
	case "test":
		st = c.Test(&sid)
	default:
		w.t.Fatalf("no command %s", cmd)
	}
	acts := w.act(a)
	if st != proto.OK {
		return status(st) + acts
	}
	w.sids[pos[0]] = next
	if cmd == "open" || cmd == "downgrade" {
		return fmt.Sprintf("ok seq:%d%s", next.Seq, acts)
	}
	return "ok" + acts
}

func (w *world) lock(c *state.Client, pos []string, args map[string]string, sid proto.StateID) string {
	write := len(pos) > 2 && pos[2] == "write"
	var l *state.LockState
	var st proto.Status
	if o, fresh := args["open"]; fresh {
		open := w.sids[o]
		l, st = c.BeginLock(&open, key(args["file"]), []byte(args["owner"]), write)
	} else {
		l, st = c.ContinueLock(&sid, key(args["file"]), write, false)
	}
	if st != proto.OK {
		return status(st)
	}
	agreed := w.locks.Lock(l.File(), l.Owner, lock.Range{Len: 1}, write) == nil
	next, closed := c.EndLock(l, agreed)
	switch {
	case closed:
		return "closed"
	case !agreed:
		return "DENIED"
	}
	w.sids[pos[0]] = next
	return fmt.Sprintf("ok seq:%d", next.Seq)
}
