package main

import (
	"testing"

	"fileserver/integration/bench/provider"
)

// TestRequestRows compares providers with mem and chains with single requests, of one place.
func TestRequestRows(t *testing.T) {
	cost := func(name string, chain int, ns float64) provider.Cost {
		return provider.Cost{Provider: name, Chain: chain, Whole: []float64{ns}, Post: []float64{ns / 2}, Mallocs: []float64{ns / 1000}}
	}
	var table requestTable
	table.add("", []provider.Cost{cost("mem", 1, 10), cost("mem", 16, 5)})
	table.add("rxe", []provider.Cost{cost("mem", 1, 100), cost("mem", 16, 50), cost("iwarp", 1, 300), cost("iwarp", 16, 300), cost("verbs", 1, 500), cost("verbs", 16, 400)})
	got := map[string]float64{}
	met := map[string]bool{}
	for _, r := range table.rows() {
		if r.unit == "ns" {
			got[r.what] = r.ratio
		} else if r.aim != "" {
			met[r.what] = r.met
		}
	}
	want := map[string]float64{
		"mem, chain of 16": 0.5, "mem, in the guest with rxe, chain of 16": 0.5, "verbs on rxe, chain of 16": 0.8,
		"verbs on rxe, chain of 1: post and poll": 5, "verbs on rxe, chain of 16: post and poll": 8,
		"verbs on rxe, chain of 1: post of the SEND": 5, "verbs on rxe, chain of 16: post of the SEND": 8,
	}
	for what, ratio := range want {
		if got[what] != ratio {
			t.Errorf("%s: ratio %v, want %v", what, got[what], ratio)
		}
	}
	for what := range got {
		if _, ok := want[what]; !ok {
			t.Errorf("a row %q", what)
		}
	}
	if len(met) != 2 || !met["mem, allocations"] || met["verbs on rxe, allocations"] {
		t.Errorf("allocations: %v", met)
	}
}

// TestRequestRowsWithoutBase leaves out rows whose other side was not measured.
func TestRequestRowsWithoutBase(t *testing.T) {
	one := []float64{1}
	var table requestTable
	table.add("rxe", []provider.Cost{{Provider: "verbs", Chain: 16, Whole: one, Post: one, Mallocs: one}})
	for _, r := range table.rows() {
		if r.unit != "" {
			t.Errorf("a row %q", r.what)
		}
	}
}
