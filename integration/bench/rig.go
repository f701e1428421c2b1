package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"fileserver/integration/cputime"
	"fileserver/integration/debian"
	"fileserver/internal/slab"
	"fileserver/nfs/rpc/rpcclient"
	"fileserver/rdma"
	"fileserver/rdma/iwarp"
)

const fileSize = 64 << 20

// rig is a server in its own process, with the resources of its clients.
type rig struct {
	work    string
	cmd     *exec.Cmd
	gone    chan error
	tcp     netip.AddrPort
	iwarp   netip.AddrPort
	smb     netip.AddrPort
	smbd    netip.AddrPort // SMB Direct
	samba   *samba         // nil: none
	metrics string

	provider *iwarp.Provider
	pool     *slab.Pool
	memOnce  sync.Once
	mem      *rdma.Memory
	memErr   error
}

func freePort() (uint16, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return netip.MustParseAddrPort(l.Addr().String()).Port(), nil
}

// newRig builds the server and starts it on a share with one file.
func newRig(ctx context.Context, dir string) (r *rig, err error) {
	r = &rig{gone: make(chan error, 1)}
	if r.work, err = os.MkdirTemp(dir, "fileserver-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(r.work))
		}
	}()
	bin := filepath.Join(r.work, "fileserver")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/fileserver")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	share := filepath.Join(r.work, "share")
	if err := os.Mkdir(share, 0o755); err != nil {
		return nil, err
	}
	data := make([]byte, fileSize)
	for i := range data {
		data[i] = byte(i ^ i>>8 ^ i>>16)
	}
	if err := os.WriteFile(filepath.Join(share, "file"), data, 0o644); err != nil {
		return nil, err
	}
	var ports [5]uint16
	for i := range ports {
		if ports[i], err = freePort(); err != nil {
			return nil, err
		}
	}
	lo := netip.MustParseAddr("127.0.0.1")
	r.smb, r.smbd = netip.AddrPortFrom(lo, ports[3]), netip.AddrPortFrom(lo, ports[4])
	r.tcp, r.iwarp = netip.AddrPortFrom(lo, ports[0]), netip.AddrPortFrom(lo, ports[1])
	r.metrics = fmt.Sprintf("http://127.0.0.1:%d/metrics", ports[2])
	state := filepath.Join(r.work, "state")
	user := exec.CommandContext(ctx, bin, "user", "add", smbUser, "--uid", strconv.Itoa(os.Getuid()), "--gid", strconv.Itoa(os.Getgid()), "--state-dir", state)
	user.Stdin = strings.NewReader(smbPassword + "\n")
	if out, err := user.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("user add: %w\n%s", err, out)
	}
	cfg := fmt.Sprintf(`listen: [127.0.0.1]
state_dir: %s
shares:
  data:
    path: %s
    nfs: {squash: none}
nfs: {port: %d, rdma_port: %d}
smb: {port: %d, rdma_port: %d}
metrics: {listen: "127.0.0.1:%d", pprof: true}
log: {level: warn}
`, state, share, ports[0], ports[1], ports[3], ports[4], ports[2])
	file := filepath.Join(r.work, "config.yaml")
	if err := os.WriteFile(file, []byte(cfg), 0o600); err != nil {
		return nil, err
	}
	r.cmd = exec.Command(bin, "serve", "--config", file)
	r.cmd.Stderr = os.Stderr
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { r.gone <- r.cmd.Wait() }()
	if err := r.up(ctx); err != nil {
		_ = r.cmd.Process.Kill()
		return nil, errors.Join(err, <-r.gone)
	}
	if r.provider, err = iwarp.New(iwarp.Config{NoPeerToPeer: true, Dial: rpcclient.DialReserved}); err != nil {
		return nil, err
	}
	r.pool = slab.New(slab.Config{})
	return r, nil
}

// up waits until the server accepts requests.
func (r *rig) up(ctx context.Context) error {
	for {
		if _, err := r.metric("process_resident_memory_bytes"); err == nil {
			return nil
		}
		select {
		case err := <-r.gone:
			r.gone <- err
			return fmt.Errorf("the server ended: %w", err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (r *rig) close() {
	if r.samba != nil {
		r.samba.close()
	}
	_ = r.cmd.Process.Signal(os.Interrupt)
	if err := <-r.gone; err != nil {
		fmt.Fprintln(os.Stderr, "bench: the server ended with", err)
	}
	_ = os.RemoveAll(r.work)
}

// memory returns the client's registered memory.
func (r *rig) memory(d rdma.Device) (*rdma.Memory, error) {
	r.memOnce.Do(func() {
		pd, err := d.AllocPD()
		if err == nil {
			r.mem, err = rdma.NewMemory(pd, r.pool, rdma.AccessLocalWrite|rdma.AccessRemoteRead|rdma.AccessRemoteWrite)
		}
		r.memErr = err
	})
	return r.mem, r.memErr
}

// metric returns the sum of the samples of one of the server's metrics.
func (r *rig) metric(name string) (float64, error) {
	resp, err := http.Get(r.metrics)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	sum, found := 0.0, false
	for s := bufio.NewScanner(resp.Body); s.Scan(); {
		line := s.Text()
		if rest, ok := strings.CutPrefix(line, name); ok && rest != "" && (rest[0] == ' ' || rest[0] == '{') {
			v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			if err != nil {
				return 0, err
			}
			sum, found = sum+v, true
		}
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	if !found {
		return 0, fmt.Errorf("the server has no metric %s", name)
	}
	return sum, nil
}

// profile writes a CPU profile of the server from now until stop is called, or for a minute.
func (r *rig) profile(ctx context.Context, file string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		url := strings.TrimSuffix(r.metrics, "/metrics") + "/debug/pprof/profile?seconds=20"
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err == nil {
			var resp *http.Response
			if resp, err = http.DefaultClient.Do(req); err == nil {
				defer resp.Body.Close()
				var b []byte
				if b, err = io.ReadAll(resp.Body); err == nil {
					err = os.WriteFile(file, b, 0o644)
				}
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench: no profile:", err)
		}
	}()
	return func() {
		select {
		case <-done:
		case <-time.After(25 * time.Second):
		}
		cancel()
		<-done
	}
}

// cpu returns the processor time that the server has used.
func (r *rig) cpu() (time.Duration, error) { return cputime.Process(r.cmd.Process.Pid) }

// withSamba starts Samba on the same share.
func (r *rig) withSamba(ctx context.Context) error {
	tree, err := debian.Tree(ctx, os.Stderr)
	if err != nil {
		return err
	}
	r.samba, err = startSamba(tree, r.work, filepath.Join(r.work, "share"))
	return err
}
