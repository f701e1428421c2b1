package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// receiveBuffer is for the packets of one guest that it had no time for yet, bytes. The kernel's choice, 208 KiB, is 23 packets of 9000 bytes:
// TCP copes with the loss of what comes after them, and rxe, for which one RDMA READ of a mebibyte is a burst of 256, does not.
const receiveBuffer = 256 << 20

// widen makes the receive buffers of a User Mode Linux's network devices large. The kernel has no option for them; they are its packet
// sockets.
func widen(pid int) error {
	fds := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	list, err := os.ReadDir(fds)
	if err != nil {
		return fmt.Errorf("guest: its sockets: %w", err)
	}
	p, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("guest: pidfd_open: %w", err)
	}
	defer unix.Close(p)
	n := 0
	for _, e := range list {
		if to, err := os.Readlink(filepath.Join(fds, e.Name())); err != nil || !strings.HasPrefix(to, "socket:") {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		wide, err := widenSocket(p, fd)
		if err != nil {
			return fmt.Errorf("guest: its socket %d: %w", fd, err)
		}
		n += wide
	}
	if n == 0 {
		return errors.New("guest: its network has no packet socket")
	}
	return nil
}

// widenSocket returns how many packet sockets fd of a process was: none or one.
func widenSocket(pidfd, fd int) (int, error) {
	s, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(s)
	if domain, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || domain != unix.AF_PACKET {
		return 0, err
	}
	return 1, unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer)
}
