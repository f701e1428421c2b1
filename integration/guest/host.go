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

// Host is the outside of the guests: the network that connects them and the programs on it, such as servers. Its methods may be
// called concurrently.
type Host struct {
	kind Kind
	ns   *netns // nil for QEMU

	mu     sync.Mutex // guards the fields below
	procs  []*Process
	guests int
}

// NewHost creates the outside for guests of a kind. UML needs root.
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

// Addr returns the address at which guests reach the servers that listen on [Host.Listen].
func (h *Host) Addr() string {
	if h.kind == QEMU {
		return qemuOutside
	}
	return umlOutside
}

// Inside returns the address of the first guest. The guest itself reaches it there, and with User Mode Linux other guests do, too.
func (h *Host) Inside() string {
	if h.kind == QEMU {
		return qemuInside
	}
	return umlFirst
}

// Listen returns the address on which a server for the guests must listen.
func (h *Host) Listen() string {
	if h.kind == QEMU {
		return loopback
	}
	return umlOutside
}

// Clients returns the address range of the guests as a server sees them.
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

// start runs cmd in the host's network, in its own process group. The process dies with the host.
func (h *Host) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 2 * time.Second // a grandchild may keep the output open
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

// WaitTCP waits until a program accepts TCP connections on a port of [Host.Listen]. It fails if p, which may be nil, ends first.
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

// Close kills the programs that still run outside the guests and removes the network.
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
