package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// samba is Debian's smbd on the same directory, to compare with.
type samba struct {
	cmd  *exec.Cmd
	gone chan error
	addr netip.AddrPort
}

// startSamba starts smbd if there is one and this is root, otherwise it returns nil.
func startSamba(ctx context.Context, work, share string) (*samba, error) {
	smbd, err := exec.LookPath("smbd")
	if err != nil || os.Getuid() != 0 {
		fmt.Fprintln(os.Stderr, "bench: no comparison with Samba: that needs root, and the package samba")
		return nil, nil
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(work, "samba")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "smb.conf")
	text := fmt.Sprintf(`[global]
  interfaces = lo
  bind interfaces only = yes
  smb ports = %d
  private dir = %[2]s
  lock directory = %[2]s
  state directory = %[2]s
  cache directory = %[2]s
  pid directory = %[2]s
  ncalrpc dir = %[2]s
  log file = %[2]s/log
  username map = %[2]s/users
  disable netbios = yes
  load printers = no
  smb2 leases = no
  oplocks = no
[data]
  path = %[3]s
  read only = no
`, port, dir, share)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "users"), []byte("root = "+smbUser+"\n"), 0o600); err != nil {
		return nil, err
	}
	add := exec.CommandContext(ctx, "smbpasswd", "-c", conf, "-a", "-s", "root")
	add.Stdin = strings.NewReader(smbPassword + "\n" + smbPassword + "\n")
	if out, err := add.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("smbpasswd: %w\n%s", err, out)
	}
	s := &samba{
		cmd:  exec.Command(smbd, "-F", "--no-process-group", "-s", conf),
		gone: make(chan error, 1), addr: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port),
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.gone <- s.cmd.Wait() }()
	for range 100 {
		if nc, err := net.Dial("tcp", s.addr.String()); err == nil {
			nc.Close()
			return s, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.close()
	return nil, fmt.Errorf("smbd does not listen on %v", s.addr)
}

func (s *samba) close() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	select {
	case <-s.gone:
	case <-time.After(5 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.gone
	}
}
