package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// SMB is the SMB service.
type SMB struct {
	Enabled Switch `mapstructure:"enabled"`
	// Port are the TCP ports. 0 chooses a free one.
	Port []uint16 `mapstructure:"port"`
	// RDMAPort are the ports of SMB Direct, on every device, or [PortAuto]; see [Config.SMBDirectPorts]. 0 chooses a free one.
	RDMAPort []RDMAPort `mapstructure:"rdma_port"`
	// Name is the server's name, up to 15 characters; empty: the host's name.
	Name       string     `mapstructure:"name"`
	Workgroup  string     `mapstructure:"workgroup"`
	Signing    Signing    `mapstructure:"signing"`
	Encryption Encryption `mapstructure:"encryption"`
	MinDialect Dialect    `mapstructure:"min_dialect"`
	MaxDialect Dialect    `mapstructure:"max_dialect"`
	// Guest is the user (see `fileserver user list`) that clients with an unknown name, or without a name, act as; empty: they are
	// refused.
	Guest string `mapstructure:"guest"`
	// Interfaces are the addresses reported to clients, instead of those of the system.
	Interfaces []Interface `mapstructure:"interfaces"`
}

// Switch says whether a service runs.
type Switch string

// The values of a Switch.
const (
	SwitchAuto Switch = "auto" // if it has users
	SwitchOn   Switch = "true"
	SwitchOff  Switch = "false"
)

// Signing says which messages are signed.
type Signing string

// The ways to sign.
const (
	SigningEnabled  Signing = "enabled"  // those of clients that want it
	SigningRequired Signing = "required" // all; the Linux client then does not use RDMA for data
)

// Encryption says which sessions are encrypted.
type Encryption string

// The ways to encrypt. Data that is encrypted does not go by RDMA.
const (
	EncryptionOff      Encryption = "off"      // those of clients that ask for it, and shares that require it
	EncryptionDesired  Encryption = "desired"  // those of all clients that can
	EncryptionRequired Encryption = "required" // all; clients that cannot are refused
)

// Dialect is a version of SMB.
type Dialect string

// The dialects.
const (
	Dialect202 Dialect = "2.0.2"
	Dialect210 Dialect = "2.1"
	Dialect300 Dialect = "3.0"
	Dialect302 Dialect = "3.0.2"
	Dialect311 Dialect = "3.1.1"
)

func parseDialect(s string) (any, error) {
	if s == "3" { // how YAML reads 3.0
		return Dialect300, nil
	}
	return oneOf(Dialect202, Dialect210, Dialect300, Dialect302, Dialect311)(s)
}

// ShareSMB are a share's options for SMB clients.
type ShareSMB struct {
	Enabled bool `mapstructure:"enabled"`
	// Encrypt refuses requests that are not encrypted.
	Encrypt bool `mapstructure:"encrypt"`
	// Comment is for lists of shares.
	Comment string `mapstructure:"comment"`
	// CaseSensitive looks up names with the exact case only.
	CaseSensitive bool `mapstructure:"case_sensitive"`
	// HideDotFiles sets the hidden attribute on names that begin with a dot.
	HideDotFiles bool `mapstructure:"hide_dot_files"`
	// Oplocks lets clients cache files that nobody else uses.
	Oplocks bool `mapstructure:"oplocks"`
	// FileMode and DirectoryMode are the permissions of what clients create.
	FileMode      Mode `mapstructure:"file_mode"`
	DirectoryMode Mode `mapstructure:"directory_mode"`
}

// shareSMBDefaults returns the values of keys that a share's smb section leaves out.
func shareSMBDefaults() map[string]any {
	return map[string]any{
		"enabled": true, "encrypt": false, "comment": "", "case_sensitive": false, "hide_dot_files": false, "oplocks": true,
		"file_mode": "0644", "directory_mode": "0755",
	}
}

// Mode is the permissions of a file, which are written in octal digits.
type Mode uint32

// String formats the mode as the configuration writes it.
func (m Mode) String() string { return fmt.Sprintf("%04o", uint32(m)) }

func parseMode(s string) (any, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "0o"), 8, 32)
	if err != nil || n > 0o7777 {
		return nil, fmt.Errorf("is not a mode; write octal digits, e.g. 0644")
	}
	return Mode(n), nil
}

// Interface is an address that is reported to SMB clients.
type Interface struct {
	Addr  netip.Addr
	Speed uint64 // bit/s; 0: as the system says
	RDMA  bool
	RSS   bool
}

// String formats the interface as the configuration writes it.
func (i Interface) String() string {
	s := i.Addr.String()
	if i.Speed > 0 {
		s += "/" + strconv.FormatUint(i.Speed/1e6, 10) + "M"
	}
	if i.RDMA {
		s += "/rdma"
	}
	if i.RSS {
		s += "/rss"
	}
	return s
}

// parseInterface reads ADDRESS[/SPEED][/rdma][/rss], the speed in bit/s with M or G.
func parseInterface(s string) (any, error) {
	words := strings.Split(s, "/")
	var i Interface
	var err error
	if i.Addr, err = netip.ParseAddr(words[0]); err != nil {
		return nil, fmt.Errorf("does not begin with an address; write e.g. 192.0.2.10/25G/rdma")
	}
	i.Addr = i.Addr.Unmap()
	for _, w := range words[1:] {
		switch w {
		case "rdma":
			i.RDMA = true
		case "rss":
			i.RSS = true
		default:
			if i.Speed, err = parseSpeed(w); err != nil {
				return nil, err
			}
		}
	}
	return i, nil
}

func parseSpeed(s string) (uint64, error) {
	unit := uint64(1)
	num := s
	for suffix, u := range map[string]uint64{"M": 1e6, "G": 1e9} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			num, unit = n, u
		}
	}
	n, err := strconv.ParseUint(num, 10, 32)
	if err != nil || n == 0 || unit == 1 {
		return 0, fmt.Errorf("has a speed %q that is none; write e.g. 25G or 100M", s)
	}
	return n * unit, nil
}
