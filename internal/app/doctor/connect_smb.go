package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"

	"fileserver/rdma"
	"fileserver/smb/client"
	"fileserver/smb/crypt"
	"fileserver/smb/wire"
	"fileserver/smbdirect"
)

// smb tries SMB by TCP and RDMA.
func (p *prober) smb(ctx context.Context, addr netip.Addr) []Attempt {
	list := []Attempt{p.smbTCP(ctx, netip.AddrPortFrom(addr, p.SMBPort))}
	ways, missing := p.providers(ctx, "smb", netip.AddrPortFrom(addr, p.directPorts(rdma.TransportIWARP)[0]))
	for _, w := range ways {
		var tried []Attempt
		for _, port := range p.directPorts(w.wire) {
			a := p.smbDirect(ctx, w, netip.AddrPortFrom(addr, port))
			tried = append(tried, a)
			if a.OK {
				break
			}
		}
		// Where the first port does it, nobody asks for the second; where none does, each has its reason. But
		// on iWARP port 445 is SMB over TCP, usually, which says nothing.
		if w.transport == "iwarp" && !tried[len(tried)-1].OK && len(tried) > 1 && tried[1].Address == list[0].Address {
			tried = tried[:1]
		}
		list = append(list, tried...)
	}
	return append(list, missing...)
}

// smbTCP negotiates over TCP, and if there is a user asks for the interfaces.
func (p *prober) smbTCP(ctx context.Context, addr netip.AddrPort) Attempt {
	a, ctx, done := p.attempt(ctx, "smb", "tcp", addr)
	done(func() error {
		nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr.String())
		if err != nil {
			return err
		}
		defer nc.Close()
		stop := context.AfterFunc(ctx, func() { nc.Close() })
		defer stop()
		return p.negotiate(ctx, a, nc)
	}())
	return *a
}

// smbDirect does the same over SMB Direct.
func (p *prober) smbDirect(ctx context.Context, w via, addr netip.AddrPort) Attempt {
	a, ctx, done := p.attempt(ctx, "smb", w.transport, addr)
	a.Device = w.device
	done(func() error {
		nc, err := smbdirect.DialNet(ctx, w.provider, addr, p.memory, smbdirect.Params{})
		if err != nil {
			return err
		}
		defer nc.Close()
		// Its Close waits, and may be called once: a deadline ends a Read.
		if d, ok := ctx.Deadline(); ok {
			_ = nc.SetDeadline(d)
		}
		err = p.negotiate(ctx, a, nc)
		if a.SMB != nil {
			s := nc.SMBDirect().Stats()
			a.SMB.Direct = &DirectNegotiated{MaxSend: s.MaxSend, MaxReceive: s.MaxReceive, Credits: s.SendCredits}
		}
		return err
	}())
	return *a
}

// maxMessage is the longest message taken, bytes.
const maxMessage = 1 << 20

// negotiate asks what the server can do, and logs on if there is a user.
func (p *prober) negotiate(ctx context.Context, a *Attempt, nc io.ReadWriter) error {
	m := client.NewMachine()
	m.Ciphers = []crypt.Cipher{crypt.GCM128, crypt.GCM256, crypt.CCM128, crypt.CCM256}
	m.SignAlgs = []crypt.Algorithm{crypt.AESGMAC, crypt.AESCMAC, crypt.HMACSHA256}
	m.Caps = wire.CapDFS | wire.CapLeasing | wire.CapLargeMTU | wire.CapMultiChannel | wire.CapPersistentHandles | wire.CapDirectoryLeasing | wire.CapEncryption
	stream := client.OverStream(nc, maxMessage)
	x := func(msg []byte) ([]byte, error) {
		b, err := stream(msg)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return b, err
	}
	err := m.Connect(x, wire.Dialect202, wire.Dialect210, wire.Dialect300, wire.Dialect302, wire.Dialect311)
	if err != nil {
		return &silentError{"SMB", err}
	}
	n := &m.Negotiate
	a.SMB = &SMBAnswer{
		Dialect: n.Dialect.String(), SigningRequired: n.SecurityMode&wire.NegotiateSigningRequired != 0, MultiChannel: n.Capabilities&wire.CapMultiChannel != 0,
		MaxReadBytes: n.MaxReadSize, MaxWriteBytes: n.MaxWriteSize,
	}
	if m.Cipher != crypt.NoCipher {
		a.SMB.Encryption = cipherName(m.Cipher)
	}
	a.describeSMB()
	if p.User == "" {
		return nil
	}
	return p.interfaces(a, &m, x)
}

func cipherName(c crypt.Cipher) string {
	switch c {
	case crypt.CCM128:
		return "AES-128-CCM"
	case crypt.GCM128:
		return "AES-128-GCM"
	case crypt.CCM256:
		return "AES-256-CCM"
	case crypt.GCM256:
		return "AES-256-GCM"
	}
	return fmt.Sprintf("%#04x", uint16(c))
}

// errLogon is a user whom the server does not let in.
var errLogon = errors.New("the server does not let this user in")

// interfaces logs on and asks which addresses the server has (MS-SMB2 2.2.32.5).
func (p *prober) interfaces(a *Attempt, m *client.Machine, x client.Exchange) error {
	status, flags, err := m.Login(x, client.Identity{User: p.User, Domain: p.Domain, Password: p.Password}, client.Setup{Mode: wire.NegotiateSigningEnabled})
	switch {
	case err != nil:
		return &silentError{"SMB", err}
	case status != wire.StatusSuccess:
		return fmt.Errorf("%w: %v", errLogon, status)
	case flags&(wire.SessionFlagIsGuest|wire.SessionFlagIsNull) != 0:
		a.describeGuest()
	}
	m.Sign = m.Signer != nil
	a.SMB.Encrypted = m.Encrypt
	do := func(cmd wire.Command, body func([]byte, int) []byte) (client.Response, error) {
		return m.Do(x, client.Request{Command: cmd, Body: body, Ask: 4})
	}
	tree, err := do(wire.CmdTreeConnect, (&wire.TreeConnectRequest{Path: wire.AppendUTF16(nil, `\\`+p.Host+`\IPC$`)}).Append)
	if err != nil {
		return &silentError{"SMB", err}
	}
	m.TreeID = tree.TreeID
	q := wire.IoctlRequest{Code: wire.FsctlQueryNetworkInterfaceInfo, FileID: wire.AnyFile, Flags: wire.IoctlIsFsctl, MaxOutputResponse: 64 << 10}
	r, err := do(wire.CmdIoctl, q.Append)
	var refused *client.StatusError
	if errors.As(err, &refused) {
		a.describeNoInterfaces(refused.Status)
		return nil
	}
	if err != nil {
		return &silentError{"SMB", err}
	}
	return a.takeInterfaces(r.Msg)
}

// takeInterfaces parses the list of the server's interfaces.
func (a *Attempt) takeInterfaces(msg []byte) error {
	resp, err := wire.ParseIoctlResponse(msg)
	if err != nil {
		return &silentError{"SMB", err}
	}
	list, err := wire.ParseNetworkInterfaces(resp.Output)
	if err != nil {
		return &silentError{"SMB", err}
	}
	for _, n := range list {
		a.SMB.Interfaces = append(a.SMB.Interfaces, SMBInterface{
			Address: n.Addr.String(), Speed: n.LinkSpeed,
			RDMA: n.Capability&wire.InterfaceRDMACapable != 0, RSS: n.Capability&wire.InterfaceRSSCapable != 0,
		})
	}
	a.describeInterfaces()
	return nil
}
