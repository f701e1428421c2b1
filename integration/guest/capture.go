package guest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// startCapture records a device's traffic in a file until the guest has ended. It returns once dumpcap records packets.
func (g *Guest) startCapture(h *Host, dev, file string) error {
	p, err := h.Start(os.Environ(), "dumpcap", "-q", "-i", dev, "-s", "0", "-B", "64", "-P", "-w", file)
	if err != nil {
		return fmt.Errorf("%w: as root type: apt-get install -y tshark", err)
	}
	g.capture, g.pcap = p, file
	for range 1200 { // a minute, because the machine may be busy
		if strings.Contains(p.Output(), "File:") {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("guest: dumpcap: %s", p.Output())
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("guest: dumpcap has recorded nothing for a minute: %s", p.Output())
}

// stopCapture ends the capture once its file is complete.
func (g *Guest) stopCapture() error {
	if g.capture == nil {
		return nil
	}
	// dumpcap empties its ring at intervals. When it is told to end, it discards the packets that are still there.
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
