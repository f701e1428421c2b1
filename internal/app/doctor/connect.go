package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"fileserver/rdma"
)

// Target is a server to try, and how.
type Target struct {
	Host   string   // name or address
	Protos []string // "nfs", "smb"
	// User and Password log on to SMB, to ask for the server's interfaces; without User that is left out.
	User, Domain, Password string
	Timeout                time.Duration // of each attempt; 0: 5 s

	// The ports; zero values are those that clients use.
	NFSPort, NFSRDMAPort, SMBPort uint16
	DirectPorts                   []uint16 // empty: 5445 and 445 on iWARP, 445 on others

	// IWARP is the provider in software. Verbs makes the provider of RDMA devices, or says why there is none; nil: there is none.
	IWARP rdma.Provider
	Verbs func() (rdma.Provider, error)
}

// Attempt is one try.
type Attempt struct {
	Service   string     `json:"service"`          // "nfs", "smb"
	Transport string     `json:"transport"`        // "tcp", "iwarp" (in software), "verbs"
	Device    string     `json:"device,omitempty"` // and its transport: "mlx5_0 (roce)"
	Address   string     `json:"address"`
	OK        bool       `json:"ok"`
	Severity  Severity   `json:"severity"`
	Code      string     `json:"code"` // "connected", or what went wrong; stable
	What      string     `json:"what"`
	Why       string     `json:"why,omitempty"`
	Do        []Step     `json:"do,omitempty"`
	Error     string     `json:"error,omitempty"` // as the program has it
	Millis    float64    `json:"milliseconds"`
	NFS       *NFSAnswer `json:"nfs,omitempty"`
	SMB       *SMBAnswer `json:"smb,omitempty"`
}

// NFSAnswer is what the server said of NFS.
type NFSAnswer struct {
	// Low and High are the versions of the program, if the server said them.
	Low  uint32 `json:"lowest_version,omitempty"`
	High uint32 `json:"highest_version,omitempty"`
	// Credits are those that the first reply grants, over RDMA. A server may grant more with use.
	Credits int `json:"credits,omitempty"`
}

// SMBAnswer is what the server said of SMB.
type SMBAnswer struct {
	Dialect         string            `json:"dialect"`
	SigningRequired bool              `json:"signing_required"`
	Encryption      string            `json:"encryption,omitempty"` // the cipher; empty: none in common
	MultiChannel    bool              `json:"multichannel"`
	MaxReadBytes    uint32            `json:"max_read_bytes"`
	MaxWriteBytes   uint32            `json:"max_write_bytes"`
	Encrypted       bool              `json:"session_encrypted,omitempty"`
	Interfaces      []SMBInterface    `json:"interfaces,omitempty"` // with a user
	Direct          *DirectNegotiated `json:"smb_direct,omitempty"`
}

// SMBInterface is an address of the server, as it told a session.
type SMBInterface struct {
	Address string `json:"address"`
	Speed   uint64 `json:"speed_bits_per_second"`
	RDMA    bool   `json:"rdma"`
	RSS     bool   `json:"rss"`
}

// DirectNegotiated is what SMB Direct negotiated.
type DirectNegotiated struct {
	MaxSend    int `json:"max_send_bytes"`
	MaxReceive int `json:"max_receive_bytes"`
	Credits    int `json:"credits"`
}

// Connection is the report of all attempts.
type Connection struct {
	Schema    int       `json:"schema"`
	Host      string    `json:"host"`
	Addresses []string  `json:"addresses"`
	Status    Severity  `json:"status"`
	Attempts  []Attempt `json:"attempts"`
}

// Connect tries every transport to a server, one after the other. Its error is that there is nothing to try.
func Connect(ctx context.Context, t Target) (*Connection, error) {
	t.defaults()
	r := &Connection{Schema: Schema, Host: t.Host, Status: OK, Addresses: []string{}, Attempts: []Attempt{}}
	addrs, err := resolve(ctx, t.Host)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		r.Addresses = append(r.Addresses, a.String())
	}
	p := newProber(&t)
	defer p.close()
	addr := p.reachable(ctx, addrs)
	for _, proto := range t.Protos {
		if proto == "nfs" {
			r.Attempts = append(r.Attempts, p.nfs(ctx, addr)...)
		} else {
			r.Attempts = append(r.Attempts, p.smb(ctx, addr)...)
		}
	}
	r.judge(len(t.Protos))
	return r, nil
}

func (t *Target) defaults() {
	if len(t.Protos) == 0 {
		t.Protos = []string{"nfs", "smb"}
	}
	if t.Timeout == 0 {
		t.Timeout = 5 * time.Second
	}
	for p, d := range map[*uint16]uint16{&t.NFSPort: 2049, &t.NFSRDMAPort: 20049, &t.SMBPort: 445} {
		if *p == 0 {
			*p = d
		}
	}
}

// resolve finds the addresses of a host.
func resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a.Unmap()}, nil
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("%w; give an address, or look at /etc/hosts and the name server", err)
	}
	for i := range list {
		list[i] = list[i].Unmap()
	}
	return list, nil
}

// attempt begins an attempt; the function it returns ends it.
func (p *prober) attempt(ctx context.Context, service, transport string, addr netip.AddrPort) (*Attempt, context.Context, func(error)) {
	a := &Attempt{Service: service, Transport: transport, Address: addr.String()}
	ctx, cancel := context.WithTimeoutCause(ctx, p.Timeout, errTimeout)
	start := time.Now()
	return a, ctx, func(err error) {
		cancel()
		a.Millis = float64(time.Since(start).Microseconds()) / 1000
		if err == nil {
			a.OK, a.Code = true, "connected"
			return
		}
		a.Error = err.Error()
		if !a.explainRPC(err) {
			explain(a, addr, err)
		}
	}
}

// errTimeout is the cause of the end of an attempt.
var errTimeout = errors.New("no answer in time")
