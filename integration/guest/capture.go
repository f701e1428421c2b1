package guest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// startCapture records a device's traffic to a file until the guest has ended. It returns when packets are taken.
func (g *Guest) startCapture(h *Host, dev, file string) error {
	p, err := h.Start(os.Environ(), "dumpcap", "-q", "-i", dev, "-s", "0", "-B", "64", "-P", "-w", file)
	if err != nil {
		return fmt.Errorf("%w: as root type: apt-get install -y tshark", err)
	}
	g.capture, g.pcap = p, file
	for range 1200 { // a minute, where the machine is busy
		if strings.Contains(p.Output(), "File:") {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("guest: dumpcap: %s", p.Output())
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("guest: dumpcap does not start: %s", p.Output())
}

// stopCapture ends the capture with its file complete.
func (g *Guest) stopCapture() error {
	if g.capture == nil {
		return nil
	}
	// dumpcap takes packets from its ring in intervals, and leaves there what it has not taken when it is told to end.
	for size, calm := int64(-1), 0; calm < 5; calm++ {
		time.Sleep(200 * time.Millisecond)
		info, err := os.Stat(g.pcap)
		if err != nil {
			return fmt.Errorf("guest: dumpcap: %w", err)
		}
		if info.Size() != size {
			size, calm = info.Size(), 0
		}
	}
	if err := g.capture.Stop(syscall.SIGINT, time.Minute); err != nil {
		return fmt.Errorf("guest: dumpcap: %w: %s", err, g.capture.Output())
	}
	return nil
}
