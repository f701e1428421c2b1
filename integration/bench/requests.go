package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"fileserver/integration/guest"
	"fileserver/rdma/iwarp"
	"fileserver/rdma/rdmatest/mem"
	"fileserver/rdma/wrcost"
)

//go:embed wrcost.sh
var wrcostScript string

// requestRows measures what a work request costs with each provider: here, and in guests, with the devices that the
// kernel has in software. What is compared is measured in the same place: a system call costs many times as much in a guest.
func requestRows(ctx context.Context, rounds, scale int) ([]row, error) {
	here, err := costsHere(ctx, rounds, 4000*scale)
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

func costsHere(ctx context.Context, rounds, messages int) (costs []wrcost.Cost, err error) {
	m := mem.New(mem.Config{})
	w, err := iwarp.New(iwarp.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return wrcost.Run(ctx, []wrcost.Subject{
		{Provider: m, Addr: netip.AddrPortFrom(m.Device(0).Addr(), 0)},
		{Provider: w, Addr: netip.MustParseAddrPort("127.0.0.1:0")},
	}, rounds, messages)
}

// buildCost builds what measures in the guest, in a directory of its own, or says what it takes.
func buildCost(ctx context.Context) (string, error) {
	if os.Getuid() != 0 {
		return "", errors.New("guests want root")
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
	dir, err := os.MkdirTemp("", "bench-wrcost-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "wrcost")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "rdmacore", "-o", bin, "./integration/bench/wrcost")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("go build: %w: %s\n%s", err, install, out), os.RemoveAll(dir))
	}
	return bin, nil
}

// costsInGuest measures in a guest with a device of a kind.
func costsInGuest(ctx context.Context, kind, bin string, rounds, messages int) (costs []wrcost.Cost, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	host, err := guest.NewHost(guest.UML)
	if err != nil {
		return nil, err
	}
	defer host.Close()
	g, err := host.Boot(guest.Config{
		Script: wrcostScript, Args: []string{kind, bin, strconv.Itoa(rounds), strconv.Itoa(messages)}, Out: filepath.Dir(bin),
	})
	if err != nil {
		return nil, err
	}
	r, err := g.Wait(ctx)
	if err == nil && r.Status != 0 {
		err = fmt.Errorf("status %d", r.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; the guest said:\n%s", err, r.Output)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(bin), "costs"))
	if err != nil {
		return nil, err
	}
	return costs, json.Unmarshal(text, &costs)
}

// requestTable has the rows of work requests, by what is compared.
type requestTable struct{ beside, chains, mallocs []row }

// add enters what was measured in one place: in a guest with a device of a kind, or, where kind is empty, here.
func (t *requestTable) add(kind string, costs []wrcost.Cost) {
	find := func(provider string, chain int) wrcost.Cost {
		i := slices.IndexFunc(costs, func(c wrcost.Cost) bool { return c.Provider == provider && c.Chain == chain })
		return costs[i]
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
		if base := find("mem", c.Chain); c.Provider != "mem" {
			t.beside = append(t.beside,
				compare(fmt.Sprintf("%s, chain of %d: post and poll", name, c.Chain), "ns", c.Whole, base.Whole),
				compare(fmt.Sprintf("%s, chain of %d: post of the SEND", name, c.Chain), "ns", c.Post, base.Post))
		}
		if c.Chain == 1 {
			continue
		}
		t.chains = append(t.chains, compare(fmt.Sprintf("%s, chain of %d", name, c.Chain), "ns", c.Whole, one.Whole))
		if kind != "" && c.Provider != "verbs" {
			continue // as here
		}
		// What the runtime does beside them shows as thousandths.
		mallocs := max(median(c.Mallocs), median(one.Mallocs))
		t.mallocs = append(t.mallocs, row{what: name + ", allocations", unit: "/op", ours: mallocs, aim: "0", met: mallocs < 0.05})
	}
}

func (t *requestTable) rows() []row {
	return slices.Concat(
		[]row{{what: "Work requests: a SEND of 64 bytes and its RECV, beside rdma/rdmatest/mem"}}, t.beside,
		[]row{{what: "Work requests in chains, beside chains of 1"}}, t.chains, t.mallocs)
}
