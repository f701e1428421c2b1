package config

import (
	"slices"
	"strings"
	"testing"
)

// TestSMBDirectPorts checks the ports of each transport, for settings of the old and the new form.
func TestSMBDirectPorts(t *testing.T) {
	for _, tc := range []struct {
		yaml                      string
		tcp, iwarp, other, softly []uint16
	}{
		{"", []uint16{445}, []uint16{5445}, []uint16{445}, []uint16{5445}},
		{"smb: {port: 4450}", []uint16{4450}, []uint16{5445, 445}, []uint16{445}, []uint16{5445}},
		{"smb: {port: [445, 4450]}", []uint16{445, 4450}, []uint16{5445}, []uint16{445}, []uint16{5445}},
		{"smb: {rdma_port: 5446}", []uint16{445}, []uint16{5446}, []uint16{5446}, []uint16{5446}},
		{"smb: {rdma_port: [445, 5445]}", []uint16{445}, []uint16{445, 5445}, []uint16{445, 5445}, []uint16{5445}},
		{"smb: {rdma_port: 445}\niwarp: {enabled: false}", []uint16{445}, []uint16{445}, []uint16{445}, []uint16{}},
		{"smb: {port: '0', rdma_port: 0}", []uint16{0}, []uint16{0}, []uint16{0}, []uint16{0}},
	} {
		c := mustLoad(t, tc.yaml, "--share=data=srv")
		for what, got := range map[string][2][]uint16{
			"smb.port": {c.SMB.Port, tc.tcp}, "iwarp": {c.SMBDirectPorts(true), tc.iwarp},
			"other": {c.SMBDirectPorts(false), tc.other}, "software": {c.IWARPPorts(), tc.softly},
		} {
			if !slices.Equal(got[0], got[1]) {
				t.Errorf("%q: ports of %s are %v, want %v", tc.yaml, what, got[0], got[1])
			}
		}
	}
}

func TestRDMASettings(t *testing.T) {
	t.Setenv("FILESERVER_SMB_PORT", "445,4450")
	t.Setenv("FILESERVER_RDMA_SPIN", "0s")
	c := mustLoad(t, "rdma: {devices: mlx5_0, domain: connection}\n", "--share=data=srv")
	var got []string
	for _, s := range c.Settings() {
		if strings.HasPrefix(s.Key, "rdma.") || strings.Contains(s.Key, "smb.") && strings.Contains(s.Key, "port") {
			got = append(got, s.Key+"="+s.Value)
		}
	}
	want := []string{"smb.port=[445, 4450]", "smb.rdma_port=[auto]", "rdma.devices=[mlx5_0]", "rdma.domain=connection", "rdma.spin=0s"}
	if !slices.Equal(got, want) {
		t.Errorf("settings %q, want %q", got, want)
	}
	if Reloadable("rdma.devices") {
		t.Error("rdma.devices is said to be reloadable")
	}
}

func TestRDMAProblems(t *testing.T) {
	const ok = "shares: {data: {path: srv}}\n"
	for _, tc := range []struct{ name, yaml, want string }{
		{"no devices", "rdma: {devices: []}\n", "fileserver.yaml:2: rdma.devices: is empty; write auto for all devices, off for none, or names, e.g. [mlx5_0]"},
		{"auto and more", "rdma: {devices: [auto, mlx5_0]}\n", "fileserver.yaml:2: rdma.devices[0]: auto stands alone; write auto, or names only"},
		{"a switch", "rdma: {devices: [false]}\n", `fileserver.yaml:2: rdma.devices[0]: "false" is no device; write off to use none`},
		{"another switch", "rdma: {devices: on}\n", `fileserver.yaml:2: rdma.devices[0]: "on" is no device; write auto to use all`},
		{"with the port", "rdma: {devices: [mlx5_0/1]}\n", "fileserver.yaml:2: rdma.devices[0]: \"mlx5_0/1\" is no name of a device; write one that `rdma link` lists, e.g. mlx5_0, without the port"},
		{"twice", "rdma: {devices: [a, a]}\n", "fileserver.yaml:2: rdma.devices[1]: a is given twice; remove one"},
		{"domain", "rdma: {domain: conection}\n", `fileserver.yaml:2: rdma.domain: "conection" is not known; did you mean connection?`},
		{"spin", "rdma: {spin: 1s}\n", "fileserver.yaml:2: rdma.spin: 1s is not between 0s and 10ms; write e.g. 20us, or 0s not to spin"},
		{"unit", "rdma: {spin: 20}\n", `fileserver.yaml:2: rdma.spin: "20" has no unit; write 20s for seconds`},
		{"port", "smb: {port: [445, x], rdma_port: 70000}\n", "fileserver.yaml:2: smb.port[1]: \"x\" is not a port; write a number from 1 to 65535, or 0 for any that is free\n" +
			"fileserver.yaml:2: smb.rdma_port[0]: \"70000\" is not a port; write a number from 1 to 65535, 0 for any that is free, or auto for those that clients try"},
		{"no ports", "smb: {port: [], rdma_port: []}\n", "fileserver.yaml:2: smb.port: is empty; write e.g. 445\nfileserver.yaml:2: smb.rdma_port: is empty; write auto …"},
		{"port twice", "smb: {port: [445, 445], rdma_port: [5445, 5445]}\n", "fileserver.yaml:2: smb.port[1]: 445 is the port of smb.port, too; give it another\n" +
			"fileserver.yaml:2: smb.rdma_port[1]: 5445 is the port of smb.rdma_port, too; give it another"},
		{"auto port and more", "smb: {rdma_port: [auto, 5445]}\n", "fileserver.yaml:2: smb.rdma_port: auto stands alone; …"},
		{"tcp in the way", "smb: {rdma_port: 445}\n", "fileserver.yaml:2: smb.rdma_port: 445 is the port of SMB over TCP, too, and iWARP in software shares its ports with TCP; write e.g. [445, 5445], or set iwarp.enabled to false"},
		{"tcp on the direct port", "smb: {port: [445, 5445]}\n", "fileserver.yaml:2: smb.port: 5445 is the port that clients try for SMB Direct over iWARP; give it another, or set iwarp.enabled to false"},
		{"nfs on 445", "nfs: {rdma_port: 445}\nsmb: {port: 4450}\n", "fileserver.yaml:2: nfs.rdma_port: 445 is the port that clients try for SMB Direct; write e.g. 20049"},
		{"metrics on the port", "metrics: {listen: '127.0.0.1:445'}\n", `fileserver.yaml:2: metrics.listen: "127.0.0.1:445" takes the port of smb.port; write e.g. 127.0.0.1:9464`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := load(t, ok+tc.yaml)
			if err == nil {
				t.Fatalf("accepted; want\n%s", tc.want)
			}
			if !matches(err.Error(), tc.want) {
				t.Errorf("refused with\n%v\nwant\n%s", err, tc.want)
			}
		})
	}
}
