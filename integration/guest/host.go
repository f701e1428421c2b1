package guest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"fileserver/internal/logbuf"
)

// Addresses of User Mode Linux guests and of QEMU's user network.
const (
	umlOutside    = "198.18.1.1"
	umlFirst      = "198.18.1.2"
	umlNetwork    = "198.18.1.0/24"
	qemuOutside   = "10.0.2.2"
	qemuInside    = "10.0.2.15"
	loopback      = "127.0.0.1"
	loopbackRange = "127.0.0.0/8"
)

// Host is the world outside the guests: where servers run, and the network that joins them. Its methods may be called concurrently.
type Host struct {
	kind Kind
	ns   *netns // nil for QEMU

	mu     sync.Mutex // guards the rest
	procs  []*Process
	guests int
}

// NewHost prepares the outside for guests of a kind; UML needs root.
func NewHost(kind Kind) (*Host, error) {
	for _, program := range kind.programs() {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("guest: %w: as root type: apt-get install -y $(cat integration/guest/packages.txt)", err)
		}
	}
	h := &Host{kind: kind}
	if kind == QEMU {
		return h, nil
	}
	ns, err := newNetns()
	if err != nil {
		return nil, err
	}
	h.ns = ns
	err = h.ip("link set lo up",
		"link add host type bridge",
		"addr add "+umlOutside+"/24 dev host",
		"link set host up")
	if err != nil {
		ns.close()
		return nil, err
	}
	return h, nil
}

// Kind returns how this host's guests boot.
func (h *Host) Kind() Kind { return h.kind }

// Addr is the address by which guests reach what listens on [Host.Listen].
func (h *Host) Addr() string {
	if h.kind == QEMU {
		return qemuOutside
	}
	return umlOutside
}

// Inside is the address of the first guest, by which it reaches itself, and others under User Mode Linux reach it.
func (h *Host) Inside() string {
	if h.kind == QEMU {
		return qemuInside
	}
	return umlFirst
}

// Listen is the address on which a server for the guests has to listen.
func (h *Host) Listen() string {
	if h.kind == QEMU {
		return loopback
	}
	return umlOutside
}

// Clients is the address range from which a server sees the guests come.
func (h *Host) Clients() string {
	if h.kind == QEMU {
		return loopbackRange
	}
	return umlNetwork
}

// Start runs a program outside the guests, in their network. It runs until it ends by itself, is killed, or the host is closed.
func (h *Host) Start(env []string, argv ...string) (*Process, error) {
	p := &Process{host: h, argv: argv, env: env}
	if err := p.Start(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.procs = append(h.procs, p)
	h.mu.Unlock()
	return p, nil
}

// start runs cmd in the host's network, in a process group of its own that dies with the host.
func (h *Host) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 2 * time.Second // a grandchild may hold the output open
	var err error
	h.do(func() { err = cmd.Start() })
	if err != nil {
		return fmt.Errorf("guest: start %s: %w", cmd.Path, err)
	}
	return nil
}

// do runs f in the host's network namespace.
func (h *Host) do(f func()) {
	if h.ns == nil {
		f()
		return
	}
	h.ns.do(f)
}

// ip runs commands of ip(8) in the host's network.
func (h *Host) ip(commands ...string) error {
	for _, c := range commands {
		var out logbuf.Buffer
		cmd := exec.Command("ip", strings.Fields(c)...)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := h.start(cmd); err != nil {
			return err
		}
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("guest: ip %s: %w: %s", c, err, strings.TrimSpace(out.String()))
		}
	}
	return nil
}

// Dial connects to a TCP port of [Host.Listen].
func (h *Host) Dial(port string) (conn net.Conn, err error) {
	h.do(func() { conn, err = net.DialTimeout("tcp", net.JoinHostPort(h.Listen(), port), time.Second) })
	return conn, err
}

// WaitTCP waits until something accepts TCP connections on a port of [Host.Listen], or p (which may be nil) has ended.
func (h *Host) WaitTCP(ctx context.Context, p *Process, port string) error {
	var ended <-chan struct{}
	if p != nil {
		ended = p.Done()
	}
	for {
		conn, err := h.Dial(port)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ended:
			return fmt.Errorf("guest: %s ended before it listened on port %s", p.argv[0], port)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%w: nothing listens on port %s", ErrTimeout, port), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Close kills what still runs outside the guests and removes the network.
func (h *Host) Close() {
	h.mu.Lock()
	procs := h.procs
	h.procs = nil
	h.mu.Unlock()
	for _, p := range procs {
		p.Kill()
	}
	if h.ns != nil {
		h.ns.close()
	}
}
