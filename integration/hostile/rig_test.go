package hostile

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fileserver/config"
	"fileserver/internal/app/bench"
	"fileserver/internal/app/server"
	"fileserver/internal/app/server/servertest"
	"fileserver/internal/slab"
	"fileserver/internal/users"
	"fileserver/rdma/iwarp"
	"fileserver/smb/client"
	"fileserver/smb/ntlm"
)

// Addresses of the three. The victim's address is also the server's.
var (
	victimAddr   = netip.MustParseAddr("127.0.0.1")
	strangerAddr = netip.MustParseAddr("127.0.0.2")
	greedyAddr   = netip.MustParseAddr("127.0.0.3")
)

// frame is the configuration of every case. A case adds its own sections, mostly limits.
const frame = `
listen: [127.0.0.1]
allow: [127.0.0.1/32, 127.0.0.3/32, 127.0.1.0/24]
`

// These sections set the share and the ports. A case may replace them.
const (
	shareSection = "shares: {data: {path: data, nfs: {squash: none}}}\n"
	nfsSection   = "nfs: {port: 0, rdma_port: 0, privileged_ports: false}\n" // over RDMA the victim's port is not reserved
	smbSection   = "smb: {enabled: true, port: 0, rdma_port: 0}\n"
)

// rig is a server under attack, with the clients' RDMA provider and buffers.
type rig struct {
	*testing.T
	cfg      *config.Config
	log      *servertest.Log
	at       map[string]netip.AddrPort // by protocol and transport: "nfs tcp", "smb iwarp"
	pool     *slab.Pool                // of the clients
	provider *iwarp.Provider           // of the clients

	ctx  context.Context // ends with the attack
	stop context.CancelFunc
	wg   sync.WaitGroup
	mu   sync.Mutex
	open []net.Conn // the attackers' connections
}

// newRig starts a server with the configuration of a case.
func newRig(t *testing.T, yaml string) *rig {
	t.Helper()
	return newRigOf(t, yaml, func(r *rig) {
		s, err := server.Start(r.cfg, server.NewLog(r.log, r.cfg.Log), "hostile")
		r.check(err)
		servertest.StopAtEnd(t, s.Stop)
	})
}

// newRigOf is newRig with a server that start starts.
func newRigOf(t *testing.T, yaml string, start func(*rig)) *rig {
	t.Helper()
	for section, text := range map[string]string{"shares:": shareSection, "nfs:": nfsSection, "smb:": smbSection} {
		if !strings.HasPrefix(yaml, section) && !strings.Contains(yaml, "\n"+section) {
			yaml += text
		}
	}
	r := &rig{T: t, cfg: servertest.Config(t, frame+yaml), log: new(servertest.Log), at: map[string]netip.AddrPort{}}
	u := users.User{Name: "ann", NTHash: ntlm.NTHash("secret"), UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	r.check(users.Open(r.cfg.StateDir).Add(u))
	start(r)
	for _, proto := range []string{"nfs", "smb"} {
		for _, transport := range []string{"tcp", "iwarp"} {
			r.at[proto+" "+transport] = r.log.Addr(t, proto, transport)
		}
	}
	r.pool = slab.New(slab.Config{})
	t.Cleanup(func() { _ = r.pool.Close() })
	var err error
	r.provider, err = iwarp.New(iwarp.Config{Log: slog.New(slog.DiscardHandler)})
	r.check(err)
	t.Cleanup(func() { _ = r.provider.Close() })
	r.ctx, r.stop = context.WithCancel(t.Context())
	t.Cleanup(r.endAttack)
	return r
}

func (r *rig) check(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// endAttack closes the attackers' connections and waits for their goroutines.
func (r *rig) endAttack() {
	r.stop()
	r.mu.Lock()
	for _, c := range r.open {
		_ = c.Close()
	}
	r.open = nil
	r.mu.Unlock()
	r.wg.Wait()
}

// Go runs a part of the attack on a goroutine. f must return when ctx, the rig's, ends.
func (r *rig) Go(f func(ctx context.Context)) { r.wg.Go(func() { f(r.ctx) }) }

// dial connects an attacker over TCP. The connection is closed with the attack.
func (r *rig) dial(from netip.Addr, service string) (net.Conn, error) {
	return r.dialPort(netip.AddrPortFrom(from, 0), service)
}

// dialReserved is dial from a reserved port, which NFS servers may require.
func (r *rig) dialReserved(from netip.Addr, service string) (c net.Conn, err error) {
	for port := uint16(1023); port > 512; port-- {
		c, err = r.dialPort(netip.AddrPortFrom(from, port), service)
		if err == nil || r.ctx.Err() != nil || !isInUse(err) {
			break
		}
	}
	return c, err
}

func isInUse(err error) bool {
	s := err.Error()
	return strings.Contains(s, syscall.EADDRINUSE.Error()) || strings.Contains(s, syscall.EADDRNOTAVAIL.Error())
}

func (r *rig) dialPort(from netip.AddrPort, service string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(from), Timeout: 5 * time.Second}
	c, err := d.DialContext(r.ctx, "tcp", r.at[service].String())
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		_ = c.Close()
		return nil, context.Cause(r.ctx)
	}
	r.open = append(r.open, c)
	return c, nil
}

// target returns the address of the share for a way in: "nfs tcp", "nfs iwarp", "smb tcp" or "smb iwarp".
func (r *rig) target(way string) *bench.Target {
	proto, transport, _ := strings.Cut(way, " ")
	at := r.at[way]
	return &bench.Target{
		Host: at.Addr().String(), Port: int(at.Port()), Proto: proto, Transport: transport, Share: "data", Version: "4.2",
		BlockSize: workSize, Depth: 1, RDMAMin: 4 << 10, Pool: r.pool, Provider: r.provider,
		SMB: bench.SMBOptions{Identity: client.Identity{User: "ann", Password: "secret"}},
	}
}

// ways are the ways in to the server.
var ways = []string{"nfs tcp", "nfs iwarp", "smb tcp", "smb iwarp"}

const (
	workSize = 64 << 10         // bytes written and read in a round
	rounds   = 3                // of the victim's work on each way
	patience = 20 * time.Second // for all rounds on one way
	// shortest replaces usual times that are shorter. On a busy machine a factor of a shorter time would
	// mean nothing.
	shortest = 60 * time.Millisecond
)

// victim is an admitted client. It has a session that lasts through the attack.
type victim struct {
	r       *rig
	way     string
	session bench.Session
	also    func(context.Context) error // done in each round; nil: nothing
}

func (r *rig) newVictim(way string) *victim {
	r.Helper()
	s, err := bench.Dial(r.ctx, r.target(way))
	if err != nil {
		r.Fatalf("%s: the victim cannot connect: %v", way, err)
	}
	return &victim{r: r, way: way, session: s}
}

// work does some rounds, both in the victim's session and in a new one, and returns how long they took.
func (v *victim) work(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	start := time.Now()
	for i := range rounds {
		name := fmt.Sprintf("victim-%s-%d", strings.ReplaceAll(v.way, " ", "-"), i)
		if err := round(ctx, v.session, name); err != nil {
			return 0, fmt.Errorf("in the session from before the attack: %w", err)
		}
		s, err := bench.Dial(ctx, v.r.target(v.way))
		if err != nil {
			return 0, fmt.Errorf("in a new session: %w", err)
		}
		err = round(ctx, s, name)
		if cerr := s.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return 0, fmt.Errorf("in a new session: %w", err)
		}
		if v.also != nil {
			if err := v.also(ctx); err != nil {
				return 0, err
			}
		}
	}
	return time.Since(start), nil
}

// round creates a file, writes it, reads it back and removes it.
func round(ctx context.Context, s bench.Session, name string) error {
	if err := transfer(ctx, s, name, 0); err != nil {
		return err
	}
	return s.Remove(ctx, name)
}

// transfer opens a file, which it creates if there is none, writes to it at off, reads that back and closes the file.
func transfer(ctx context.Context, s bench.Session, name string, off uint64) error {
	f, err := s.Open(ctx, name)
	if err != nil {
		return err
	}
	io, err := f.NewIO(ctx, workSize)
	if err != nil {
		return err
	}
	defer io.Release()
	want := bytes.Repeat([]byte(name), workSize/len(name)+1)[:workSize]
	copy(io.Data(), want)
	if err := io.Write(ctx, off, workSize); err != nil {
		return err
	}
	got, err := io.Read(ctx, off, workSize)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s: the data read differs from the data written", name)
	}
	return f.Close(ctx)
}

// logged fails the test unless the server's log contains the texts.
func (r *rig) logged(texts ...string) {
	r.Helper()
	for _, text := range texts {
		if !strings.Contains(r.log.String(), text) {
			r.Errorf("the server does not log %q", text)
		}
	}
}
