// Guest boots the guest of the tests and runs a bash script in it, for debugging:
//
//	go run ./integration/guest/cmd/guest [flags] SCRIPT [ARG...]
//
// Its exit status is the script's. Package guest describes the environment of the script.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"fileserver/integration/guest"
)

func main() {
	status, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 125
	}
	os.Exit(status)
}

func run() (status int, err error) {
	kindName := flag.String("kind", "", "uml (as root) or qemu; default: uml for root, qemu for others")
	cpus := flag.Int("c", 1, "CPUs")
	mem := flag.Int("m", 3072, "memory in MiB")
	out := flag.String("o", "", "directory that is /out in the guest")
	server := flag.String("s", "", "shell command to run outside, in the guest's network; the guest reaches it at 198.18.1.1 (uml) or 10.0.2.2 (qemu)")
	pcap := flag.String("w", "", "file for a capture of the guest's traffic")
	kernelLog := flag.Bool("k", false, "print the kernel's log at the end")
	timeout := flag.Duration("t", time.Hour, "end the guest after this time")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: guest [flags] SCRIPT [ARG...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		return 2, nil
	}
	script, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		return 0, err
	}
	kind, err := guest.ParseKind(*kindName)
	if err != nil {
		return 0, err
	}
	if *pcap != "" {
		if *pcap, err = filepath.Abs(*pcap); err != nil {
			return 0, err
		}
	}
	host, err := guest.NewHost(kind)
	if err != nil {
		return 0, err
	}
	defer host.Close()
	if *server != "" {
		p, err := host.Start(os.Environ(), "sh", "-c", *server)
		if err != nil {
			return 0, err
		}
		defer func() { p.Kill(); fmt.Fprint(os.Stderr, p.Output()) }()
		time.Sleep(time.Second) // for the server to start; its port is not known
	}
	g, err := host.Boot(guest.Config{
		CPUs: *cpus, MemMiB: *mem, Out: *out, Pcap: *pcap,
		Script: string(script), Args: flag.Args()[1:], Stream: os.Stdout,
	})
	if err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	r, err := g.Wait(ctx)
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s\n%s\n", r.Boot, r.Kernel.Script())
	case *kernelLog:
		fmt.Fprintln(os.Stderr, r.Kernel.Script())
	}
	return r.Status, err
}
