// Package guests compares the server with the kernel's servers, knfsd and ksmbd, in one
// Linux guest with one processor, with the same kernel client, the same fio and the same
// tmpfs. It prints a table of ratios.
//
// It needs root (User Mode Linux), the programs in integration/guest/packages.txt,
// nfs-kernel-server, and for ksmbd debootstrap.
package guests

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"fileserver/integration/debian"
	"fileserver/integration/guest"
)

//go:embed bench.sh
var script string

type options struct {
	protos, fabrics []string
	rounds          int
	seconds         int
	profile         string
	syscalls        bool
	nice            int
	verbose         bool
	server          string // our program; empty: it is built
	beside          string // another build of it; empty: none
}

// Main measures. args are the arguments of the command line after "guest".
func Main(ctx context.Context, args []string) error {
	flag := flag.NewFlagSet("bench guest", flag.ExitOnError)
	proto := flag.String("proto", "nfs,smb", "protocols to measure")
	fabric := flag.String("fabric", "tcp,siw,rxe", "networks to measure: TCP, soft iWARP, soft RoCE")
	rounds := flag.Int("rounds", 3, "measurements of each server, alternately; the medians are printed")
	took := flag.Duration("time", 2*time.Second, "length of one measurement, in whole seconds")
	profile := flag.String("profile", "", "directory for CPU profiles of our server, one for each measurement; the guest's kernel must have CONFIG_POSIX_TIMERS")
	syscalls := flag.Bool("syscalls", false, "also print our server's system calls and thread switches for each READ or WRITE, in separate runs; the guest's kernel must have CONFIG_FTRACE")
	only := flag.String("cells", "", "measure only the cells whose names match this regular expression: write1, read16, randread1, …")
	nice := flag.Int("nice", -10, "priority of the guest, so that a busy machine disturbs it less")
	server := flag.String("server", "", "our program; default: built from the source")
	beside := flag.String("beside", "", "another build of our program to measure as well, for example from before a change")
	quick := flag.Bool("quick", false, "one round of one second, to check that the program works")
	verbose := flag.Bool("v", false, "print the guests' output, with the options of the mounts")
	_ = flag.Parse(args) // exits on an error
	if flag.NArg() > 0 {
		return fmt.Errorf("guest: %s is not a flag", flag.Arg(0))
	}
	o := options{
		protos: strings.Split(*proto, ","), fabrics: strings.Split(*fabric, ","),
		rounds: *rounds, seconds: max(1, int(took.Seconds())), server: *server, beside: *beside, profile: *profile, syscalls: *syscalls, nice: *nice, verbose: *verbose,
	}
	match, err := regexp.Compile("^(" + cmp.Or(*only, ".*") + ")$")
	if err != nil {
		return fmt.Errorf("-cells: %w", err)
	}
	cells = slices.DeleteFunc(cells, func(c cell) bool { return !match.MatchString(c.name) })
	if *quick {
		o.rounds, o.seconds = 1, 1
	}
	return run(ctx, o)
}

// needs are the programs needed in addition to those of package guest, with their packages.
var needs = map[string]string{
	"fio": "fio", "rdma": "iproute2", "mount.nfs": "nfs-common", "mount.cifs": "cifs-utils",
	"exportfs": "nfs-kernel-server", "rpc.nfsd": "nfs-kernel-server", "rpcbind": "rpcbind",
}

func run(ctx context.Context, o options) error {
	for program, pkg := range needs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w: as root type: apt-get install -y %s", err, pkg)
		}
	}
	b := bench{options: o}
	var err error
	if slices.Contains(o.protos, "smb") {
		if b.debian, err = debian.Tree(ctx, os.Stderr); err != nil {
			return err
		}
	}
	if b.work, err = os.MkdirTemp("", "bench-guest-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.work)
	if o.profile != "" {
		if err := os.MkdirAll(o.profile, 0o755); err != nil {
			return err
		}
	}
	if o.server != "" {
		b.server = o.server
	} else if err := b.build(ctx); err != nil {
		return err
	}
	var rows []row
	for _, proto := range o.protos {
		for _, fabric := range o.fabrics {
			r, err := b.measure(ctx, proto, fabric)
			if err != nil {
				return fmt.Errorf("%s over %s: %w", proto, fabric, err)
			}
			rows = append(rows, r...)
		}
	}
	print(rows)
	return nil
}

// bench holds what all guests share.
type bench struct {
	options
	work   string // of this process
	debian string // ksmbd's tools
}

// build compiles the server with the provider for libibverbs.
func (b *bench) build(ctx context.Context) error {
	b.server = filepath.Join(b.work, "fileserver")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "rdmacore", "-o", b.server, "./cmd/fileserver")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w; it needs a C compiler, libibverbs-dev and librdmacm-dev\n%s", err, out)
	}
	return nil
}

// measure boots a guest for one protocol on one fabric.
func (b *bench) measure(ctx context.Context, proto, fabric string) ([]row, error) {
	servers, err := servers(proto, fabric)
	if err != nil {
		return nil, err
	}
	if b.beside != "" {
		other := servers[len(servers)-1]
		other.name, other.what, other.beside = other.name+"-beside", "the other build, "+other.what, true
		servers = append(servers, other)
	}
	host, err := guest.NewHost(guest.UML) // of its own, so that the guest has the address that the configurations name
	if err != nil {
		return nil, err
	}
	defer host.Close()
	out, err := os.MkdirTemp(b.work, "out-")
	if err != nil {
		return nil, err
	}
	cfg := guest.Config{
		MemMiB: 3072, Out: out, Script: script, Args: []string{proto, fabric}, Files: map[string]string{},
		Env: []string{"FILESERVER=" + b.server, "DEBIAN=" + b.debian, fmt.Sprintf("RUNTIME=%d", b.seconds), "CELLS=" + cellList(), "PROFILE=" + b.profile},
	}
	if b.syscalls {
		cfg.Env = append(cfg.Env, "SYSCALLS=1")
	}
	for _, s := range servers {
		if s.config != "" {
			cfg.Files[s.name+".yaml"] = s.config
			cfg.Files[s.name+".program"] = b.server
			if s.beside {
				cfg.Files[s.name+".program"] = b.beside
			}
		}
	}
	for round := range b.rounds {
		for i := range servers {
			s := servers[(i+round)%len(servers)] // they take turns in going first
			cfg.Args = append(cfg.Args, fmt.Sprintf("%d:%s", round, s.name))
		}
	}
	if b.verbose {
		cfg.Stream = os.Stderr
	}
	fmt.Fprintf(os.Stderr, "%s over %s\n", proto, fabric)
	g, err := host.Boot(cfg)
	if err != nil {
		return nil, err
	}
	if err := g.Nice(b.nice); err != nil {
		return nil, errors.Join(err, g.End())
	}
	visits := len(cfg.Args) - 2
	ctx, cancel := context.WithTimeout(ctx, time.Minute+time.Duration(visits*len(cells)*(b.seconds+3))*time.Second)
	defer cancel()
	used := map[string]time.Duration{} // by measurement
	watched := make(chan struct{})
	go func() { defer close(watched); watch(ctx, g, used) }()
	r, err := g.Wait(ctx)
	<-watched
	if err == nil && r.Status != 0 {
		err = fmt.Errorf("status %d", r.Status)
	}
	if err != nil {
		return nil, errors.Join(err, fmt.Errorf("the guest's output:\n%s\nits kernel's log:\n%s", r.Output, r.Kernel.Transport()))
	}
	if b.verbose {
		mounts, _ := filepath.Glob(filepath.Join(out, "*.mount"))
		for _, m := range mounts {
			text, _ := os.ReadFile(m)
			fmt.Fprintf(os.Stderr, "%s: %s", filepath.Base(m), text)
		}
	}
	if b.syscalls {
		counts, _ := filepath.Glob(filepath.Join(out, "0-*.syscalls"))
		for _, c := range counts {
			text, _ := os.ReadFile(c)
			fmt.Printf("%s: %s\n", strings.TrimPrefix(strings.TrimSuffix(filepath.Base(c), ".syscalls"), "0-"), strings.Join(strings.Fields(string(text)), " "))
		}
	}
	if b.profile != "" {
		profiles, _ := filepath.Glob(filepath.Join(out, "*.pprof"))
		for _, p := range profiles {
			text, err := os.ReadFile(p)
			if err == nil {
				err = os.WriteFile(filepath.Join(b.profile, filepath.Base(p)), text, 0o644)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return rows(out, proto, fabric, b.rounds, servers, used)
}

// watch records the machine's processor time that a guest uses for each measurement, until its script ends.
func watch(ctx context.Context, g *guest.Guest, used map[string]time.Duration) {
	for {
		name, err := g.Mark(ctx, "begin")
		if err != nil {
			return
		}
		before, err := g.CPU()
		if err != nil {
			return
		}
		if _, err := g.Mark(ctx, "end"); err != nil {
			return
		}
		if after, err := g.CPU(); err == nil {
			used[name] = after - before
		}
	}
}
