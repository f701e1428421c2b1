package guests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"fileserver/integration/bench/stats"
)

// cell is one measurement.
type cell struct {
	name, rw, bs string
	depth        int
	what, unit   string
	aim          float64 // the least ratio
}

const (
	aimLarge = 0.95 // "level"
	aimSmall = 0.7
)

var cells = []cell{
	{"write1", "write", "1m", 1, "write 1 MiB, depth 1", "MB/s", aimLarge},
	{"write16", "write", "1m", 16, "write 1 MiB, depth 16", "MB/s", aimLarge},
	{"read1", "read", "1m", 1, "read 1 MiB, depth 1", "MB/s", aimLarge},
	{"read16", "read", "1m", 16, "read 1 MiB, depth 16", "MB/s", aimLarge},
	{"randread1", "randread", "4k", 1, "random read 4 KiB, depth 1", "op/s", aimSmall},
	{"randread16", "randread", "4k", 16, "random read 4 KiB, depth 16", "op/s", aimSmall},
	{"randwrite1", "randwrite", "4k", 1, "random write 4 KiB, depth 1", "op/s", aimSmall},
	{"randwrite16", "randwrite", "4k", 16, "random write 4 KiB, depth 16", "op/s", aimSmall},
}

// cellList returns the cells in the script's format.
func cellList() string {
	var list []string
	for _, c := range cells {
		list = append(list, fmt.Sprintf("%s:%s:%s:%d", c.name, c.rw, c.bs, c.depth))
	}
	return strings.Join(list, " ")
}

// result is fio's report of one direction.
type result struct {
	BytesPerSecond float64 `json:"bw_bytes"`
	PerSecond      float64 `json:"iops"`
	Operations     float64 `json:"total_ios"`
}

// figure reads fio's report of a cell and returns the rate and the number of operations.
func figure(file string, c cell) (rate, operations float64, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	var report struct {
		Jobs []struct {
			Error       int
			Read, Write result
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	if len(report.Jobs) != 1 || report.Jobs[0].Error != 0 {
		return 0, 0, fmt.Errorf("%s: fio failed:\n%s", filepath.Base(file), text)
	}
	r := report.Jobs[0].Read
	if strings.HasSuffix(c.rw, "write") {
		r = report.Jobs[0].Write
	}
	if r.PerSecond == 0 {
		return 0, 0, fmt.Errorf("%s: fio did no operations", filepath.Base(file))
	}
	if c.unit == "MB/s" {
		return r.BytesPerSecond / 1e6, r.Operations, nil
	}
	return r.PerSecond, r.Operations, nil
}

// row is a line of the table: one of our servers against the kernel's.
type row struct {
	where              string
	cell               cell
	theirs, ours       float64 // medians
	least, ratio, most float64
	theirCPU, ourCPU   float64 // the machine's for the whole guest (server, client, network), microseconds per operation
}

// rows returns the lines for fio's reports in dir. The first server is the kernel's. used is the processor time of each measurement.
func rows(dir, proto, fabric string, rounds int, servers []server, used map[string]time.Duration) (rows []row, err error) {
	for _, s := range servers[1:] {
		for _, c := range cells {
			var rate, cpu [2][]float64
			for round := range rounds {
				for i, name := range []string{servers[0].name, s.name} {
					id := fmt.Sprintf("%d-%s-%s-%s-%s", round, proto, fabric, name, c.name)
					v, n, err := figure(filepath.Join(dir, id+".json"), c)
					if err != nil {
						return nil, err
					}
					rate[i] = append(rate[i], v)
					cpu[i] = append(cpu[i], float64(used[id].Microseconds())/n)
				}
			}
			r := stats.Compare(rate[1], rate[0])
			rows = append(rows, row{
				where: strings.ToUpper(proto) + " over " + fabric + ": " + s.what + " beside " + servers[0].what, cell: c,
				theirs: r.Theirs, ours: r.Ours,
				least: r.Least, ratio: r.Ratio, most: r.Most,
				theirCPU: slices.Min(cpu[0]), ourCPU: slices.Min(cpu[1]), // other work on the machine adds to it
			})
		}
	}
	return rows, nil
}

func print(rows []row) {
	wide := 0
	for _, r := range rows {
		wide = max(wide, len(r.where), len(r.cell.what)+2)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	name := func(s string) string { return s + strings.Repeat(" ", wide-len(s)) } // to the left, figures to the right
	where := ""
	for _, r := range rows {
		if r.where != where {
			if where != "" {
				fmt.Fprintf(w, "\t\t\t\t\t\t\t\t\n")
			}
			where = r.where
			fmt.Fprintf(w, "%s\tkernel\tours\tunit\tratio\tleast\tmost\taim\t\tguest's CPU: kernel\tours\tunit\tratio\t\n", name(where))
		}
		verdict := "missed"
		if r.ratio >= r.cell.aim {
			verdict = "met"
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%s\t%.0f\t%.0f\tus/op\t%.2f\t\n",
			name("  "+r.cell.what), r.theirs, r.ours, r.cell.unit, r.ratio, r.least, r.most, r.cell.aim, verdict, r.theirCPU, r.ourCPU, r.theirCPU/r.ourCPU)
	}
	w.Flush()
}
