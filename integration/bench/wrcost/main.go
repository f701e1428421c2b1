// Command wrcost measures, on the machine it runs on, what work requests cost with rdma/rdmatest/mem, rdma/iwarp and
// rdma/verbs, and prints it as JSON: a list of [wrcost.Cost].
//
//	wrcost [-rounds N] [-messages N] ADDR
//
// ADDR is an address of an RDMA device. The program is to be built with the tag rdmacore.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"

	"fileserver/rdma/iwarp"
	"fileserver/rdma/rdmatest/mem"
	"fileserver/rdma/verbs"
	"fileserver/rdma/wrcost"
)

func main() {
	rounds := flag.Int("rounds", 5, "measurements of each kind")
	messages := flag.Int("messages", 2000, "messages in each")
	flag.Parse()
	if err := run(flag.Arg(0), *rounds, *messages); err != nil {
		fmt.Fprintln(os.Stderr, "wrcost:", err)
		os.Exit(1)
	}
}

func run(device string, rounds, messages int) (err error) {
	addr, err := netip.ParseAddr(device)
	if err != nil {
		return err
	}
	m := mem.New(mem.Config{})
	w, err := iwarp.New(iwarp.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	v, err := verbs.New(verbs.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	costs, err := wrcost.Run(context.Background(), []wrcost.Subject{
		{Provider: m, Addr: netip.AddrPortFrom(m.Device(0).Addr(), 0)},
		{Provider: w, Addr: netip.MustParseAddrPort("127.0.0.1:0")},
		{Provider: v, Addr: netip.AddrPortFrom(addr, 0)},
	}, rounds, messages)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(costs)
}
