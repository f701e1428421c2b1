// Command bench measures the server for its developers and prints tables of ratios.
// Machines are noisy, so both sides of each ratio are measured alternately in one run.
//
//	go run ./integration/bench [-rounds N] [-quick] [-dir DIR] [-only PART] [-profile FILE]
//	go run ./integration/bench guest [flags]
//
// The first form measures on this machine, with our own client: the server over RDMA
// against TCP and against Samba, and the RDMA providers alone.
//
// The second form compares with the kernel's servers, knfsd and ksmbd, in a Linux guest.
// See package guests; "guest -h" lists its flags. With -beside FILE it also measures
// another build of our server, for example from before a change.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"fileserver/integration/bench/guests"
	"fileserver/integration/bench/provider"
	"fileserver/rdma/iwarp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := dispatch(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// dispatch runs the part that the first argument names.
func dispatch(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "guest":
			return guests.Main(ctx, args[1:])
		case "requests":
			return requestsMain(ctx, args[1:])
		}
	}
	return hereMain(ctx, args)
}

// hereMain measures on this machine.
func hereMain(ctx context.Context, args []string) error {
	flag := flag.NewFlagSet("bench", flag.ExitOnError)
	rounds := flag.Int("rounds", 5, "measurements of each kind; the medians are printed")
	quick := flag.Bool("quick", false, "measure only a tenth, to check that the program works")
	dir := flag.String("dir", "/dev/shm", "directory for the share; the default is in memory, so that no disk is measured")
	only := flag.String("only", "", "measure only a part: provider (with the cost of a work request, as root also on rxe and siw in guests), nfs, smb (our client, on SMB Direct and TCP), or samba (against Samba, with smbtorture)")
	profile := flag.String("profile", "", "write a CPU profile of the server during its first measurements")
	_ = flag.Parse(args) // exits on an error
	if flag.NArg() > 0 {
		return fmt.Errorf("%s is neither a flag nor guest", flag.Arg(0))
	}
	return run(ctx, *rounds, *quick, *dir, *only, *profile)
}

func run(ctx context.Context, rounds int, quick bool, dir, only, profile string) error {
	scale := 10
	if quick {
		scale, rounds = 1, min(rounds, 3)
	}
	switch only {
	case "", "provider", "nfs", "smb", "samba":
	default:
		return fmt.Errorf("-only %s: must be provider, nfs, smb or samba", only)
	}
	var rows []row
	if only == "" || only == "provider" {
		provider, err := providerRows(ctx, rounds, scale)
		if err != nil {
			return fmt.Errorf("iwarp provider: %w", err)
		}
		requests, err := requestRows(ctx, rounds, scale)
		if err != nil {
			return fmt.Errorf("work requests: %w", err)
		}
		rows = append(append(rows, provider...), requests...)
	}
	if only == "provider" {
		print(rows)
		return nil
	}
	r, err := newRig(ctx, dir)
	if err != nil {
		return err
	}
	defer r.close()
	if only != "nfs" {
		if err := r.withSamba(ctx); err != nil {
			if only == "samba" {
				return err
			}
			fmt.Fprintln(os.Stderr, "bench: no comparison with Samba:", err)
		}
	}
	if profile != "" {
		stop := r.profile(ctx, profile)
		defer stop()
	}
	if only == "" || only == "nfs" {
		served, err := r.nfsRows(ctx, rounds, scale)
		if err != nil {
			return fmt.Errorf("NFS: %w", err)
		}
		idle, err := r.idleRows(ctx)
		if err != nil {
			return fmt.Errorf("idle connections: %w", err)
		}
		rows = append(append(rows, served...), idle...)
	}
	if only == "" || only == "smb" {
		served, err := r.smbRows(ctx, rounds, scale)
		if err != nil {
			return fmt.Errorf("SMB: %w", err)
		}
		rows = append(rows, served...)
	}
	if r.samba != nil && only != "smb" {
		served, err := r.tortureRows(ctx, rounds, 1+scale/10)
		if err != nil {
			return fmt.Errorf("SMB: %w", err)
		}
		rows = append(rows, served...)
	}
	print(rows)
	return nil
}

// aims are the aims for the provider's ratios with CRC off.
var aims = map[string]struct {
	text string
	met  func(float64) bool
}{
	"WRITE 1 MiB throughput": {"≥ 0.9", func(r float64) bool { return r >= 0.9 }},
	"READ 1 MiB throughput":  {"≥ 0.9", func(r float64) bool { return r >= 0.9 }},
	"WRITE 1 MiB CPU":        {"≤ 1.25", func(r float64) bool { return r <= 1.25 }},
	"READ 1 MiB CPU":         {"≤ 1.25", func(r float64) bool { return r <= 1.25 }},
	"SEND 4 KiB ping-pong":   {"≤ 1.5", func(r float64) bool { return r <= 1.5 }},
}

// providerRows measures the iwarp provider alone, without and with CRC.
func providerRows(ctx context.Context, rounds, scale int) ([]row, error) {
	rows := []row{{what: "iWARP in Go beside a TCP stream"}}
	for _, crc := range []bool{false, true} {
		cfg := iwarp.Config{NoPeerToPeer: true} // as the kernel's software peer: large FPDUs
		name := ""
		if crc {
			cfg.CRC, name = iwarp.CRCAlways, ", CRC"
		}
		figures, err := provider.IWARP(ctx, provider.Options{Rounds: rounds, Blocks: 51 * scale, Pings: 1000 * scale, Config: cfg})
		if err != nil {
			return nil, err
		}
		for _, r := range figures {
			line := compare("iWARP "+r.Name+name, r.Unit, r.IWARP, r.TCP)
			if a, ok := aims[r.Name]; ok && !crc {
				line.aim, line.met = a.text, a.met(line.ratio)
			}
			rows = append(rows, line)
		}
	}
	return rows, nil
}
