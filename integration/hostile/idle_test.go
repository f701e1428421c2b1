package hostile

// idleAttacks take connections and do nothing with them.
var idleAttacks = []attack{{
	name: "S3: a greedy client's idle connections, fewer than there are", factor: 10,
	run: func(r *rig) {
		for _, service := range []string{"nfs tcp", "smb tcp", "nfs iwarp", "smb iwarp"} {
			for range 50 {
				if _, err := r.dial(greedyAddr, service); err != nil {
					r.Fatalf("%s: %v", service, err)
				}
			}
		}
	},
}}
