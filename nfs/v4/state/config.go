package state

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"fileserver/internal/budget"
	"fileserver/nfs/v4/proto"
	"fileserver/vfs/lock"
)

// Config configures [Clients]. Zero fields get the defaults named.
type Config struct {
	// Instance differs from that of every former run of the server: it is in all
	// client IDs and stateids, so that theirs are recognised. Default 1.
	Instance uint32
	Lease    time.Duration // 90 s
	// Courtesy is how long the state of an expired client is kept while nobody conflicts with it. 24 h.
	Courtesy time.Duration

	MaxClients     int // 4096; one address has at most a quarter of them
	MaxUnconfirmed int // of one address, client IDs without CREATE_SESSION: 64
	MaxSessions    int // of one client: 16
	MaxAllSessions int // 4096; one address has at most a quarter of them
	MaxStates      int // opens and locks of one client: 1 << 18
	MaxAllStates   int // 1 << 20; one address has at most a quarter of them

	// OwnerBytes bounds the open-owners and lock-owners of all states together, bytes: 64 MiB. An owner may have 1024 bytes
	// (RFC 8881 3.1), and clients use some 30. One address has at most a quarter.
	OwnerBytes int64
	// ReplyCache bounds the reply caches of all sessions together, bytes: 64 MiB. One address has at most a quarter.
	ReplyCache int64

	// Files divides the files that may be open among clients, by their addresses. Nil: no bound but those above.
	Files *budget.Files

	// Fore are the most a fore channel is given (RFC 8881 18.36.3).
	Fore proto.ChannelAttrs

	// Locks is the arbiter of share reservations. Default: one of its own.
	Locks *lock.Manager

	// Random returns unguessable numbers for session IDs. Default: crypto/rand.
	Random func() uint64
}

// Defaults of Fore.
const (
	maxIO            = 1 << 20
	overhead         = 16 << 10 // of headers and other operations around a READ or WRITE
	maxCached        = 2 << 10
	maxOps           = 64
	maxSlots         = 128
	minMessage       = 256 // bytes: below, hardly more than SEQUENCE fits
	defaultLease     = 90 * time.Second
	defaultCourtesy  = 24 * time.Hour
	defaultClients   = 4096
	defaultSessions  = 16
	unconfirmed      = 64
	replyCache       = 64 << 20
	allSessions      = 4096
	defaultMaxStates = 1 << 18
	allStates        = 1 << 20
	ownerBytes       = 64 << 20
)

func (c Config) withDefaults() Config {
	if c.Instance == 0 {
		c.Instance = 1
	}
	if c.Lease <= 0 {
		c.Lease = defaultLease
	}
	if c.Courtesy <= 0 {
		c.Courtesy = defaultCourtesy
	}
	for _, d := range []struct {
		v *int
		d int
	}{
		{&c.MaxClients, defaultClients}, {&c.MaxUnconfirmed, unconfirmed},
		{&c.MaxSessions, defaultSessions}, {&c.MaxAllSessions, allSessions},
		{&c.MaxStates, defaultMaxStates}, {&c.MaxAllStates, allStates},
	} {
		if *d.v <= 0 {
			*d.v = d.d
		}
	}
	if c.OwnerBytes <= 0 {
		c.OwnerBytes = ownerBytes
	}
	if c.ReplyCache <= 0 {
		c.ReplyCache = replyCache
	}
	f := &c.Fore
	for _, d := range []struct {
		v *uint32
		d uint32
	}{
		{&f.MaxRequest, maxIO + overhead}, {&f.MaxResponse, maxIO + overhead}, {&f.MaxResponseCached, maxCached},
		{&f.MaxOps, maxOps}, {&f.MaxRequests, maxSlots},
	} {
		if *d.v == 0 {
			*d.v = d.d
		}
	}
	if c.Locks == nil {
		c.Locks = lock.New()
	}
	if c.Random == nil {
		c.Random = func() uint64 {
			var b [8]byte
			_, _ = rand.Read(b[:]) // does not fail (crypto/rand)
			return binary.BigEndian.Uint64(b[:])
		}
	}
	return c
}
