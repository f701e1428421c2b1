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

	"fileserver/integration/cputime"
	conf "fileserver/integration/samba"
)

// samba is the smbd of a newer Samba on the same directory, to compare with.
type samba struct {
	tree string // the directory for chroot with smbd and smbtorture
	cmd  *exec.Cmd
	gone chan error
	addr netip.AddrPort
}

// sambaMount is the mount point of the rig's directory in the tree, in smbd's own mount namespace.
const sambaMount = "/mnt"

// startSamba starts the smbd of tree (package debian) on the share below work.
func startSamba(tree, work, share string) (*samba, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(work, "samba")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	share, err = filepath.Rel(work, share)
	if err != nil {
		return nil, err
	}
	c := conf.Config{Dir: sambaMount + "/samba", Port: int(port), Share: filepath.Join(sambaMount, share)}
	if _, err := c.Write(dir, smbUser); err != nil {
		return nil, err
	}
	start := `set -e
		mount --bind "$WORK" "$TREE` + sambaMount + `"
		printf '%s\n%s\n' "$PASSWORD" "$PASSWORD" | chroot "$TREE" smbpasswd -c ` + sambaMount + `/samba/smb.conf -a -s root >/dev/null
		exec chroot "$TREE" smbd -F --no-process-group -s ` + sambaMount + `/samba/smb.conf`
	s := &samba{
		tree: tree, cmd: exec.Command("unshare", "-m", "sh", "-c", start),
		gone: make(chan error, 1), addr: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port),
	}
	s.cmd.Env = append(os.Environ(), "WORK="+work, "TREE="+tree, "PASSWORD="+smbPassword)
	conf.Prepare(s.cmd) // cpu then measures only smbd's group
	var out strings.Builder
	s.cmd.Stdout, s.cmd.Stderr = &out, &out
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.gone <- s.cmd.Wait() }()
	for range 200 {
		if nc, err := net.Dial("tcp", s.addr.String()); err == nil {
			nc.Close()
			return s, nil
		}
		select {
		case err := <-s.gone:
			return nil, fmt.Errorf("smbd: %w\n%s", err, out.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
	s.close()
	return nil, fmt.Errorf("smbd does not listen on %v", s.addr)
}

// version returns smbd's version, such as 4.25.1.
func (s *samba) version(ctx context.Context) string {
	out, _ := s.command(ctx, "smbd", "--version").Output()
	v, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "Version "), "-")
	return v
}

// command returns a command that runs a program of the tree.
func (s *samba) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "chroot", append([]string{s.tree, name}, args...)...)
	cmd.WaitDelay = time.Second
	return cmd
}

// cpu returns the processor time that smbd and its children have used.
func (s *samba) cpu() (time.Duration, error) { return cputime.Group(s.cmd.Process.Pid) }

func (s *samba) close() { conf.Stop(s.cmd, s.gone) }
