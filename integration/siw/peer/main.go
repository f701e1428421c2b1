// Command peer is the other side of rping and perftest, on the pure-Go iWARP
// provider or on the machine's RDMA devices:
//
//	peer rping -listen :7174          and  rping -c -a HOST -C 100 -V
//	peer rping -connect HOST:7174     and  rping -s
//	peer perftest -test send_lat      and  ib_send_lat -R HOST
//
// It prints a line with the address on which it listens, and a line with the result for
// each peer. It ends after the first peer unless -go-on is given.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"fileserver/integration/interop"
	"fileserver/internal/slab"
	"fileserver/rdma"
	"fileserver/rdma/iwarp"
	"fileserver/rdma/verbs"
)

// options are the options of the command line.
type options struct {
	provider        string
	listen, connect string
	crc             bool
	fpdu            int
	goOn            bool
	count, size     int
	test            string
	verbose         bool
}

var tests = map[string]interop.Test{"rdma": interop.TestRDMA, "send_lat": interop.TestSendLat, "send_bw": interop.TestSendBW}

func main() {
	var o options
	f := pflag.NewFlagSet("peer rping|perftest", pflag.ExitOnError)
	f.StringVar(&o.provider, "provider", "iwarp", "iwarp, or verbs")
	f.StringVar(&o.listen, "listen", "", "`address` to listen on")
	f.StringVar(&o.connect, "connect", "", "`address` to connect to")
	f.BoolVar(&o.crc, "crc", false, "iwarp: require CRC")
	f.IntVar(&o.fpdu, "fpdu", 0, "iwarp: size of the largest FPDU in `bytes`; 0: the peer's choice")
	f.BoolVar(&o.goOn, "go-on", false, "serve more than one peer")
	f.IntVar(&o.count, "count", 100, "rping -connect: rounds")
	f.IntVar(&o.size, "size", 64, "rping -connect: bytes of a round; perftest: least size of the largest message in bytes")
	f.StringVar(&o.test, "test", "rdma", "perftest: the client's test: rdma (ib_read_*, ib_write_bw), send_lat or send_bw")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log everything")
	_ = f.Parse(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, f.Arg(0), o); err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "peer: %v\n", err)
		os.Exit(1)
	}
}

func open(o options) (rdma.Provider, func() error, error) {
	level := slog.LevelWarn
	if o.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	switch o.provider {
	case "iwarp":
		cfg := iwarp.Config{Log: log, MaxFPDU: o.fpdu}
		if o.crc {
			cfg.CRC = iwarp.CRCAlways
		}
		p, err := iwarp.New(cfg)
		if err != nil {
			return nil, nil, err
		}
		return p, p.Close, nil
	case "verbs":
		p, err := verbs.New(verbs.Config{Log: log})
		if err != nil {
			return nil, nil, err
		}
		return p, p.Close, nil
	}
	return nil, nil, fmt.Errorf("-provider %q: must be iwarp or verbs", o.provider)
}

func run(ctx context.Context, what string, o options) (err error) {
	p, closeProvider, err := open(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeProvider()) }()
	pool := slab.New(slab.Config{})
	if o.connect != "" {
		to, err := netip.ParseAddrPort(o.connect)
		if err != nil {
			return err
		}
		id, err := p.Resolve(ctx, to)
		if err != nil {
			return err
		}
		r, err := interop.Rping(ctx, id, pool, o.count, o.size)
		return say(err, "rping rounds=%d bytes=%d", r.Rounds, r.Bytes)
	}
	at, err := netip.ParseAddrPort(o.listen)
	if err != nil {
		return err
	}
	l, err := p.Listen(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	fmt.Printf("listening on %v\n", l.Addr())
	for more := true; more && err == nil; more = o.goOn {
		switch test, ok := tests[o.test]; {
		case what == "rping":
			err = rping(ctx, l, pool)
		case what == "perftest" && ok:
			var r interop.PerftestResult
			r, err = interop.Perftest(ctx, l, interop.PerftestConfig{Test: test, Pool: pool, MaxMessage: max(64<<10, o.size)})
			err = say(err, "perftest connections=%d received=%d bytes=%d answered=%d credits=%d changed=%d size=%d iterations=%d",
				r.Connections, r.Received, r.Bytes, r.Answered, r.Credits, r.Changed, r.Size, r.Iterations)
		default:
			err = fmt.Errorf("usage: peer rping|perftest [flags]; perftest needs -test rdma, send_lat or send_bw")
		}
	}
	return err
}

func rping(ctx context.Context, l rdma.Listener, pool *slab.Pool) error {
	id, err := l.Accept(ctx)
	if err != nil {
		return err
	}
	r, err := interop.ServeRping(ctx, id, pool)
	return say(err, "rping rounds=%d bytes=%d", r.Rounds, r.Bytes)
}

// say prints the result unless err is set, and returns err.
func say(err error, format string, args ...any) error {
	how := "ok"
	if err != nil {
		how = "failed"
	}
	fmt.Printf("%s "+format+"\n", append([]any{how}, args...)...)
	return err
}
