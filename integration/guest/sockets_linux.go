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

// receiveBuffer is the size in bytes of the buffer for packets that a guest has not read yet. The kernel's default, 208 KiB, holds 23
// packets of 9000 bytes. TCP copes with the loss of further packets. rxe does not: one RDMA READ of a mebibyte is a burst of 256.
const receiveBuffer = 256 << 20

// enlargeReceiveBuffers enlarges the receive buffers of a User Mode Linux's network devices. These are packet sockets of its process,
// and it has no option for their buffers.
func enlargeReceiveBuffers(pid int) error {
	fds := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	list, err := os.ReadDir(fds)
	if err != nil {
		return fmt.Errorf("guest: the guest's sockets: %w", err)
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
		enlarged, err := enlargeReceiveBuffer(p, fd)
		if err != nil {
			return fmt.Errorf("guest: the guest's socket %d: %w", fd, err)
		}
		n += enlarged
	}
	if n == 0 {
		return errors.New("guest: the guest's process has no packet socket")
	}
	return nil
}

// enlargeReceiveBuffer enlarges the buffer of a process's fd if it is a packet socket. It returns 1 then, and otherwise 0.
func enlargeReceiveBuffer(pidfd, fd int) (int, error) {
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
