package config

import (
	"log/slog"
	"net/netip"
	"time"
)

// Config is a complete, valid configuration. It is shared between goroutines
// and must not be changed after [Load] returned it.
type Config struct {
	// Listen are the addresses that every service listens on, each on its own ports.
	Listen []netip.Addr `mapstructure:"listen"`
	// Allow are the clients admitted to shares that have no list of their own.
	Allow []netip.Prefix `mapstructure:"allow"`
	// StateDir holds what survives a restart: recovery records, keys, handles.
	StateDir string `mapstructure:"state_dir"`
	// Shares are sorted by name.
	Shares  []Share `mapstructure:"shares"`
	NFS     NFS     `mapstructure:"nfs"`
	SMB     SMB     `mapstructure:"smb"`
	RDMA    RDMA    `mapstructure:"rdma"`
	IWARP   IWARP   `mapstructure:"iwarp"`
	Limits  Limits  `mapstructure:"limits"`
	Metrics Metrics `mapstructure:"metrics"`
	Log     Log     `mapstructure:"log"`

	// File is the file that was read, or empty.
	File string `mapstructure:"-"`
	// Warnings are lines for the operator about settings that are valid but probably not intended.
	Warnings []string `mapstructure:"-"`
}

// Share is one directory, published under one name by every enabled protocol:
// NFS path /NAME, SMB path \\SERVER\NAME.
type Share struct {
	Name     string         `mapstructure:"name"`
	Path     string         `mapstructure:"path"`      // absolute after loading
	ReadOnly bool           `mapstructure:"read_only"` // for all clients
	Allow    []netip.Prefix `mapstructure:"allow"`     // clients admitted; after loading never empty
	NFS      ShareNFS       `mapstructure:"nfs"`
	SMB      ShareSMB       `mapstructure:"smb"`
}

// ShareNFS are a share's options for NFS clients.
type ShareNFS struct {
	// Squash says whose requests run as AnonUID and AnonGID.
	Squash  Squash `mapstructure:"squash"`
	AnonUID uint32 `mapstructure:"anonuid"`
	AnonGID uint32 `mapstructure:"anongid"`
	// Security are the RPC security flavours accepted, best first.
	Security []Security `mapstructure:"security"`
}

// Squash says which callers are mapped to the anonymous user.
type Squash string

// The ways to squash.
const (
	SquashNone Squash = "none" // nobody
	SquashRoot Squash = "root" // uid 0 and gid 0
	SquashAll  Squash = "all"  // everybody
)

// Security is an RPC security flavour.
type Security string

// The flavours.
const (
	SecuritySys  Security = "sys"  // AUTH_SYS: the client states uid and gids
	SecurityNone Security = "none" // AUTH_NONE: everybody is the anonymous user
)

// NFS is the NFS service.
type NFS struct {
	Enabled bool `mapstructure:"enabled"`
	// Port is the TCP port of NFS and MOUNT. 0 chooses a free one.
	Port uint16 `mapstructure:"port"`
	// RDMAPort is the port of NFS over RDMA, on every device. 0 chooses a free one.
	RDMAPort uint16    `mapstructure:"rdma_port"`
	Versions []Version `mapstructure:"versions"`
	// Lease is how long an NFSv4 client may be silent before it can lose its state (RFC 8881 8.3). Grace is how long clients
	// may reclaim state after a start (8.4.2).
	Lease time.Duration `mapstructure:"lease"`
	Grace time.Duration `mapstructure:"grace"`
	// PrivilegedPorts requires calls from ports below 1024, which only root of the client can open, if a share believes
	// the uid of callers (it does not squash all).
	PrivilegedPorts bool `mapstructure:"privileged_ports"`
	// ReplyCache bounds the reply caches of all NFSv4 sessions together (RFC 8881 2.10.6), bytes.
	ReplyCache Size `mapstructure:"reply_cache"`
}

// Version is a version of NFS.
type Version string

// The versions.
const (
	Version3  Version = "3"
	Version41 Version = "4.1"
	Version42 Version = "4.2"
)

// Serves reports whether the version is enabled.
func (n *NFS) Serves(v Version) bool {
	for _, have := range n.Versions {
		if have == v {
			return true
		}
	}
	return false
}

// IWARP is the RDMA provider in software.
type IWARP struct {
	Enabled bool `mapstructure:"enabled"`
	CRC     CRC  `mapstructure:"crc"`
	// MaxFPDU is the largest FPDU sent, bytes; with 0 it depends on the peer.
	MaxFPDU int `mapstructure:"max_fpdu"`
}

// CRC says when the CRC32C of MPA is used (RFC 5044 4.4).
type CRC string

// The ways to decide about the CRC.
const (
	CRCAuto   CRC = "auto"   // when the peer asks for it
	CRCAlways CRC = "always" // on every connection
)

// Limits bound the resources that clients can use.
type Limits struct {
	Memory Size `mapstructure:"memory"` // all data buffers together
	// ConnectionMemory is how much of Memory the requests of one connection may hold until their replies are sent, bytes. 0
	// means the default of each protocol.
	ConnectionMemory Size `mapstructure:"connection_memory"`
	Connections      int  `mapstructure:"connections"` // open at once, on each transport
	// ConnectionsPerAddress is how many of them one client may have: one IPv4 address, or one IPv6 network of 64 bits.
	ConnectionsPerAddress int `mapstructure:"connections_per_address"`
	// HalfOpenTimeout is how long a connection may exist before its first call (NFS) or its first login (SMB).
	HalfOpenTimeout time.Duration `mapstructure:"half_open_timeout"`
	// IdleTimeout is how long a connection without open files may be idle; 0: for ever.
	IdleTimeout time.Duration `mapstructure:"idle_timeout"`
	InFlight    int           `mapstructure:"in_flight"` // calls at once per connection; on RDMA, the credits granted
	// LocksPerOwner bounds the byte-range locks of one lock-owner of NFSv4, or of one open file of SMB. LocksPerClient bounds
	// those of one client ID or session.
	LocksPerOwner  int `mapstructure:"locks_per_owner"`
	LocksPerClient int `mapstructure:"locks_per_client"`
}

// Metrics is the listener for Prometheus and health checks.
type Metrics struct {
	Listen string `mapstructure:"listen"` // host:port; empty: none
	Pprof  bool   `mapstructure:"pprof"`  // serve /debug/pprof there
}

// Log is the server's log, on standard error.
type Log struct {
	Level  slog.Level `mapstructure:"level"`
	Format Format     `mapstructure:"format"`
}

// Format is the form of log lines.
type Format string

// The forms of log lines.
const (
	FormatText Format = "text"
	FormatJSON Format = "json"
)

// Size is a number of bytes.
type Size int64

// defaults are the values of keys that no source sets. Every key must be here, because only these are looked up
// in the environment.
var defaults = map[string]any{
	"listen":                         []string{"127.0.0.1", "::1"},
	"allow":                          []string{"127.0.0.0/8", "::1/128"},
	"state_dir":                      "",
	"nfs.enabled":                    true,
	"nfs.port":                       2049,
	"nfs.rdma_port":                  20049,
	"nfs.versions":                   []string{"3", "4.1", "4.2"},
	"nfs.lease":                      "90s",
	"nfs.grace":                      "90s",
	"nfs.privileged_ports":           true,
	"nfs.reply_cache":                "64MiB",
	"smb.enabled":                    "auto",
	"smb.port":                       []string{"445"},
	"smb.rdma_port":                  []string{"auto"},
	"smb.name":                       "",
	"smb.workgroup":                  "WORKGROUP",
	"smb.signing":                    "enabled",
	"smb.encryption":                 "off",
	"smb.min_dialect":                "2.0.2",
	"smb.max_dialect":                "3.1.1",
	"smb.guest":                      "",
	"smb.interfaces":                 []string{},
	"rdma.devices":                   []string{DevicesAuto},
	"rdma.domain":                    "shared",
	"rdma.spin":                      "20us",
	"iwarp.enabled":                  true,
	"iwarp.crc":                      "auto",
	"iwarp.max_fpdu":                 0,
	"limits.memory":                  "1GiB",
	"limits.connection_memory":       0,
	"limits.connections":             1024,
	"limits.connections_per_address": 256,
	"limits.half_open_timeout":       "30s",
	"limits.idle_timeout":            "10m",
	"limits.in_flight":               128,
	"limits.locks_per_owner":         65536,
	"limits.locks_per_client":        262144,
	"metrics.listen":                 "",
	"metrics.pprof":                  false,
	"log.level":                      "info",
	"log.format":                     "text",
}

// nobody is the uid and gid of the anonymous user if the server runs as root.
const nobody = 65534

// shareNFSDefaults returns the values of keys that a share's nfs section leaves out. A server that is not root owns all
// files that it creates and can act for nobody else, so it maps all callers to its own user.
func shareNFSDefaults(uid, gid int) map[string]any {
	if uid == 0 {
		return map[string]any{"squash": "root", "anonuid": nobody, "anongid": nobody, "security": []string{"sys"}}
	}
	return map[string]any{"squash": "all", "anonuid": uid, "anongid": gid, "security": []string{"sys"}}
}
