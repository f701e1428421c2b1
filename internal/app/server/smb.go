package server

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"fileserver/config"
	"fileserver/internal/users"
	"fileserver/nfs/rpc"
	"fileserver/rdma"
	"fileserver/smb"
	"fileserver/smb/tcp"
	"fileserver/smb/wire"
	"fileserver/smbdirect"
	"fileserver/vfs"
)

// startSMB serves SMB on every transport, if the configuration wants it.
func (s *Server) startSMB() error {
	cfg := s.cfg
	store := users.Open(cfg.StateDir)
	list, err := store.List()
	if err != nil {
		s.log.Error("the users cannot be read: nobody can log on to SMB", "err", err)
	}
	switch {
	case cfg.SMB.Enabled == config.SwitchOff:
		return nil
	case cfg.SMB.Enabled == config.SwitchAuto && len(list) == 0:
		s.log.Info("smb is not served: there are no users; to serve it run fileserver user add NAME and start again")
		return nil
	}
	observer := newSMBObserver(s)
	conf, err := s.smbConfig(store)
	if err != nil {
		return err
	}
	conf.Observer = observer
	conf.Interfaces = func() []smb.Interface { return s.interfaces() }
	if s.smb, err = smb.NewServer(conf); err != nil {
		return err
	}
	s.services = append(s.services, smbService{s.smb})
	s.goBackground(func(ctx context.Context) { watchUsers(ctx, store, s.smb) })
	s.smbShares = map[string]*smb.Share{}
	s.smb.SetShares(s.inForce().smb(s.smbShares))
	if observer.direct, err = s.startDirect(); err != nil {
		return err
	}
	observer.tcp, err = tcp.New(tcp.Config{
		Handler: s.smb.Handler, Buffers: s.pool, Logger: s.log.Logger, NextID: rpc.NextConnID,
		Limits: s.connLimits("smb", "tcp", s.smb.Admits),
	})
	if err != nil {
		return err
	}
	s.connections.recheck = append(s.connections.recheck, observer.direct.Recheck, observer.tcp.Recheck)
	return s.listen("smb", "tcp", &tcpService{
		tcpListeners{log: s.log, service: "smb", addrs: on(cfg.Listen, cfg.SMB.Port...)}, tcp.ErrServerClosed, observer.tcp,
	})
}

// watchUsers ends the sessions of users whom `fileserver user` has removed or changed, within userInterval.
func watchUsers(ctx context.Context, store *users.Store, srv *smb.Server) {
	tick := time.NewTicker(userInterval)
	defer tick.Stop()
	for seen := store.Version(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if v := store.Version(); v != seen {
			seen = v
			srv.CheckUsers()
		}
	}
}

// userInterval is the time between two checks of the file of users. A check is one stat(2).
const userInterval = 2 * time.Second

// startDirect creates the server of SMB Direct and registers it for RDMA.
func (s *Server) startDirect() (*smbdirect.Server, error) {
	cfg := s.cfg
	d, err := smbdirect.NewServer(smbdirect.Config{
		Memory: s.rdma.domains.attach, Handler: s.smb.Handler, Logger: s.log.Logger, NextID: rpc.NextConnID,
		Limits: s.connLimits("smb", "rdma", s.smb.Admits), EarlyMessage: tcp.EarlyMessage,
		// With encryption, Linux sends the largest WRITEs in messages and ignores this limit.
		Params: smbdirect.Params{MaxFragmented: tcp.DefaultMaxMessage},
	})
	if err != nil {
		return nil, err
	}
	s.rdma.add(&rdmaService{
		name: "smb", software: cfg.IWARPPorts(), ports: func(t rdma.Transport) []uint16 { return cfg.SMBDirectPorts(t == rdma.TransportIWARP) },
		serve: d.Serve, shutdown: d.Shutdown,
	})
	return d, nil
}

// smbConfig returns the configuration of the SMB server.
func (s *Server) smbConfig(store *users.Store) (smb.Config, error) {
	c := &s.cfg.SMB
	name := c.Name
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return smb.Config{}, fmt.Errorf("smb: %w; set smb.name", err)
		}
		name, _, _ = strings.Cut(host, ".")
		name = name[:min(len(name), 15)]
	}
	conf := smb.Config{
		Buffers: s.pool, Locks: s.locks, Users: store, Logger: s.log.Logger, GUID: s.state.ID(), Name: name, Workgroup: c.Workgroup,
		MinDialect: smbDialects[c.MinDialect], MaxDialect: smbDialects[c.MaxDialect], Signing: smb.Desired,
		MaxHeld: s.connMemory(smb.DefaultMaxHeld), Files: s.budgets.files,
	}
	if c.Signing == config.SigningRequired {
		conf.Signing = smb.Required
		if s.rdma.software != nil || s.rdma.devices != nil {
			s.log.Warn("smb.signing is required: Linux clients do not use RDMA for the data of signed sessions")
		}
	}
	switch c.Encryption {
	case config.EncryptionDesired:
		conf.Encryption = smb.Desired
	case config.EncryptionRequired:
		conf.Encryption = smb.Required
	}
	if c.Guest != "" {
		u, ok, err := store.Lookup(c.Guest)
		if err != nil || !ok {
			return smb.Config{}, fmt.Errorf("smb.guest: there is no user %q; run fileserver user add %s", c.Guest, c.Guest)
		}
		conf.Guest = &vfs.Cred{UID: u.UID, GID: u.GID, Groups: u.Groups}
		conf.Anonymous = conf.Guest
	}
	return conf, nil
}

var smbDialects = map[config.Dialect]wire.Dialect{
	config.Dialect202: wire.Dialect202, config.Dialect210: wire.Dialect210, config.Dialect300: wire.Dialect300,
	config.Dialect302: wire.Dialect302, config.Dialect311: wire.Dialect311,
}

// smb returns the shares as SMB publishes them. A share that has not changed keeps its value from have, so that clients stay
// connected to it. On return, have holds the new shares.
func (set shareSet) smb(have map[string]*smb.Share) []*smb.Share {
	var list []*smb.Share
	next := map[string]*smb.Share{}
	for name, s := range set {
		if !s.SMB.Enabled {
			continue
		}
		n := &smb.Share{
			Name: name, Comment: s.SMB.Comment, FS: s.fs, ReadOnly: s.ReadOnly, Encrypt: s.SMB.Encrypt, Allow: s.Allow,
			CaseSensitive: s.SMB.CaseSensitive, HideDotFiles: s.SMB.HideDotFiles, NoOplocks: !s.SMB.Oplocks,
			FileMode: uint32(s.SMB.FileMode), DirMode: uint32(s.SMB.DirectoryMode),
		}
		if old := have[name]; old != nil && old.Same(n) {
			n = old
		}
		next[name] = n
		list = append(list, n)
	}
	clear(have)
	for name, s := range next {
		have[name] = s
	}
	return list
}

// smbService closes the connections of SMB at shutdown. The listeners are services of their own.
type smbService struct{ *smb.Server }

func (s smbService) listen(context.Context) (addrs []string, failed []error) { return nil, nil }
func (s smbService) shutdown(ctx context.Context) error                      { return s.Shutdown(ctx) }
