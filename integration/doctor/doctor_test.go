package doctor

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
	"fileserver/internal/app/doctor"
)

var programs = workload.Programs{Packages: []string{workload.Server}}

//go:embed examine.sh
var examine string

//go:embed connect.sh
var connect string

//go:embed ours.sh
var ours string

func TestMain(m *testing.M) {
	status := m.Run()
	if dir, err := programs.Dir(); err == nil && dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

// answer is the output of one run and its exit status.
type answer struct {
	text   string
	status int
}

var mark = regexp.MustCompile(`(?ms)^=== (\S+)$\n(.*?)^=== status (\d+)$`)

// run boots a guest, runs a script and returns the doctor's answers by name.
func run(t *testing.T, script string, args ...string) map[string]answer {
	t.Helper()
	return runOn(t, guest.ForTest(t), script, args...)
}

// program builds the server and returns its path.
func program(t *testing.T) string {
	t.Helper()
	dir, err := programs.Dir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "fileserver")
}

func runOn(t *testing.T, host *guest.Host, script string, args ...string) map[string]answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	r := host.BootForTest(t, guest.Config{Script: script, Args: append([]string{program(t)}, args...)}).Check(ctx, t)
	out := map[string]answer{}
	for _, m := range mark.FindAllStringSubmatch(strings.ReplaceAll(r.Output, "\r", ""), -1) {
		var a answer
		fmt.Sscan(m[3], &a.status)
		a.text = m[2]
		out[m[1]] = a
	}
	return out
}

func parse[T any](t *testing.T, a answer) *T {
	t.Helper()
	v := new(T)
	if err := json.Unmarshal([]byte(a.text), v); err != nil {
		t.Fatalf("%v\n%s", err, a.text)
	}
	return v
}

// summary returns a short form of a report: the transports of each protocol on the interface name, and its devices.
func summary(r *doctor.Report, name string) string {
	i := slices.IndexFunc(r.Interfaces, func(i doctor.Interface) bool { return i.Name == name })
	if i < 0 {
		return "no such interface"
	}
	var words []string
	for _, d := range r.Interfaces[i].Devices {
		words = append(words, fmt.Sprintf("%s is %s %s (%s)", d.Name, d.State, d.Transport, d.Driver))
	}
	for service, v := range map[string]doctor.Verdict{"nfs": r.Interfaces[i].NFS, "smb": r.Interfaces[i].SMB} {
		var ways []string
		for _, w := range v.Ways {
			ways = append(ways, w.Provider)
		}
		words = append(words, fmt.Sprintf("%s %v %v", service, ways, v.WhyNot))
	}
	slices.Sort(words)
	return strings.Join(words, "; ")
}

func TestExamine(t *testing.T) {
	got := run(t, examine)
	dev := "vec0"
	for _, tc := range []struct {
		name, iface, want string
		status            int
		codes             []string
	}{
		{"none", dev, "nfs [iwarp] []; smb [iwarp] []", 0, nil},
		{"rxe", dev, "nfs [iwarp] [verbs-not-built]; rxe0/1 is active roce (rxe); smb [iwarp] [verbs-not-built]", 1, []string{"verbs-not-built"}},
		{"devices-off", dev, "nfs [iwarp] [device-not-used]; rxe0/1 is active roce (rxe); smb [iwarp] [device-not-used]", 1, nil},
		{"signing", dev, "nfs [iwarp] [verbs-not-built]; rxe0/1 is active roce (rxe); smb [iwarp] [verbs-not-built]", 1, []string{"smb-signing"}},
		{"siw", dev, "nfs [iwarp] [device-not-used]; siw0/1 is active iwarp (siw); smb [iwarp] [device-not-used]", 0, []string{"device-not-used"}},
		{"siw-alone", dev, "nfs [] [iwarp-off verbs-not-built]; siw0/1 is active iwarp (siw); smb [] [iwarp-off verbs-not-built]", 1, []string{"no-rdma"}},
		{"link-down", "down0", "nfs [] [link-down]; siw1/1 is down iwarp (siw); smb [] [link-down]", 1, []string{"link-down"}},
		{"knfsd", dev, "nfs [] [device-not-used port-taken]; siw0/1 is active iwarp (siw); smb [iwarp] [device-not-used]", 2, []string{"port-taken"}},
	} {
		a, ok := got[tc.name]
		if !ok {
			t.Errorf("%s: the doctor printed nothing", tc.name)
			continue
		}
		r := parse[doctor.Report](t, a)
		iface := tc.iface
		if kind := os.Getenv("FILESERVER_GUEST_KIND"); kind == "qemu" && iface == dev {
			iface = "eth0"
		}
		if s := summary(r, iface); s != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, s, tc.want)
		}
		if a.status != tc.status || a.status != r.Status.ExitStatus() {
			t.Errorf("%s: status %d, %s", tc.name, a.status, r.Status)
		}
		for _, code := range tc.codes {
			if !slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool { return f.Code == code }) {
				t.Errorf("%s: no finding %s", tc.name, code)
			}
		}
		if tc.name == "knfsd" && !strings.Contains(a.text, "port 20049 (nfs.rdma_port) is taken: by the kernel's NFS server, on the device siw0") {
			t.Error("knfsd: the report does not name the kernel's NFS server as the user of the RDMA port")
		}
		if t.Failed() {
			t.Logf("%s", a.text)
		}
	}
}

// TestConnect wants the doctor to reach the kernel's server by software iWARP on siw, but not on rxe, which uses RoCE.
func TestConnect(t *testing.T) {
	for name, want := range map[string]string{"siw": "tcp connected, iwarp connected, verbs no-provider", "rxe": "tcp connected, iwarp refused, verbs no-provider"} {
		t.Run(name, func(t *testing.T) {
			a := run(t, connect, name)[name]
			r := parse[doctor.Connection](t, a)
			var words []string
			for _, at := range r.Attempts {
				words = append(words, at.Transport+" "+at.Code)
			}
			if s := strings.Join(words, ", "); s != want || a.status != r.Status.ExitStatus() {
				t.Errorf("%s, want %s\n%s", s, want, a.text)
			}
		})
	}
}

// TestOurs connects to our server outside. Its network namespace is not that of its sysfs, and it reports that its address has RDMA.
func TestOurs(t *testing.T) {
	host := guest.ForTest(t)
	const port = "1445" // a user other than root may not listen on 445
	state, file := t.TempDir(), filepath.Join(t.TempDir(), "fileserver.yaml")
	if err := os.WriteFile(file, []byte("smb: {port: "+port+"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	add := exec.Command(program(t), "user", "add", "--state-dir", state, "--uid", "0", "--gid", "0", "ann")
	add.Stdin = strings.NewReader("secret\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server, err := host.Start(nil, program(t), "serve", "--config", file, "--share", "data="+t.TempDir(), "--state-dir", state, "--listen", host.Listen(), "--allow", host.Clients())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := host.WaitTCP(ctx, server, port); err != nil {
		t.Fatal(err)
	}
	a := runOn(t, host, ours, host.Addr(), file)["ours"]
	r := parse[doctor.Connection](t, a)
	for _, at := range r.Attempts {
		if at.OK != (at.Transport != "verbs") {
			t.Errorf("%+v", at)
		}
		if at.SMB == nil {
			continue
		}
		// The address is listed for RDMA, and again for TCP with RSS.
		if all := at.SMB.Interfaces; len(all) != 2 || all[0].Address != host.Listen() || !all[0].RDMA ||
			all[1].Address != host.Listen() || all[1].RDMA || !all[1].RSS {
			t.Errorf("%s: interfaces %+v", at.Transport, all)
		}
	}
	if len(r.Attempts) != 6 || a.status != 0 {
		t.Errorf("status %d\n%s", a.status, a.text)
	}
}
