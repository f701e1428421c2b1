package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"fileserver/integration/bench/provider"
	"fileserver/integration/bench/stats"
	"fileserver/integration/guest"
	"fileserver/rdma/iwarp"
	"fileserver/rdma/rdmatest/mem"
	"fileserver/rdma/verbs"
)

//go:embed requests.sh
var requestsScript string

// requestRows measures the cost of a work request with each provider, here and in guests, with the kernel's software
// devices. It compares only figures from the same place, because a system call costs many times as much in a guest.
func requestRows(ctx context.Context, rounds, scale int) ([]row, error) {
	here, err := requestCosts(ctx, netip.Addr{}, rounds, 4000*scale)
	if err != nil {
		return nil, err
	}
	t := requestTable{}
	t.add("", here)
	err = func() error {
		bin, err := buildCost(ctx)
		if err != nil {
			return err
		}
		defer os.RemoveAll(filepath.Dir(bin))
		for _, kind := range []string{"rxe", "siw"} {
			costs, err := costsInGuest(ctx, kind, bin, rounds, 300*scale)
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			t.add(kind, costs)
		}
		return nil
	}()
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		fmt.Fprintln(os.Stderr, "bench: no work requests on rxe and siw:", err)
	}
	return t.rows(), nil
}

// requestCosts measures the providers that need no device, and libibverbs on the device
// with that address if it is valid.
func requestCosts(ctx context.Context, device netip.Addr, rounds, messages int) (costs []provider.Cost, err error) {
	m := mem.New(mem.Config{})
	w, err := iwarp.New(iwarp.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	subjects := []provider.Subject{
		{Provider: m, Addr: netip.AddrPortFrom(m.Device(0).Addr(), 0)},
		{Provider: w, Addr: netip.MustParseAddrPort("127.0.0.1:0")},
	}
	if device.IsValid() {
		v, err := verbs.New(verbs.Config{})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, v.Close()) }()
		subjects = append(subjects, provider.Subject{Provider: v, Addr: netip.AddrPortFrom(device, 0)})
	}
	return provider.Requests(ctx, subjects, rounds, messages)
}

// requestsMain is the command "bench requests ADDR". It runs in the guests and writes the costs as JSON.
func requestsMain(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("bench requests", flag.ExitOnError)
	rounds := f.Int("rounds", 5, "measurements of each kind")
	messages := f.Int("messages", 2000, "messages in each")
	_ = f.Parse(args) // exits on an error
	device, err := netip.ParseAddr(f.Arg(0))
	if err != nil {
		return fmt.Errorf("the argument is the address of an RDMA device: %w", err)
	}
	costs, err := requestCosts(ctx, device, *rounds, *messages)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(costs)
}

// buildCost builds the program for the guests in a new directory. Its error says which packages are missing.
func buildCost(ctx context.Context) (string, error) {
	if os.Getuid() != 0 {
		return "", errors.New("the guests need root")
	}
	if _, err := guest.FindKernel(guest.UML); err != nil {
		return "", err
	}
	if _, err := exec.LookPath("rdma"); err != nil {
		return "", fmt.Errorf("%w: apt-get install -y iproute2", err)
	}
	const install = "apt-get install -y gcc libibverbs-dev librdmacm-dev rdma-core ibverbs-providers"
	for _, header := range []string{"infiniband/verbs.h", "rdma/rdma_cma.h"} {
		if _, err := os.Stat("/usr/include/" + header); err != nil {
			return "", fmt.Errorf("%w: %s", err, install)
		}
	}
	dir, err := os.MkdirTemp("", "bench-requests-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "bench")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "rdmacore", "-o", bin, "./integration/bench")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("go build: %w: %s\n%s", err, install, out), os.RemoveAll(dir))
	}
	return bin, nil
}

// costsInGuest measures in a guest that has a device of a kind.
func costsInGuest(ctx context.Context, kind, bin string, rounds, messages int) (costs []provider.Cost, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	host, err := guest.NewHost(guest.UML)
	if err != nil {
		return nil, err
	}
	defer host.Close()
	g, err := host.Boot(guest.Config{
		Script: requestsScript, Args: []string{kind, bin, strconv.Itoa(rounds), strconv.Itoa(messages)}, Out: filepath.Dir(bin),
	})
	if err != nil {
		return nil, err
	}
	r, err := g.Wait(ctx)
	if err == nil && r.Status != 0 {
		err = fmt.Errorf("status %d", r.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; the guest's output:\n%s", err, r.Output)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(bin), "costs"))
	if err != nil {
		return nil, err
	}
	return costs, json.Unmarshal(text, &costs)
}

// requestTable holds the rows of work requests, by comparison. It omits a row if one of
// its sides was not measured.
type requestTable struct{ beside, chains, mallocs []row }

// add adds the costs measured in one place: in a guest with a device of a kind, or here if kind is empty.
func (t *requestTable) add(kind string, costs []provider.Cost) {
	find := func(name string, chain int) *provider.Cost {
		i := slices.IndexFunc(costs, func(c provider.Cost) bool { return c.Provider == name && c.Chain == chain })
		if i < 0 {
			return nil
		}
		return &costs[i]
	}
	for _, c := range costs {
		name := c.Provider
		if name == "iwarp" && kind == "rxe" {
			continue // it does not use the device; siw's guest is the place to compare it
		}
		switch {
		case name == "verbs":
			name += " on " + kind
		case kind != "":
			name += ", in the guest with " + kind
		}
		one := find(c.Provider, 1)
		if base := find("mem", c.Chain); c.Provider != "mem" && base != nil {
			t.beside = append(t.beside,
				compare(fmt.Sprintf("%s, chain of %d: post and poll", name, c.Chain), "ns", c.Whole, base.Whole),
				compare(fmt.Sprintf("%s, chain of %d: post of the SEND", name, c.Chain), "ns", c.Post, base.Post))
		}
		if c.Chain == 1 || one == nil {
			continue
		}
		t.chains = append(t.chains, compare(fmt.Sprintf("%s, chain of %d", name, c.Chain), "ns", c.Whole, one.Whole))
		if kind != "" && c.Provider != "verbs" {
			continue // as here
		}
		// The runtime's own allocations add thousandths.
		mallocs := max(stats.Median(c.Mallocs), stats.Median(one.Mallocs))
		t.mallocs = append(t.mallocs, row{what: name + ", allocations", unit: "/op", ours: mallocs, aim: "0", met: mallocs < 0.05})
	}
}

func (t *requestTable) rows() []row {
	return slices.Concat(
		[]row{{what: "Work requests: a SEND of 64 bytes and its RECV, beside rdma/rdmatest/mem"}}, t.beside,
		[]row{{what: "Work requests in chains, beside chains of 1"}}, t.chains, t.mallocs)
}
