package hostile

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"fileserver/config"
	"fileserver/internal/app/bench"
	"fileserver/internal/app/server"
	"fileserver/nfs/client"
	"fileserver/vfs"
	"fileserver/vfs/lock"
	"fileserver/vfs/vfstest/fusetest"
	"fileserver/vfs/vfstest/mem"
)

// serverOf is the environment variable that makes the test binary a server. Its value holds the configuration, the state
// directory, the number of descriptors, and the milliseconds that stopping may take.
const serverOf = "FILESERVER_HOSTILE_SERVER"

func TestMain(m *testing.M) {
	if args := os.Getenv(serverOf); args != "" {
		if err := serve(args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve runs a server until its standard input ends.
func serve(args string) error {
	var file, stateDir string
	var descriptors, stopTime uint64
	if _, err := fmt.Sscan(args, &file, &stateDir, &descriptors, &stopTime); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: descriptors, Max: descriptors}); err != nil {
		return err
	}
	flags := pflag.NewFlagSet("server", pflag.ContinueOnError)
	config.AddFlags(flags)
	if err := flags.Parse([]string{"--config", file, "--state-dir", stateDir}); err != nil {
		return err
	}
	cfg, err := config.Load(flags)
	if err != nil {
		return err
	}
	s, err := server.Start(cfg, server.NewLog(os.Stderr, cfg.Log), "hostile")
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(stopTime)*time.Millisecond)
	defer cancel()
	return s.Stop(ctx)
}

// process is a server in its own process.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// startProcess starts a server that may have so many descriptors and may take stopTime to stop.
func startProcess(r *rig, descriptors int, stopTime time.Duration) *process {
	r.Helper()
	exe, err := os.Executable()
	r.check(err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %d", serverOf, r.cfg.File, r.cfg.StateDir, descriptors, stopTime.Milliseconds()))
	cmd.Stderr = r.log
	stdin, err := cmd.StdinPipe()
	r.check(err)
	r.check(cmd.Start())
	p := &process{cmd, stdin}
	r.Cleanup(func() { _ = p.stop() })
	for end := time.Now().Add(patience); !strings.Contains(r.log.String(), "msg=serving"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			r.Fatalf("the server does not start:\n%s", r.log)
		}
	}
	return p
}

// beginStop tells the server to stop.
func (p *process) beginStop() { _ = p.stdin.Close() }

// stop stops the server and waits for its end.
func (p *process) stop() error {
	p.beginStop()
	return p.cmd.Wait() // a second call returns an error at once
}

// threads returns the number of the server's threads.
func (p *process) threads(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// mount mounts the share with NFS 4.1 from an address.
func (r *rig) mount(from netip.Addr) client.Client {
	r.Helper()
	nc, err := r.dialReserved(from, "nfs tcp")
	r.check(err)
	cred := client.Cred{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	m, err := client.MountV4(r.ctx, client.OverTCP(nc, cred), 1, client.Options{Path: "/data", Cred: cred, MaxIO: workSize, Slots: 8})
	r.check(err)
	return m
}

// TestDescriptors (S7) has a client open as many files as it can. The server must keep descriptors for others' files, for
// new connections and for itself.
func TestDescriptors(t *testing.T) {
	var p *process
	r := newRigOf(t, "", func(r *rig) { p = startProcess(r, 1024, patience) })
	var opened atomic.Int64
	for range 2 { // mounts
		m := r.mount(greedyAddr)
		for i := 0; ; i++ {
			ctx, cancel := context.WithTimeout(r.ctx, 3*time.Second)
			_, err := m.Open(ctx, fmt.Sprintf("greedy-%d-%d", opened.Load(), i), true)
			cancel()
			if err != nil {
				t.Logf("after %d files: %v", i, err)
				break
			}
			opened.Add(1)
		}
	}
	if n := opened.Load(); n < 50 || n > 300 {
		t.Errorf("the greedy client has %d files open where the server has 1,024 descriptors", n)
	}
	for _, way := range ways {
		if took, err := r.newVictim(way).work(t.Context()); err != nil {
			t.Errorf("%s: %v", way, err)
		} else {
			t.Logf("%s: the victim's work took %v", way, took)
		}
	}
	r.endAttack()
	if err := p.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if s := r.log.String(); strings.Contains(s, "cannot accept") || strings.Contains(s, "too many open files") {
		t.Errorf("the server ran out of descriptors:\n%s", tail(s, 20))
	}
}

// TestStalledDisk (S1) stalls the disk of one share. Work on another share must go on, for clients that are connected and
// for new ones. The threads must stay bounded, and the server must stop in time.
func TestStalledDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		return // mounting needs root
	}
	below := mem.New(mem.Options{})
	disk := fusetest.Mount(t, below, lock.New())
	var p *process
	r := newRigOf(t, "shares: {data: {path: data, nfs: {squash: none}}, slow: {path: "+disk+", nfs: {squash: none}}}\n", func(r *rig) {
		p = startProcess(r, 4096, 100*time.Millisecond)
	})
	victims := map[string]*victim{}
	for _, way := range ways {
		victims[way] = r.newVictim(way)
	}

	const clients, depth = 16, 60
	var sent atomic.Int64
	stalled, release := make(chan struct{}), make(chan struct{})
	ready := make(chan error, clients)
	for i := range clients {
		target := r.target(ways[i%2*2]) // over TCP
		target.Share, target.BlockSize, target.Depth, target.Through = "slow", 4096, depth, true
		r.Go(func(ctx context.Context) {
			session, err := bench.Dial(ctx, target)
			if err != nil {
				ready <- err
				return
			}
			f, err := session.Open(ctx, fmt.Sprint("greedy-", i))
			ready <- err
			if err != nil {
				return
			}
			<-stalled
			for j := range depth {
				r.Go(func(ctx context.Context) {
					io, err := f.NewIO(ctx, 4096)
					if err != nil {
						return
					}
					sent.Add(1)
					_ = io.Write(ctx, uint64(j)*4096, 4096)
				})
			}
		})
	}
	for range clients {
		r.check(<-ready)
	}
	before := p.threads(t)
	below.SetHook(func(context.Context, mem.Op, vfs.Handle) error { <-release; return nil })
	close(stalled)
	for end := time.Now().Add(patience); sent.Load() < clients*depth; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("only %d of %d requests were sent", sent.Load(), clients*depth)
		}
	}
	for _, way := range ways {
		if took, err := victims[way].work(t.Context()); err != nil {
			t.Errorf("%s: %v", way, err)
		} else {
			t.Logf("%s: the victim's work took %v", way, took)
		}
	}
	if n := p.threads(t) - before; n > 512+100 {
		t.Errorf("%d more threads for %d requests that stall; a share may have 512", n, sent.Load())
	}
	p.beginStop()
	for end := time.Now().Add(patience); !strings.Contains(r.log.String(), "still running: slow ("); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("the server does not stop:\n%s", tail(r.log.String(), 10))
			break
		}
	}
	// The process cannot exit until the disk answers, because its threads are blocked in the kernel.
	below.SetHook(nil)
	close(release)
	if err := p.stop(); err == nil {
		t.Error("the server reports a graceful stop")
	}
	r.endAttack()
}
