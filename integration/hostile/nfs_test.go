package hostile

import (
	"context"
	"fmt"
	"net"
	"os"

	"fileserver/nfs/mount"
	"fileserver/nfs/rpc"
	"fileserver/nfs/rpc/rpcclient"
	v4 "fileserver/nfs/v4"
	"fileserver/nfs/v4/proto"
	"fileserver/nfs/xdr"
)

// nfsAttacks attack the server's state of NFSv4 clients.
var nfsAttacks = []attack{{
	name: "S2: a program of a client's user claims to be root", factor: 10,
	config: "nfs: {port: 0, rdma_port: 0}\n", ways: []string{"nfs tcp"},
	run: func(r *rig) {
		if os.Geteuid() != 0 {
			r.Skip("without root the victim has no reserved port either")
		}
		c, err := r.dial(greedyAddr, "nfs tcp")
		r.check(err)
		a := newAttacker(c)
		if _, st := a.exchange(r.ctx, "user", 1); st != proto.ErrWrongSec {
			r.Errorf("EXCHANGE_ID: %v", st)
		}
		_, res, err := a.c.Do(r.ctx, rpcclient.Call{
			Prog: mount.Program, Vers: mount.Version, Proc: mount.ProcMnt, Args: [][]byte{(&mount.PathArgs{Path: "/data"}).Append(nil)},
		})
		if d := xdr.NewDecoder(res); err != nil || mount.Status(d.Uint32()) != mount.ErrAcces {
			r.Errorf("MNT: %x, %v", res, err)
		}
	},
}, {
	name: "S4: a stranger takes client IDs, and a client's own", factor: 10, ways: []string{"nfs tcp", "nfs iwarp"},
	run: func(r *rig) {
		for i := range 100 {
			c, err := r.dialReserved(strangerAddr, "nfs tcp")
			if err != nil { // the connection is refused, too
				continue
			}
			if _, st := newAttacker(c).exchange(r.ctx, fmt.Sprint("stranger", i), 1); st == proto.OK {
				r.Fatal("a stranger has a client ID")
			}
		}
	},
}, {
	name: "S5: a greedy client takes client IDs that it never confirms", factor: 10, ways: []string{"nfs tcp", "nfs iwarp"},
	run: func(r *rig) {
		a := r.newGreedy()
		for i := range 6000 {
			if _, st := a.exchange(r.ctx, fmt.Sprint("greedy", i), 1); st != proto.OK {
				r.Fatalf("client ID %d: %v", i, st)
			}
		}
	},
}, {
	name: "S5: a greedy client takes client IDs and confirms them", factor: 10, ways: []string{"nfs tcp", "nfs iwarp"},
	run: func(r *rig) {
		a, had := r.newGreedy(), 0
		for i := range 3000 {
			e, st := a.exchange(r.ctx, fmt.Sprint("greedy", i), 1)
			if st == proto.OK && a.hasSession(r.ctx, e, e.seq) {
				had++
			}
		}
		r.Logf("the greedy client has %d sessions", had)
		if had == 0 || had > 2000 {
			r.Errorf("the greedy client has %d sessions", had)
		}
	},
}, {
	name: "S9: a greedy client takes the reply caches", factor: 10, ways: []string{"nfs tcp", "nfs iwarp"},
	config: "nfs: {port: 0, rdma_port: 0, privileged_ports: false, reply_cache: 4MiB}\n",
	run: func(r *rig) {
		a := r.newGreedy()
		for i := range 100 {
			if e, st := a.exchange(r.ctx, fmt.Sprint("greedy", i), 1); st == proto.OK {
				for seq := e.seq; a.hasSession(r.ctx, e, seq); seq++ {
				}
			}
		}
	},
}}

// attacker is an NFSv4.1 client that ignores the server's limits.
type attacker struct{ c *rpcclient.Client }

func newAttacker(c net.Conn) attacker {
	return attacker{rpcclient.New(c, rpc.AuthSys, rpc.AppendAuthSys(nil, 0, "attacker", 0, 0, nil))}
}

func (r *rig) newGreedy() attacker {
	c, err := r.dialReserved(greedyAddr, "nfs tcp")
	r.check(err)
	return newAttacker(c)
}

// compound sends a COMPOUND of one operation and returns a decoder at the operation's results.
func (a attacker) compound(ctx context.Context, op proto.Op, args []byte) (xdr.Decoder, proto.Status) {
	var b []byte
	for _, v := range []uint32{0, 1, 1, uint32(op)} { // no tag, minor version, operations
		b = xdr.AppendUint32(b, v)
	}
	_, res, err := a.c.Do(ctx, rpcclient.Call{Prog: v4.Program, Vers: v4.Version, Proc: 1, Args: [][]byte{append(b, args...)}})
	if err != nil {
		return xdr.Decoder{}, proto.ErrIO
	}
	d := xdr.NewDecoder(res)
	st := proto.Status(d.Uint32())
	d.Fixed(4 + 4 + 4 + 4) // tag, operations, number, status
	return d, st
}

// exchanged is the result of EXCHANGE_ID: a client ID, and the sequence number for its CREATE_SESSION.
type exchanged struct {
	id  uint64
	seq uint32
}

func (a attacker) exchange(ctx context.Context, owner string, verifier uint64) (exchanged, proto.Status) {
	b := xdr.AppendString(xdr.AppendUint64(nil, verifier), owner)
	for range 3 { // no flags, SP4_NONE, no nfs_impl_id4
		b = xdr.AppendUint32(b, 0)
	}
	d, st := a.compound(ctx, proto.OpExchangeID, b)
	if st != proto.OK {
		return exchanged{}, st
	}
	return exchanged{d.Uint64(), d.Uint32()}, st
}

// session creates a session with the largest channel attributes.
func (a attacker) session(ctx context.Context, e exchanged, seq uint32) (proto.SessionID, proto.Status) {
	most := proto.ChannelAttrs{MaxRequest: 1 << 20, MaxResponse: 1 << 20, MaxResponseCached: 1 << 20, MaxOps: 64, MaxRequests: 1024}
	b := xdr.AppendUint32(xdr.AppendUint32(xdr.AppendUint64(nil, e.id), seq), 0)
	b = most.Append(most.Append(b))
	for _, v := range [...]uint32{1 << 30, 1, 0} { // a callback program, and AUTH_NONE
		b = xdr.AppendUint32(b, v)
	}
	d, st := a.compound(ctx, proto.OpCreateSession, b)
	if st != proto.OK {
		return proto.SessionID{}, st
	}
	return proto.DecodeSessionID(&d), st
}

// hasSession is session for attacks that need only know that there is one.
func (a attacker) hasSession(ctx context.Context, e exchanged, seq uint32) bool {
	_, st := a.session(ctx, e, seq)
	return st == proto.OK
}
