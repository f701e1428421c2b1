// Command bench measures the server against plain TCP and prints one table of
// ratios. Both sides of each ratio are measured in the same run, in turn: machines
// are noisy, so a ratio says something and seconds do not.
//
//	go run ./integration/bench [-rounds N] [-quick] [-dir DIR] [-only provider|nfs|smb] [-profile FILE]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"text/tabwriter"

	"fileserver/rdma/iwarp"
	"fileserver/rdma/iwarp/iwarpbench"
)

// row is a line of the table: ours against theirs.
type row struct {
	what         string
	unit         string
	ours, theirs float64
	ratio        float64
	aim          string // as text; empty: none was set
	met          bool
}

func main() {
	rounds := flag.Int("rounds", 5, "measurements of each kind; the medians are printed")
	quick := flag.Bool("quick", false, "measure a tenth, to see that it works")
	dir := flag.String("dir", "/dev/shm", "where the share lies: memory, so that no disk is measured")
	only := flag.String("only", "", "measure just the provider, nfs, or smb")
	profile := flag.String("profile", "", "write a CPU profile of the server during the NFS measurements")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *rounds, *quick, *dir, *only, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, quick bool, dir, only, profile string) error {
	scale := 10
	if quick {
		scale, rounds = 1, min(rounds, 3)
	}
	var rows []row
	if only == "" || only == "provider" {
		provider, err := providerRows(ctx, rounds, scale)
		if err != nil {
			return fmt.Errorf("iwarp provider: %w", err)
		}
		rows = append(rows, provider...)
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
	if profile != "" {
		stop := r.profile(ctx, profile)
		defer stop()
	}
	if only != "smb" {
		served, err := r.rows(ctx, rounds, scale)
		if err != nil {
			return fmt.Errorf("NFS: %w", err)
		}
		idle, err := r.idleRows(ctx)
		if err != nil {
			return fmt.Errorf("idle connections: %w", err)
		}
		rows = append(append(rows, served...), idle...)
	}
	if only != "nfs" {
		served, err := r.smbRows(ctx, rounds, scale)
		if err != nil {
			return fmt.Errorf("SMB: %w", err)
		}
		rows = append(rows, served...)
	}
	print(rows)
	return nil
}

func print(rows []row) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "what\tours\tbeside\tunit\tratio\taim\t\t")
	for _, r := range rows {
		theirs, ratio, verdict := fmt.Sprintf("%.3g", r.theirs), fmt.Sprintf("%.2f", r.ratio), ""
		if r.theirs == 0 {
			theirs, ratio = "-", "-"
		}
		if r.aim != "" {
			verdict = map[bool]string{true: "met", false: "missed"}[r.met]
		}
		fmt.Fprintf(w, "%s\t%.3g\t%s\t%s\t%s\t%s\t%s\t\n", r.what, r.ours, theirs, r.unit, ratio, r.aim, verdict)
	}
	w.Flush()
}

// The aims of the provider's figures, with CRC off.
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

// providerRows measures the iwarp provider by itself, without and with CRC.
func providerRows(ctx context.Context, rounds, scale int) ([]row, error) {
	var rows []row
	for _, crc := range []bool{false, true} {
		cfg := iwarp.Config{NoPeerToPeer: true} // as the kernel's software peer: large FPDUs
		name := ""
		if crc {
			cfg.CRC, name = iwarp.CRCAlways, ", CRC"
		}
		ratios, err := iwarpbench.Run(ctx, iwarpbench.Options{Rounds: rounds, Blocks: 51 * scale, Pings: 1000 * scale, Config: cfg})
		if err != nil {
			return nil, err
		}
		for _, r := range ratios {
			line := row{what: "iWARP " + r.Name + name, unit: r.Unit, ours: r.IWARP, theirs: r.TCP, ratio: r.Ratio}
			if a, ok := aims[r.Name]; ok && !crc {
				line.aim, line.met = a.text, a.met(r.Ratio)
			}
			rows = append(rows, line)
		}
	}
	return rows, nil
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

// compare makes a row of figures measured in turn.
func compare(what, unit string, ours, theirs []float64) row {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / theirs[i]
	}
	return row{what: what, unit: unit, ours: median(ours), theirs: median(theirs), ratio: median(ratios)}
}
