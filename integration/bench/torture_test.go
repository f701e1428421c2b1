package main

import "testing"

// TestTortureRate parses the last line of smbtorture's benchmarks in the formats of Samba 4.22 and 4.25.
func TestTortureRate(t *testing.T) {
	for line, want := range map[string]string{
		"2.00 second: read[num/s=3,627;bytes/s=3,803,185,152;avslat=0.002178;minlat=0.000210;maxlat=0.019667]":        "3,627",
		"2.00 second: read[num/s=3627,bytes/s=3803185152,avslat=0.002178,minlat=0.000210,maxlat=0.019667]":            "3627",
		"2.00 second: setup[num/s=2,016,avslat=0.002797,minlat=0.001013] logoff[num/s=2,015,avslat=0.001168]":         "2,016",
		"2.00 second: echo[num/s=63,248;avslat=0.000125;minlat=0.000020;maxlat=0.301201]\nsomething[num/s=1;after=2]": "63,248",
	} {
		if m := tortureRate.FindStringSubmatch(line); m == nil || m[1] != want {
			t.Errorf("%s: %q, want %s", line, m, want)
		}
	}
}
