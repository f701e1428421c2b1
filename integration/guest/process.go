package guest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"fileserver/internal/logbuf"
)

// ErrTimeout is wrapped by the error of a wait whose context ended.
var ErrTimeout = errors.New("guest: out of time")

// Process is a program outside the guests, for example a server, that [Host.Start] has started. It collects the program's output. The
// program may be killed and started again.
type Process struct {
	host *Host
	argv []string
	env  []string
	out  logbuf.Buffer

	mu   sync.Mutex // guards cmd and done
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of cmd.Wait; written before done is closed
}

// Start runs the program again after it has ended, with the same arguments.
func (p *Process) Start() error {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Env = p.env
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	if err := p.host.start(cmd); err != nil {
		return err
	}
	done := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.done = cmd, done
	p.mu.Unlock()
	go func() {
		p.err = cmd.Wait()
		close(done)
	}()
	return nil
}

// Signal sends sig to the program's process group.
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return syscall.Kill(-p.cmd.Process.Pid, sig)
}

// Kill ends the program with SIGKILL and waits until it is gone.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL)
	<-p.Done()
}

// Stop ends the program with sig, and with SIGKILL if it has not ended within grace. It returns the result of [Process.Wait].
func (p *Process) Stop(sig syscall.Signal, grace time.Duration) error {
	_ = p.Signal(sig)
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := p.Wait(ctx)
	if errors.Is(err, ErrTimeout) {
		p.Kill()
	}
	return err
}

// Done returns a channel that is closed when the running program has ended.
func (p *Process) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// Wait waits for the program's end. It returns nil for exit status 0, an [*exec.ExitError] for another, and ErrTimeout if ctx ends first.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.Done():
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("%w: %s still runs", ErrTimeout, p.argv[0])
	}
}

// Output returns the program's output since its first start.
func (p *Process) Output() string { return p.out.String() }
