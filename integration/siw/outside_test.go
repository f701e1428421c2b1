package siw

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
	_ "fileserver/integration/interop" // so that go test does not use a cached result when the program built below changes
	"fileserver/integration/workload"
	_ "fileserver/rdma/iwarp"
)

const firstPort = 18000

// TestOutside runs the tools on the kernel's siw against the pure-Go iWARP provider
// outside. It varies CRC (left to the peer, which wants none; required) and the size of
// FPDUs (the peer's choice; one TCP segment; tiny).
func TestOutside(t *testing.T) {
	for name, args := range map[string][]string{"plain": nil, "crc": {"--crc"}, "segments": {"--fpdu", "1448"}, "tiny": {"--crc", "--fpdu", "128"}} {
		t.Run(name, func(t *testing.T) {
			host := guest.ForTest(t)
			bin := build(t, "peer", "", "build", peerPackage)
			ctx := workload.Within(t, 3*time.Minute)
			runs := append(rpings(), perftests(true)...)
			runs = slices.DeleteFunc(runs, func(r run) bool {
				// With QEMU's network only the guest can connect. Only some runs are worth their time in every variant.
				return r.server() && host.Kind() == guest.QEMU || name != "plain" && !r.telling
			})
			peers := map[string]*guest.Process{}
			start := func(i int, at string) *guest.Process {
				_, peer := runs[i].at(firstPort+i, "", at)
				p, err := host.Start(nil, append(append([]string{bin}, peer...), args...)...)
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			for i, r := range runs {
				if !r.server() {
					peers[r.name] = start(i, host.Listen())
				}
			}
			for _, p := range peers {
				listens(ctx, t, p)
			}
			g := boot(t, host, lines(runs, firstPort, host.Addr(), ""), "siw", "")
			for i, r := range runs {
				if !r.server() {
					continue
				}
				if _, err := g.Mark(ctx, "serving"); err != nil {
					break // the results so far are judged below
				}
				peers[r.name] = start(i, guestAddr)
				_ = peers[r.name].Wait(ctx)
			}
			got := outcomes(g.Check(ctx, t).Output)
			for name, o := range maps.Clone(got) {
				if p := peers[name]; p != nil {
					if err := p.Wait(ctx); err != nil {
						t.Errorf("%s: peer: %v", name, err)
					}
					o.text += p.Output()
					o.peer = fields(p.Output())
					got[name] = o
				}
			}
			judge(t, runs, got)
		})
	}
}

// guestAddr is the address of a host's first guest.
const guestAddr = "198.18.1.2"

// listens waits until peer listens.
func listens(ctx context.Context, t *testing.T, p *guest.Process) {
	t.Helper()
	for !strings.Contains(p.Output(), "listening on") {
		select {
		case <-p.Done():
			t.Fatalf("peer has ended: %s", p.Output())
		case <-ctx.Done():
			t.Fatalf("peer does not listen: %s", p.Output())
		case <-time.After(10 * time.Millisecond):
		}
	}
}
