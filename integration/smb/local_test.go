package smb

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fileserver/internal/logbuf"
)

// local is a server on this machine's loopback, for clients that are programs and need no guest.
type local struct {
	Port string // of TCP, on 127.0.0.1
	Dir  string // the directory of the share "data", which the user owns
	Log  func() string
}

// second is another user of local servers, with the same password and the same files.
const second = "bob"

// newLocal starts a server for one test, with the user User.
func newLocal(ctx context.Context, t *testing.T) *local {
	t.Helper()
	return newLocalWith(ctx, t, "")
}

// newLocalWith starts a server with the users User and second. more adds settings to the section smb, each as ", key: value".
func newLocalWith(ctx context.Context, t *testing.T, more string) *local {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	server, state := filepath.Join(bin, "fileserver"), t.TempDir()
	l := &local{Port: freePort(t), Dir: t.TempDir()}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		// Root may do everything, so the tests would not notice missing permissions.
		uid, gid = 1000, 1000
		if err := os.Chown(l.Dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{User, second} {
		add := exec.CommandContext(ctx, server, "user", "add", "--state-dir", state, "--uid", strconv.Itoa(uid), "--gid", strconv.Itoa(gid), name)
		add.Stdin = strings.NewReader(Password + "\n")
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatalf("user add: %v\n%s", err, out)
		}
	}
	file := filepath.Join(state, "fileserver.yaml")
	text := fmt.Sprintf("state_dir: %s\nshares: {data: {path: %s}}\nnfs: {enabled: false}\nsmb: {enabled: true, port: %s, rdma_port: %s%s}\n",
		state, l.Dir, l.Port, freePort(t), more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out logbuf.Buffer
	l.Log = out.String
	cmd := exec.Command(server, "serve", "--config", file)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		stopLocal(t, cmd.Process, ended)
		if s := out.String(); t.Failed() || strings.Contains(s, "panic:") || strings.Contains(s, "DATA RACE") {
			t.Errorf("the server's log:\n%s", s)
		}
	})
	for {
		c, err := net.Dial("tcp", "127.0.0.1:"+l.Port)
		if err == nil {
			c.Close()
			return l
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the server ended: %v", err)
		case <-ctx.Done():
			t.Fatalf("the server does not listen: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stopLocal ends the server with SIGTERM, as an administrator does.
func stopLocal(t *testing.T, p *os.Process, ended chan error) {
	_ = p.Signal(syscall.SIGTERM) // an error means that it has ended already, which Wait reports
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the server ended with an error: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the server does not end after SIGTERM")
		_ = p.Kill()
		<-ended
	}
}

// freePort returns a port of 127.0.0.1 that no program listens on at the moment.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
