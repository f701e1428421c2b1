// Package samba says how tests and measurements run Samba's smbd: as one program with a user and the share "data", in a directory.
package samba

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Config is an smbd to be.
type Config struct {
	Dir   string // for what it keeps, as it sees it
	Port  int    // on loopback
	Share string // the directory of the share, as it sees it
	// Global and Data are further lines of the configuration: of all, and of the share.
	Global, Data string
}

const text = `[global]
  interfaces = lo
  bind interfaces only = yes
  smb ports = %[2]d
  private dir = %[1]s
  lock directory = %[1]s
  state directory = %[1]s
  cache directory = %[1]s
  pid directory = %[1]s
  ncalrpc dir = %[1]s
  log file = %[1]s/log
  username map = %[1]s/users
  disable netbios = yes
  load printers = no
%[4]s[data]
  path = %[3]s
  read only = no
%[5]s`

// Write writes smb.conf, and the map that makes user root, into dir, which smbd sees as c.Dir. It returns the name of smb.conf.
func (c *Config) Write(dir, user string) (string, error) {
	conf := filepath.Join(dir, "smb.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, text, c.Dir, c.Port, c.Share, c.Global, c.Data), 0o600); err != nil {
		return "", err
	}
	return conf, os.WriteFile(filepath.Join(dir, "users"), []byte("root = "+user+"\n"), 0o600)
}

// Prepare puts the command, which becomes smbd, into a process group of its own: it forks for every connection.
func Prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
}

// Stop ends smbd, with all of its group if it does not end by itself. What its Wait returns comes through gone.
func Stop(cmd *exec.Cmd, gone <-chan error) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-gone
	}
}
