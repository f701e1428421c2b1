// Command fuzz runs every fuzz target of the module for a given time, several at once,
// and prints a table of their results.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// target is a fuzz function of a package. pkg is its directory, such as "./smb/wire".
type target struct{ pkg, name string }

func (t target) String() string { return strings.TrimPrefix(t.pkg, "./") + "." + t.name }

func main() {
	each := flag.Duration("time", 30*time.Second, "time to fuzz each target")
	jobs := flag.Int("jobs", runtime.NumCPU(), "number of targets to fuzz at once, each with one worker")
	only := flag.String("run", "", "fuzz only the targets whose package and name, such as smb/wire.FuzzHeader, match this regular expression")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil {
		fail(fmt.Errorf("-run: %w", err))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	all, err := targets(".", match)
	if err != nil {
		fail(err)
	}
	if len(all) == 0 {
		fail(fmt.Errorf("-run %s matches no fuzz target", *only))
	}
	results := fuzzAll(ctx, all, *each, max(1, *jobs))
	bad := print(os.Stdout, results)
	if bad > 0 {
		fail(fmt.Errorf("%d of %d targets failed; their output is above the table", bad, len(results)))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "fuzz:", err)
	os.Exit(1)
}

var function = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(\w+ \*testing\.F\)`)

// targets lists the fuzz functions below root that match. It reads the test files,
// because "go test -list" builds and starts every package first.
func targets(root string, match *regexp.Regexp) ([]target, error) {
	var all []target
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		pkg := "./" + filepath.ToSlash(dir)
		for _, m := range function.FindAllSubmatch(text, -1) {
			if t := (target{pkg, string(m[1])}); match.MatchString(t.String()) {
				all = append(all, t)
			}
		}
		return nil
	})
	return all, err
}

// fuzzAll fuzzes the targets, jobs of them at once, and returns their results in the
// order of the targets. Targets that have not started when ctx ends are omitted.
func fuzzAll(ctx context.Context, all []target, each time.Duration, jobs int) []result {
	results := make([]result, len(all))
	turns := make(chan struct{}, jobs)
	var wg sync.WaitGroup
	started := 0
	for i, t := range all {
		turns <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		started++
		wg.Go(func() {
			defer func() { <-turns }()
			results[i] = fuzz(ctx, t, each)
			fmt.Fprintln(os.Stderr, results[i].line())
		})
	}
	wg.Wait()
	return results[:started]
}

// fuzz fuzzes one target with one worker.
func fuzz(ctx context.Context, t target, each time.Duration) result {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", each.String(), "-parallel", "1",
		// Without a limit the fuzzer spends most of its time on minimizing inputs whose coverage varies.
		"-fuzzminimizetime", "100x", t.pkg)
	// On an interrupt the fuzzer minimizes and stores a failing input.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	out, err := cmd.CombinedOutput()
	r := parseRun(string(out))
	r.target = t
	if r.failed = err != nil && ctx.Err() == nil; r.failed {
		fmt.Fprintf(os.Stderr, "%s: %v\n%s\n", t, err, out)
	}
	return r
}
