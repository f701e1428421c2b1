package smbdirect

import (
	"fmt"
	"time"
)

// Implementation constants: those of Windows and Linux (MS-SMBD appendix B), or the reason
// for another value.
const (
	// DefaultCredits is how many receives are posted at most, and how many credits are asked of the peer.
	DefaultCredits = 255
	// firstReceives is how many receives a server posts until the peer is authenticated and uses more. An idle
	// connection holds no more of the pool.
	firstReceives = 16
	// DefaultSendSize and DefaultReceiveSize are the bytes of one SEND, as all
	// current peers use them. Larger ones cost memory and gain nothing, because file data moves by RDMA.
	DefaultSendSize    = 1364
	DefaultReceiveSize = 1364
	// DefaultFragmented is the longest message received, bytes. Receives are not
	// held while a message is reassembled, so their number does not limit it.
	DefaultFragmented = 1 << 20
	// DefaultReadWrite is how many bytes one SMB READ or WRITE may move by RDMA.
	DefaultReadWrite = 8 << 20

	negotiateTimeout   = 5 * time.Second   // server: from the connection to the request
	clientTimeout      = 120 * time.Second // client: from the request to the response
	idleTimeout        = 120 * time.Second
	keepaliveTimeout   = 5 * time.Second
	creditGrantTimeout = 5 * time.Second
)

// Params are the limits of one side (MS-SMBD 3.1.1.1). Zero fields mean the defaults.
type Params struct {
	Credits       int // receives posted at most, and send credits asked for: 1 to 65535
	SendSize      int // bytes of one SEND
	ReceiveSize   int // bytes of one receive: at least 128
	MaxFragmented int // bytes of one message received: at least 131072
	MaxReadWrite  int // bytes of one RDMA transfer; server only
	// Idle and Keepalive are the timers of MS-SMBD 3.1.2; Grant the send credit grant timer.
	Idle, Keepalive, Grant time.Duration
	Negotiate              time.Duration
}

func (p Params) withDefaults(client bool) Params {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	dur := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	def(&p.Credits, DefaultCredits)
	def(&p.SendSize, DefaultSendSize)
	def(&p.ReceiveSize, DefaultReceiveSize)
	def(&p.MaxFragmented, DefaultFragmented)
	def(&p.MaxReadWrite, DefaultReadWrite)
	dur(&p.Idle, idleTimeout)
	dur(&p.Keepalive, keepaliveTimeout)
	dur(&p.Grant, creditGrantTimeout)
	if client {
		dur(&p.Negotiate, clientTimeout)
	} else {
		dur(&p.Negotiate, negotiateTimeout)
	}
	return p
}

// check verifies the configured limits; p has its defaults.
func (p Params) check() error {
	switch {
	case p.Credits < 1 || p.Credits > 65535:
		return fmt.Errorf("smbdirect: %d credits; choose 1 to 65535", p.Credits)
	case p.ReceiveSize < minReceiveSize:
		return fmt.Errorf("smbdirect: receives of %d bytes; choose %d or more", p.ReceiveSize, minReceiveSize)
	case p.SendSize < minReceiveSize:
		return fmt.Errorf("smbdirect: sends of %d bytes; choose %d or more", p.SendSize, minReceiveSize)
	case p.MaxFragmented < minFragmentedSize:
		return fmt.Errorf("smbdirect: messages of at most %d bytes; choose %d or more", p.MaxFragmented, minFragmentedSize)
	}
	return nil
}
