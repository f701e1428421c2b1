package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"fileserver/integration/cputime"
)

// Config says what a guest is and what it runs.
type Config struct {
	CPUs   int               // 1 if zero; older User Mode Linux supports only one
	MemMiB int               // 2048 if zero; the machine provides it only as the guest uses it
	Script string            // bash, run as root in /tmp
	Args   []string          // the script's arguments
	Env    []string          // NAME=value, for the script
	Files  map[string]string // name and content of files in $GUEST
	Out    string            // a directory that is /out in the guest, or empty
	Stream io.Writer         // receives the script's output line by line at once; may be nil
	Pcap   string            // a file for a capture of the guest's network traffic, or empty

	dev  string // the guest's network device
	addr string // its address with prefix length
}

// Result is the outcome of a guest.
type Result struct {
	Status int           // the script's exit status
	Output string        // the script's output, with standard error
	Boot   string        // the console's output before the script
	Kernel KernelLog     // the kernel's messages, except those of a panic, which are in Output
	Panic  string        // the lines of the kernel's BUG, if there was one, and panic; empty without a panic
	Took   time.Duration // from boot to power-off
}

// Guest is a running guest. [Guest.Wait] or [Guest.End] must be called once.
type Guest struct {
	cmd     *exec.Cmd
	console *console
	control control
	work    string // a directory, removed at the end
	capture *Process
	pcap    string // capture's file
	started time.Time
	network error // of enlargeReceiveBuffers; read after ended is closed
	ended   chan struct{}
}

// Boot starts a guest and returns at once.
func (h *Host) Boot(cfg Config) (*Guest, error) {
	kernel, err := FindKernel(h.kind)
	if err != nil {
		return nil, err
	}
	if cfg.CPUs == 0 {
		cfg.CPUs = 1
	}
	if cfg.MemMiB == 0 {
		cfg.MemMiB = 2048
	}
	if cfg.Out != "" {
		if cfg.Out, err = filepath.Abs(cfg.Out); err != nil {
			return nil, fmt.Errorf("guest: %w", err)
		}
	}
	work, err := os.MkdirTemp("", "guest-")
	if err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	g := &Guest{console: newConsole(cfg.Stream), work: work, started: time.Now(), ended: make(chan struct{})}
	if err := g.boot(h, kernel, &cfg); err != nil {
		_ = g.stopCapture()
		os.RemoveAll(work)
		return nil, err
	}
	return g, nil
}

func (g *Guest) boot(h *Host, kernel string, cfg *Config) (err error) {
	prepare := h.qemu
	if h.kind == UML {
		prepare = h.uml
	}
	if g.cmd, err = prepare(g, kernel, cfg); err != nil {
		return err
	}
	g.cmd.Stdout, g.cmd.Stderr = g.console, g.console
	if err := h.start(g.cmd); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = g.cmd.Wait() // the script's status is in the control directory
		g.console.end()
		close(exited)
	}()
	go func() {
		if g.console.await(func() bool { return g.console.ready }) && h.kind == UML {
			g.network = enlargeReceiveBuffers(g.cmd.Process.Pid)
		}
		if g.network != nil && before(exited, 5*time.Second) {
			g.network = nil // the guest has ended, which explains the error
		}
		<-exited
		close(g.ended)
	}()
	go func() {
		if g.console.await(func() bool { return g.console.panic != "" }) && !before(exited, time.Second) {
			_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) // the panic is reported, and User Mode Linux would never exit
		}
	}()
	return nil
}

// before reports whether ch is closed within d.
func before(ch <-chan struct{}, d time.Duration) bool {
	select {
	case <-ch:
		return true
	case <-time.After(d):
		return false
	}
}

// Within returns a context that ends with ctx or with the guest.
func (g *Guest) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-g.ended:
			cancel(errors.New("guest: the guest has ended"))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Mark waits until the script calls `mark name` and returns the text that follows. Each call consumes one mark.
func (g *Guest) Mark(ctx context.Context, name string) (string, error) {
	return g.console.wait(ctx, name)
}

// Signal makes the script's `await name` return.
func (g *Guest) Signal(name string) error { return g.control.signal(name) }

// CPU returns the machine's processor time that the guest has used so far, for its kernel and its processes.
func (g *Guest) CPU() (time.Duration, error) { return cputime.Group(g.cmd.Process.Pid) }

// Nice sets the priority of the guest's processes on the machine (setpriority(2)). Processes that they start later inherit it. A value
// below zero runs before others.
func (g *Guest) Nice(n int) error {
	if err := syscall.Setpriority(syscall.PRIO_PGRP, g.cmd.Process.Pid, n); err != nil {
		return fmt.Errorf("guest: priority %d: %w", n, err)
	}
	return nil
}

// End kills the guest. It is called instead of Wait.
func (g *Guest) End() error {
	g.kill()
	return g.stopCapture()
}

// Wait waits until the guest has powered off. If ctx ends first, Wait kills the guest; the error then wraps ErrTimeout and says what
// the guest's processes were waiting for. It is also an error if the guest ends without its script's status, but a status other than
// 0 is none. The result holds what is known, also with an error.
func (g *Guest) Wait(ctx context.Context) (Result, error) {
	var err error
	select {
	case <-g.ended:
	case <-ctx.Done():
		err = fmt.Errorf("%w: the guest still runs after %v\n%s", ErrTimeout, time.Since(g.started).Round(time.Second), g.dump()+outOfMappings(g.cmd.Process.Pid))
		_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
		<-g.ended
	}
	status, ok := g.control.status()
	if !ok {
		err = errors.Join(err, errors.New("guest: the guest ended without its script's status"))
	}
	g.console.mu.Lock()
	last := g.console.panic
	g.console.mu.Unlock()
	if last != "" {
		err = errors.Join(err, errors.New("guest: "+last))
	}
	err = errors.Join(err, g.network, g.stopCapture())
	r := Result{Panic: last, Status: status, Kernel: parseKernelLog(g.control.text("kernel")), Took: time.Since(g.started)}
	r.Boot, r.Output = g.console.output()
	if status == 0 && err == nil {
		r.Boot = strings.TrimSpace(r.Boot)
	}
	return r, errors.Join(err, os.RemoveAll(g.work))
}

// kill ends the guest at once if it still runs, and removes its directory.
func (g *Guest) kill() {
	select {
	case <-g.ended:
	default:
		_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
		<-g.ended
	}
	os.RemoveAll(g.work)
}

// dump returns what the processes of a guest that hangs are doing.
func (g *Guest) dump() string {
	if err := os.WriteFile(g.control.path("dump"), nil, 0o644); err != nil {
		return ""
	}
	for range 50 {
		if text := g.control.text("dumped"); text != "" {
			return text
		}
		time.Sleep(100 * time.Millisecond)
	}
	return "(the guest does not answer)"
}
