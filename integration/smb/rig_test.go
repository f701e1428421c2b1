package smb

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fileserver/integration/guest"
	"fileserver/integration/workload"
)

// programs builds the programs that the tests run, once: the server, and work, which has the same path in the guest.
var programs = sync.OnceValues(func() (string, error) {
	return workload.Build(workload.Work, workload.Server)
})

// metricsPort is the port on which the server publishes its metrics.
const metricsPort = "9464"

// samba reports whether the tests run against Samba's server, to compare: FILESERVER_GUEST_SERVER=samba.
func samba() bool { return os.Getenv("FILESERVER_GUEST_SERVER") == "samba" }

func TestMain(m *testing.M) {
	status := m.Run()
	if dir, err := programs(); err == nil && dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

// rig is a server with an empty share, and the parameters of its mount.
type rig struct {
	*workload.Rig
	mount Mount
}

// newRig starts a server for one test. options are added to the section smb, in YAML's flow style.
func newRig(ctx context.Context, t *testing.T, options ...string) *rig {
	t.Helper()
	r := &rig{Rig: workload.NewRig(t)}
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	r.mount = Mount{
		Server: r.Host.Addr(), Port: "445", Proto: workload.Proto(), Vers: "3.1.1", User: User, Work: filepath.Join(bin, "work"),
	}
	if os.Geteuid() != 0 {
		r.mount.Port = "1445" // a user other than root may not listen on 445
	}
	r.Share(t)
	if samba() {
		r.serveSamba(ctx, t)
		return r
	}
	state := t.TempDir()
	server := filepath.Join(bin, "fileserver")
	add := exec.CommandContext(ctx, server, "user", "add", "--state-dir", state, "--uid", "1000", "--gid", "1000", User)
	add.Stdin = strings.NewReader(Password + "\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("user add: %v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "fileserver.yaml")
	text := strings.Join([]string{
		"state_dir: " + state,
		"listen: [" + r.Host.Listen() + "]",
		"allow: [" + r.Host.Clients() + "]",
		"metrics: {listen: '" + r.Host.Listen() + ":" + metricsPort + "', pprof: true}",
		"nfs: {enabled: false}",
		"smb: {" + strings.Join(append(options, "enabled: true", "port: "+r.mount.Port), ", ") + "}",
		"shares: {data: {path: " + r.Dir + "}}",
	}, "\n")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Serve(ctx, t, r.mount.Port, server, "serve", "--config", file)
	return r
}

// serveSamba starts Samba's server.
func (r *rig) serveSamba(ctx context.Context, t *testing.T) {
	t.Helper()
	r.Others = true
	r.mount.Proto, r.mount.User = "tcp", "root" // Samba's users must be users of the system
	dir, err := os.MkdirTemp("", "samba-")      // the paths of Unix sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	conf := filepath.Join(dir, "smb.conf")
	text := strings.NewReplacer("DIR", dir, "SHARE", r.Dir, "ADDR", r.Host.Listen(), "PORT", r.mount.Port).Replace(`[global]
private dir = DIR
lock dir = DIR
state directory = DIR
cache directory = DIR
pid directory = DIR
ncalrpc dir = DIR/rpc
log file = DIR/log
interfaces = ADDR
bind interfaces only = yes
smb ports = PORT
disable netbios = yes
load printers = no
[data]
path = SHARE
read only = no
store dos attributes = yes
`)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	add := exec.CommandContext(ctx, "smbpasswd", "-c", conf, "-s", "-a", r.mount.User)
	add.Stdin = strings.NewReader(Password + "\n" + Password + "\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("smbpasswd: %v\n%s", err, out)
	}
	r.Serve(ctx, t, r.mount.Port, "smbd", "--foreground", "--no-process-group", "--debug-stdout", "-s", conf)
}

// boot starts a client that runs a workload.
func (r *rig) boot(t *testing.T, name string, cfg guest.Config) *guest.Guest {
	t.Helper()
	return r.Boot(t, scripts, name, r.mount.Env(), cfg)
}
