package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"fileserver/integration/bench/stats"
)

// row is a line of the table: our figures against theirs. A row without a unit is a heading.
type row struct {
	what         string
	unit         string
	ours, theirs float64
	ratio        float64
	span         string // the least and the greatest ratio; empty: not known
	cpu          cost
	aim          string // as text; empty: no aim
	met          bool
}

// cost is the server's processor time. Without a unit it was not measured.
type cost struct {
	unit         string
	ours, theirs float64
	ratio        float64
	span         string
}

func print(rows []row) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	wide := 0
	for _, r := range rows {
		wide = max(wide, len(r.what))
	}
	name := func(what string) string { return what + strings.Repeat(" ", wide-len(what)) } // aligns names left; the writer aligns figures right
	heading := func(what string) {
		fmt.Fprintf(w, "%s\tours\tbeside\tunit\tratio\trange\tserver's CPU: ours\tbeside\tunit\tratio\trange\taim\t\t\n", name(what))
	}
	for i, r := range rows {
		if r.unit == "" {
			if i > 0 {
				fmt.Fprintf(w, "\t\t\t\t\t\t\t\t\t\t\t\t\t\n")
			}
			heading(r.what)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t", name(r.what), pair(r.ours, r.theirs, r.unit, r.ratio, r.span))
		if r.cpu.unit == "" {
			fmt.Fprint(w, "\t\t\t\t\t")
		} else {
			fmt.Fprintf(w, "%s\t", pair(r.cpu.ours, r.cpu.theirs, r.cpu.unit, r.cpu.ratio, r.cpu.span))
		}
		verdict := ""
		if r.aim != "" {
			verdict = map[bool]string{true: "met", false: "missed"}[r.met]
		}
		fmt.Fprintf(w, "%s\t%s\t\n", r.aim, verdict)
	}
	w.Flush()
}

// pair formats five cells of the table.
func pair(ours, theirs float64, unit string, ratio float64, span string) string {
	if theirs == 0 {
		return fmt.Sprintf("%s\t-\t%s\t-\t", number(ours), unit)
	}
	return fmt.Sprintf("%s\t%s\t%s\t%.2f\t%s", number(ours), number(theirs), unit, ratio, span)
}

// number formats v with three digits, or with all digits before the point.
func number(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// span formats the range of the ratios.
func span(c stats.Comparison) string { return fmt.Sprintf("%.2f…%.2f", c.Least, c.Most) }

// compare returns a row for figures that were measured alternately.
func compare(what, unit string, ours, theirs []float64) row {
	c := stats.Compare(ours, theirs)
	return row{what: what, unit: unit, ours: c.Ours, theirs: c.Theirs, ratio: c.Ratio, span: span(c)}
}

// series holds the measurements of one kind, one for each round.
type series struct {
	rate []float64 // operations per second
	cpu  []float64 // the server's, microseconds per operation
}

func (s *series) add(rate float64, operations int, cpu time.Duration) {
	s.rate = append(s.rate, rate)
	s.cpu = append(s.cpu, max(1, float64(cpu.Microseconds()))/float64(max(1, operations)))
}

// compareCost returns a row for series that were measured alternately. The operations move size bytes; the cost of large ones is in
// seconds per GB (1e9 bytes).
func compareCost(what string, size int, ours, theirs series) row {
	r := compare(what, "op/s", ours.rate, theirs.rate)
	unit, per := "us/op", 1.0
	if size >= 64<<10 {
		unit, per = "s/GB", 1e3/float64(size)
	}
	c := stats.Compare(ours.cpu, theirs.cpu)
	r.cpu = cost{unit, c.Ours * per, c.Theirs * per, c.Ratio, span(c)}
	return r
}
