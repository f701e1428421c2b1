package server

import (
	"context"

	"fileserver/config"
	"fileserver/nfs"
	"fileserver/nfs/mount"
	"fileserver/nfs/rpc"
	"fileserver/nfs/v3"
	"fileserver/nfs/v4"
	"fileserver/nfs/v4/state"
)

// programs creates the RPC programs for the configured versions of NFS.
func (s *Server) programs() ([]*rpc.Program, error) {
	cfg := &s.cfg.NFS
	locks, verifier := s.locks, nfs.NewWriteVerifier(&s.exports)
	s.exports.RefusedPort = s.newRefusedPorts().refused
	var list []*rpc.Program
	if cfg.Serves(config.Version3) {
		list = append(list, mount.New(&s.exports),
			v3.New(v3.Config{Exports: &s.exports, Locks: locks, Verifier: verifier}))
	}
	if cfg.Serves(config.Version41) || cfg.Serves(config.Version42) {
		v, err := v4.New(v4.Config{
			Exports: &s.exports, Locks: locks, Verifier: verifier,
			Store: s.state, Logger: s.log.Logger, Lease: cfg.Lease, Grace: cfg.Grace,
			Observer: nfs4Observer{s.metrics}, MinorVersions: minorVersions(cfg),
			State: state.Config{ReplyCache: int64(cfg.ReplyCache), Files: s.budgets.files},
		})
		if err != nil {
			return nil, err
		}
		s.goBackground(func(ctx context.Context) {
			v.Run(ctx)
			v.Close() // the services have ended before ctx
		})
		s.addNFS4Metrics(v)
		list = append(list, v.Program())
	}
	return list, nil
}

// minorVersions are the minor versions of NFSv4 that are configured.
func minorVersions(cfg *config.NFS) (list []uint32) {
	for minor, v := range []config.Version{1: config.Version41, 2: config.Version42} {
		if v != "" && cfg.Serves(v) {
			list = append(list, uint32(minor))
		}
	}
	return list
}
