package bench

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"fileserver/internal/slab"
	"fileserver/smb/crypt"
	"fileserver/smb/wire"
)

// Op is a kind of work.
type Op string

// Kinds of work. Mixed reads and writes at random.
const (
	OpRead      Op = "read"
	OpWrite     Op = "write"
	OpRandRead  Op = "randread"
	OpRandWrite Op = "randwrite"
	OpMixed     Op = "mixed"
)

var ops = []Op{OpRead, OpWrite, OpRandRead, OpRandWrite, OpMixed}

func (o Op) writes() bool { return o == OpWrite || o == OpRandWrite || o == OpMixed }
func (o Op) random() bool { return o == OpRandRead || o == OpRandWrite || o == OpMixed }

// Verify says what is checked.
type Verify string

// What is checked: nothing; what is read; and in the end, what was written.
const (
	VerifyOff   Verify = "off"
	VerifyReads Verify = "reads"
	VerifyAll   Verify = "all"
)

// Config is a run.
type Config struct {
	Target

	Op      Op
	Jobs    int
	Size    int64         // bytes of each job's file
	Time    time.Duration // 0: the whole file once
	Mix     int           // percent of OpMixed that are reads
	Verify  Verify
	Keep    bool          // leave the files
	Name    string        // of the files, a number follows
	Timeout time.Duration // for one request
	Seed    uint64        // of what is random; 0: another each time

	// Progress is called a few times a second; nil: not.
	Progress func(Progress)
}

// Ports by protocol and transport (RFC 8267 6, MS-SMB2 1.9).
func port(proto, transport string) int {
	switch {
	case proto == "nfs" && transport == "tcp":
		return 2049
	case proto == "nfs":
		return 20049
	case transport == "iwarp":
		return 5445
	}
	return 445
}

// maxBlocks bounds the memory for generations: 4 bytes each.
const maxBlocks = 1 << 30

// Complete fills in what follows from the rest, and checks everything: the error names the flags, their values and what to write instead.
func (c *Config) Complete() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	oneOf := func(flag, v string, list ...string) {
		if !slices.Contains(list, v) {
			bad("--%s %s is not known; write one of %s", flag, v, strings.Join(list, ", "))
		}
	}
	between := func(flag string, v, least, most int64) {
		if v < least || v > most {
			bad("--%s %d is out of range; write %d to %d", flag, v, least, most)
		}
	}
	if c.Host == "" {
		bad("there is no host; write the server's name or address, with :PORT if it is not the usual one")
	}
	oneOf("proto", c.Proto, "nfs", "smb")
	if c.Provider == nil {
		oneOf("transport", c.Transport, "tcp", "iwarp", "verbs")
	}
	var names []string
	for _, o := range ops {
		names = append(names, string(o))
	}
	oneOf("op", string(c.Op), names...)
	oneOf("verify", string(c.Verify), string(VerifyOff), string(VerifyReads), string(VerifyAll))
	if c.Port == 0 {
		c.Port = port(c.Proto, c.Transport)
	}
	between("depth", int64(c.Depth), 1, 1024)
	between("jobs", int64(c.Jobs), 1, 256)
	between("mix", int64(c.Mix), 0, 100)
	between("mount-port", int64(c.MountPort), 0, 65535)
	switch bs := int64(c.BlockSize); {
	case bs < cell || bs%cell != 0:
		bad("--bs %d is not a multiple of %d bytes; write e.g. 4k", bs, cell)
	case bs > 8<<20:
		bad("--bs %d is more than a request can move; write at most 8m", bs)
	case c.Size < bs*int64(c.Depth):
		bad("--size %d is less than what is outstanding, --depth %d times --bs %d; write at least %d, or less depth", c.Size, c.Depth, bs, bs*int64(c.Depth))
	case c.Size%bs != 0:
		bad("--size %d is not a multiple of --bs %d; write e.g. %d", c.Size, bs, c.Size/bs*bs)
	case c.Size/bs > maxBlocks:
		bad("--size %d is more than %d blocks of --bs %d; write less, or larger blocks", c.Size, maxBlocks, bs)
	}
	if c.RDMAMin < 0 {
		bad("--rdma-min %d is negative; write e.g. 4k", c.RDMAMin)
	}
	if c.Time < 0 {
		bad("--time %v is negative; write e.g. 10s, or 0 for the whole file once", c.Time)
	}
	if c.Timeout <= 0 {
		bad("--timeout %v is no time; write e.g. 30s", c.Timeout)
	}
	if strings.ContainsAny(c.Name, "\x00\\:*?\"<>|") || slices.ContainsFunc(strings.Split(c.Name, "/"), func(s string) bool { return s == "" || s == "." || s == ".." }) {
		bad("--name %q cannot be the name of a file; write e.g. bench, or dir/bench", c.Name)
	}
	switch c.Proto {
	case "nfs":
		oneOf("vers", c.Version, "3", "4.1", "4.2")
		if c.Share == "" {
			bad("--share is empty; write the path of the export, such as /data")
		}
	case "smb":
		if c.Share == "" || strings.ContainsAny(c.Share, `/\`) {
			bad("--share %q is not the name of a share; write e.g. data", c.Share)
		}
		if c.SMB.User == "" {
			bad("--user is empty; write the name of a user of the server's")
		}
	}
	return errors.Join(errs...)
}

// PoolLimit is what the buffers of a run may take, bytes.
func (c *Config) PoolLimit() int64 {
	n := int64(c.Jobs) * int64(c.Depth+1)
	return max(slab.DefaultLimit, n*int64(4*slab.SizeOf(c.BlockSize+64<<10)))
}

// SetServer takes HOST or HOST:PORT apart.
func (c *Config) SetServer(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil { // without a port
		c.Host = strings.Trim(s, "[]")
		if _, err := netip.ParseAddr(c.Host); strings.Contains(c.Host, ":") && err != nil {
			return fmt.Errorf("the server %q is not HOST or HOST:PORT; an IPv6 address with a port is written [ADDRESS]:PORT", s)
		}
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("the server %q has a port that is none; write a number from 1 to 65535", s)
	}
	c.Host, c.Port = host, int(n)
	return nil
}

var (
	dialects = map[string]wire.Dialect{
		"2.0.2": wire.Dialect202, "2.1": wire.Dialect210, "3.0": wire.Dialect300, "3.0.2": wire.Dialect302, "3.1.1": wire.Dialect311,
	}
	ciphers = map[string]crypt.Cipher{
		"aes-128-gcm": crypt.GCM128, "aes-128-ccm": crypt.CCM128, "aes-256-gcm": crypt.GCM256, "aes-256-ccm": crypt.CCM256,
	}
	signing = map[string]crypt.Algorithm{"aes-gmac": crypt.AESGMAC, "aes-cmac": crypt.AESCMAC, "hmac-sha256": crypt.HMACSHA256}
)

// Choose narrows what is offered to what is named; empty names choose nothing.
func (o *SMBOptions) Choose(dialect, cipher, algorithm string) error {
	o.SignAlgs = []crypt.Algorithm{crypt.AESGMAC, crypt.AESCMAC, crypt.HMACSHA256}
	return errors.Join(
		choose("dialect", dialect, dialects, &o.Dialects), choose("cipher", cipher, ciphers, &o.Ciphers),
		choose("signing", algorithm, signing, &o.SignAlgs))
}

func choose[T any](flag, name string, of map[string]T, list *[]T) error {
	if name == "" {
		return nil
	}
	v, ok := of[strings.ToLower(name)]
	if !ok {
		return fmt.Errorf("--%s %s is not known; write one of %s", flag, name, strings.Join(slices.Sorted(maps.Keys(of)), ", "))
	}
	*list = []T{v}
	return nil
}
