package main

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"text/tabwriter"
)

// result is the result of fuzzing a target.
type result struct {
	target  target
	execs   int64
	rate    int64 // executions per second, of the whole run
	found   int64 // new interesting inputs
	corpus  int64 // interesting inputs in all
	crashes int   // failing inputs that were written to testdata/fuzz
	failed  bool  // the command failed, perhaps without a failing input
}

var (
	progress = regexp.MustCompile(`elapsed: (?:(\d+)h)?(?:(\d+)m)?(\d+)s, execs: (\d+) \(\d+/sec\)(?:, new interesting: (\d+) \(total: (\d+)\))?`)
	crash    = regexp.MustCompile(`(?m)^\s*Failing input written to `)
)

// parseRun parses the output of "go test -fuzz". Its last progress line has the totals.
func parseRun(out string) result {
	var r result
	r.crashes = len(crash.FindAllString(out, -1))
	all := progress.FindAllStringSubmatch(out, -1)
	if len(all) == 0 {
		return r
	}
	last := make([]int64, 7)
	for i, s := range all[len(all)-1][1:] {
		last[i+1], _ = strconv.ParseInt(s, 10, 64) // 0 if the group is missing
	}
	r.execs, r.found, r.corpus = last[4], last[5], last[6]
	r.rate = r.execs / max(1, last[1]*3600+last[2]*60+last[3])
	return r
}

// line returns the result as one line, to show progress.
func (r result) line() string {
	return fmt.Sprintf("%s: %d executions, %d new interesting inputs, %d crashes",
		r.target, r.execs, r.found, r.crashes)
}

// print writes the table, and returns how many targets failed.
func print(w io.Writer, results []result) int {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "target\texecutions\tper second\tnew interesting\tcorpus\tcrashes\t")
	bad := 0
	for _, r := range results {
		verdict := strconv.Itoa(r.crashes)
		if r.failed {
			bad++
			if r.crashes == 0 {
				verdict = "failed"
			}
		}
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%s\t\n", r.target, r.execs, r.rate, r.found, r.corpus, verdict)
	}
	tw.Flush()
	return bad
}
