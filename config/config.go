package config

import (
	"log/slog"
	"net/netip"
	"time"
)

// Config is a complete, valid configuration. It is shared between goroutines
// and must not be changed after [Load] returned it.
type Config struct {
	// Listen are the addresses every service listens on; the ports are the services'.
	Listen []netip.Addr `mapstructure:"listen"`
	// Allow are the clients admitted by shares that state none of their own.
	Allow []netip.Prefix `mapstructure:"allow"`
	// StateDir holds what survives a restart: recovery records, keys, handles.
	StateDir string `mapstructure:"state_dir"`
	// Shares are in order of their names.
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
	// Warnings are lines for the operator: settings that are valid, but
	// probably do not do what was meant.
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
	// Port is the TCP port of NFS and MOUNT together. 0 takes a free one.
	Port uint16 `mapstructure:"port"`
	// RDMAPort is the port of NFS over RDMA, on every device. 0 takes a free one.
	RDMAPort uint16    `mapstructure:"rdma_port"`
	Versions []Version `mapstructure:"versions"`
	// Lease is how long an NFSv4 client may be silent before it may lose its
	// state (RFC 8881 8.3); Grace how long after a start clients may reclaim theirs (8.4.2).
	Lease time.Duration `mapstructure:"lease"`
	Grace time.Duration `mapstructure:"grace"`
	// PrivilegedPorts: where a share believes callers about who they are (it does not squash all), their port must be below
	// 1024, which only root of the client can take.
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
	// MaxFPDU overrides the largest FPDU sent, bytes; 0 chooses by the peer.
	MaxFPDU int `mapstructure:"max_fpdu"`
}

// CRC says when the CRC32C of MPA is used (RFC 5044 4.4).
type CRC string

// The ways to decide about the CRC.
const (
	CRCAuto   CRC = "auto"   // when the peer asks for it
	CRCAlways CRC = "always" // on every connection
)

// Limits bound what clients can make the server hold.
type Limits struct {
	Memory Size `mapstructure:"memory"` // all data buffers together
	// ConnectionMemory is what the requests of one connection may hold of it until their replies are out, bytes. 0 leaves it
	// to each protocol.
	ConnectionMemory Size `mapstructure:"connection_memory"`
	Connections      int  `mapstructure:"connections"` // open at once, on each transport
	// ConnectionsPerAddress are those of one client among them: of one IPv4 address, or IPv6 network of 64 bits.
	ConnectionsPerAddress int `mapstructure:"connections_per_address"`
	// HalfOpenTimeout is how long a connection may take for its first call, or for SMB to authenticate somebody.
	HalfOpenTimeout time.Duration `mapstructure:"half_open_timeout"`
	// IdleTimeout is how long a connection may do nothing that has nothing open; 0: for ever.
	IdleTimeout time.Duration `mapstructure:"idle_timeout"`
	InFlight    int           `mapstructure:"in_flight"` // calls at once per connection; on RDMA, the credits granted
	// LocksPerOwner are the byte-range locks of one lock-owner of NFSv4, or of one open file of SMB; LocksPerClient those of a client ID or session.
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

// defaults are the values of the keys nothing sets. Every key must be here: the
// environment is searched for these.
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

// nobody is the uid and gid of the anonymous user where the server may act for others.
const nobody = 65534

// shareNFSDefaults are the values of the keys a share's nfs section leaves out.
// A server that is not root owns all it creates and can act for nobody else, so
// there everybody is mapped to the server's own user.
func shareNFSDefaults(uid, gid int) map[string]any {
	if uid == 0 {
		return map[string]any{"squash": "root", "anonuid": nobody, "anongid": nobody, "security": []string{"sys"}}
	}
	return map[string]any{"squash": "all", "anonuid": uid, "anongid": gid, "security": []string{"sys"}}
}
