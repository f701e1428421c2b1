package hostile

import (
	"context"
	"net/netip"
	"time"
)

// small is a configuration with few connections.
const small = "limits: {memory: 64MiB, connections: 32, connections_per_address: 24, half_open_timeout: 5s, idle_timeout: 10s}\n"

// flood opens connections on all ways in, and replaces those that are closed.
func flood(r *rig, from netip.Addr, each int) {
	for _, way := range ways {
		for range each {
			r.Go(func(ctx context.Context) {
				for ctx.Err() == nil {
					if c, err := r.dial(from, way); err == nil {
						_, _ = c.Read(make([]byte, 1)) // returns when the server, or the end of the attack, closes c
						_ = c.Close()
					}
					time.Sleep(100 * time.Millisecond) // without a pause the attacker would use up the processors of this machine
				}
			})
		}
	}
	time.Sleep(200 * time.Millisecond) // for the connections to be made
}

// idleAttacks take connections and send nothing on them.
var idleAttacks = []attack{{
	name: "S3, S10: a stranger takes all connections", factor: 20, config: small,
	run:   func(r *rig) { flood(r, strangerAddr, 40) },
	after: func(r *rig) { r.logged("no share admits the address", "reason=not_admitted") },
}, {
	name: "S3, S10: a greedy client takes all connections", factor: 20, config: small,
	run:   func(r *rig) { flood(r, greedyAddr, 40) },
	after: func(r *rig) { r.logged("this client has as many connections") },
}, {
	name: "S3: greedy clients take all connections, each as many as it may", factor: 20, config: small,
	run: func(r *rig) {
		for i := range 4 {
			flood(r, netip.AddrFrom4([4]byte{127, 0, 1, byte(1 + i)}), 15)
		}
	},
}, {
	name: "S18: a greedy client's connections that never send an MPA request", factor: 10, ways: []string{"nfs iwarp", "smb iwarp"},
	run: func(r *rig) {
		for range 300 {
			for _, way := range []string{"nfs iwarp", "smb iwarp"} {
				if _, err := r.dial(greedyAddr, way); err != nil {
					r.Fatal(err)
				}
			}
		}
	},
	after: func(r *rig) { r.logged("half_open_limit") },
}}
