// Package samba configures and runs Samba's smbd for tests and measurements: one program in a directory, with one user and the share "data".
package samba

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Config configures an smbd. Its paths are as smbd sees them, which may be in a chroot.
type Config struct {
	Dir   string // for its state
	Port  int    // on loopback
	Share string // the directory of the share
	// Global and Data are further lines of the sections global and data.
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

// Write writes smb.conf, and the map that makes user root, into dir, which smbd sees as c.Dir. It returns smb.conf's path as smbd sees it.
func (c *Config) Write(dir, user string) (string, error) {
	conf := filepath.Join(dir, "smb.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, text, c.Dir, c.Port, c.Share, c.Global, c.Data), 0o600); err != nil {
		return "", err
	}
	return conf, os.WriteFile(filepath.Join(dir, "users"), []byte("root = "+user+"\n"), 0o600)
}

// Prepare gives the smbd that cmd will start its own process group, because smbd forks for every connection.
func Prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
}

// Stop ends smbd. If smbd does not end in time, Stop kills its process group. gone delivers the result of the command's Wait.
func Stop(cmd *exec.Cmd, gone <-chan error) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-gone
	}
}
