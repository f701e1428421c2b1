package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"fileserver/config"
	"fileserver/internal/app/server"
)

// stopTime is how long running calls may take to finish after the signal to stop.
const stopTime = 60 * time.Second

func serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "serve until told to stop",
		Long: `Serve publishes the shares until SIGINT or SIGTERM. It then finishes running calls
		and exits; a second signal ends it at once. SIGHUP reads the configuration again:
		changes of shares and logging take effect. A configuration with errors is refused, and
		the old one stays in force.`,
		Example: `  fileserver serve --share data=./data
  fileserver serve --share data=/srv/data --listen 0.0.0.0 --allow 192.168.1.0/24
  fileserver serve --config /etc/fileserver.yaml`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return serve(c) },
	}
	config.AddFlags(c.Flags())
	return c
}

func serve(c *cobra.Command) error {
	cfg, err := config.Load(c.Flags())
	if err != nil {
		return err
	}
	// Signals are caught before anything is created that has to be undone.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	spareProcessor()
	log := server.NewLog(c.ErrOrStderr(), cfg.Log)
	s, err := server.Start(cfg, log, versionString())
	if err != nil {
		return err
	}
	for sig := range signals {
		if sig != syscall.SIGHUP {
			log.Info("stopping: finishing what is running; a second signal ends at once", "signal", sig.String())
			break
		}
		if next, err := config.Load(c.Flags()); err != nil {
			log.Error("the new configuration is refused, the old one stays", "problems", problems(err))
		} else {
			s.Reload(next)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Stop(ctx) }()
	for {
		select {
		case err := <-done:
			log.Info("stopped")
			return err
		case sig := <-signals:
			if sig != syscall.SIGHUP {
				return fmt.Errorf("ended by a second signal (%v) before all was finished", sig)
			}
		}
	}
}

// problems returns the error as a list, for the log.
func problems(err error) []string {
	var e *config.Error
	if !errors.As(err, &e) {
		return []string{err.Error()}
	}
	out := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		out[i] = p.String()
	}
	return out
}
