package main

import (
	"fmt"
	"log/slog"
	"os"

	"fileserver/internal/app/bench"
	"fileserver/nfs/rpc/rpcclient"
	"fileserver/rdma/iwarp"
	"fileserver/rdma/verbs"
)

// setProvider creates the RDMA provider that the transport needs. The caller calls end after the run.
func setProvider(cfg *bench.Config) (end func(), err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	switch cfg.Transport {
	case "iwarp":
		p, err := iwarp.New(iwarp.Config{Log: log, Dial: rpcclient.DialReserved})
		if err != nil {
			return nil, err
		}
		cfg.Provider = p
		return func() { _ = p.Close() }, nil
	case "verbs":
		p, err := verbs.New(verbs.Config{Log: log})
		if err != nil {
			return nil, fmt.Errorf("--transport verbs: %w", err)
		}
		cfg.Provider = p
		return func() { _ = p.Close() }, nil
	}
	return func() {}, nil
}
