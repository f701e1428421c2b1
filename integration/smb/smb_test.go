package smb

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
)

// TestWorkloads runs the workloads, each on a mount whose transport the script checks.
func TestWorkloads(t *testing.T) {
	for _, w := range Workloads {
		t.Run(w.Name, func(t *testing.T) {
			ctx := workload.Within(t, 6*time.Minute)
			r := newRig(ctx, t)
			r.mount.MTU, r.mount.Options = w.MTU, append(r.mount.Options, w.Options...)
			r.run(ctx, t, w.Name)
			if w.Tree != "" && !t.Failed() {
				r.SameTree(t, w.Tree)
			}
		})
	}
}

// TestMounts mounts with other options. Data moves by RDMA unless it is signed, encrypted or on TCP; then the server's log gives the
// reason.
func TestMounts(t *testing.T) {
	mounts := []struct {
		name   string
		proto  string // rdma if empty
		vers   string // 3.1.1 if empty
		opts   []string
		expect []string
		smb    []string // the server's configuration
		log    string   // a regular expression that the server's log must match
		rdma   bool     // data moves by RDMA
	}{
		{name: "plain", log: `rdma=yes`, rdma: true},
		{name: "3.0.2", vers: "3.02", log: `dialect=3.0.2 .*rdma=yes`, rdma: true},
		{name: "posix", opts: []string{"posix"}, expect: []string{"posix"}, log: `rdma=yes`, rdma: true},
		{name: "signed", opts: []string{"sign"}, log: `signing="required, [^"]*".* rdma="signed clients send data inline"`},
		{name: "signed by the server", smb: []string{"signing: required"}, log: `rdma="signed clients send data inline"`},
		{name: "encrypted", opts: []string{"seal"}, expect: []string{"seal"}, log: `: the client encrypts".*transport=iwarp .*cipher=AES-128-GCM rdma="no: what is encrypted goes inline"`},
		{name: "encrypted by the server", smb: []string{"encryption: required"}, log: `encryption="required, AES-128-GCM" rdma="no: what is encrypted goes inline"`},
		{name: "tcp", proto: "tcp", log: `transport=tcp .*rdma=no`},
		{name: "tcp signed", proto: "tcp", opts: []string{"sign"}, log: `transport=tcp .*signing="required, `},
		{name: "tcp encrypted", proto: "tcp", opts: []string{"seal"}, expect: []string{"seal"}, log: `: the client encrypts".*transport=tcp .*rdma=no`},
		{name: "tcp 2.1", proto: "tcp", vers: "2.1", log: `dialect=2.1 `},
	}
	for _, m := range mounts {
		t.Run(m.name, func(t *testing.T) {
			ctx := workload.Within(t, 3*time.Minute)
			r := newRig(ctx, t, m.smb...)
			if m.vers != "" {
				r.mount.Vers = m.vers
			}
			if m.proto != "" {
				r.mount.Proto = m.proto
			}
			r.mount.Options, r.mount.Expect = append(r.mount.Options, m.opts...), append(r.mount.Expect, m.expect...)
			r.run(ctx, t, "short")
			if samba() {
				return
			}
			if !regexp.MustCompile(`msg="?smb: session.*` + m.log).MatchString(r.Server.Output()) {
				t.Errorf("the server's log does not match %s", m.log)
			}
			moved := r.metrics(t)
			if got := moved[`smbdirect_bytes_total{direction="in",path="rdma"}`] > 0; got != m.rdma {
				t.Errorf("bytes: %v", moved)
			}
		})
	}
}

// run has a client run a workload, and checks the logs of the client's kernel and of the server.
func (r *rig) run(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	res := r.boot(t, name, guest.Config{}).Check(ctx, t)
	t.Logf("%v; %s", res.Took.Round(time.Millisecond), strings.ReplaceAll(strings.TrimSpace(res.Output), "\n", "; "))
	if r.mount.Proto == "rdma" && !strings.Contains(res.Kernel.Script().String(), "RDMA transport established") {
		t.Errorf("the client's kernel has not established the RDMA transport:\n%s", res.Kernel.Transport())
	}
	if strings.Contains(r.Server.Output(), "oplock break unanswered") {
		t.Error("the client has not answered an oplock break")
	}
}
