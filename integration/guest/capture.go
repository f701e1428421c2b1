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
	g.capture = p
	for range 100 {
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
	time.Sleep(200 * time.Millisecond) // dumpcap reads its ring in intervals
	if err := g.capture.Stop(syscall.SIGINT, 5*time.Second); err != nil {
		return fmt.Errorf("guest: dumpcap: %w: %s", err, g.capture.Output())
	}
	return nil
}
