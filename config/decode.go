package config

import (
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A parser converts text to a value of its type. Its error says what is wrong and what to write instead; the caller adds
// the value.
type parser func(s string) (any, error)

// parsers has a parser for every type of a key, except strings and lists.
var parsers = map[reflect.Type]parser{
	reflect.TypeFor[netip.Addr]():    parseAddr,
	reflect.TypeFor[netip.Prefix]():  parsePrefix,
	reflect.TypeFor[time.Duration](): parseDuration,
	reflect.TypeFor[Size]():          parseSize,
	reflect.TypeFor[slog.Level]():    parseLevel,
	reflect.TypeFor[bool]():          parseBool,
	reflect.TypeFor[uint16]():        parsePort,
	reflect.TypeFor[uint32]():        parseID,
	reflect.TypeFor[int]():           parseCount,
	reflect.TypeFor[Squash]():        oneOf(SquashNone, SquashRoot, SquashAll),
	reflect.TypeFor[Security]():      oneOf(SecuritySys, SecurityNone),
	reflect.TypeFor[Version]():       oneOf(Version3, Version41, Version42),
	reflect.TypeFor[CRC]():           oneOf(CRCAuto, CRCAlways),
	reflect.TypeFor[Format]():        oneOf(FormatText, FormatJSON),
	reflect.TypeFor[Switch]():        oneOf(SwitchAuto, SwitchOn, SwitchOff),
	reflect.TypeFor[Signing]():       oneOf(SigningEnabled, SigningRequired),
	reflect.TypeFor[Encryption]():    oneOf(EncryptionOff, EncryptionDesired, EncryptionRequired),
	reflect.TypeFor[Dialect]():       parseDialect,
	reflect.TypeFor[Interface]():     parseInterface,
	modeType:                         parseMode,
	reflect.TypeFor[RDMAPort]():      parseRDMAPort,
	reflect.TypeFor[Domain]():        oneOf(DomainShared, DomainConnection),
}

// decodeHook converts every value of the configuration (mapstructure.DecodeHookFuncValue).
func decodeHook(from, to reflect.Value) (any, error) {
	for from.Kind() == reflect.Interface {
		from = from.Elem()
	}
	t, v := to.Type(), from.Interface()
	switch from.Kind() {
	case reflect.Slice:
		if t.Kind() != reflect.Slice {
			return nil, fmt.Errorf("is a list; write one value")
		}
		return v, nil
	case reflect.Map:
		if t.Kind() != reflect.Struct || parsers[t] != nil {
			return nil, fmt.Errorf("is a mapping; write a plain value")
		}
		return v, nil
	}
	if from.Type() == t {
		return v, nil
	}
	s := strings.TrimSpace(fmt.Sprint(v))
	parse := parsers[t]
	switch {
	case parse != nil:
		out, err := parse(s)
		if err != nil {
			return nil, fmt.Errorf("%q %w", s, err)
		}
		return out, nil
	case t.Kind() == reflect.Slice: // one value, or several with commas between
		list := []string{}
		for e := range strings.SplitSeq(s, ",") {
			if e = strings.TrimSpace(e); e != "" {
				list = append(list, e)
			}
		}
		return list, nil
	case t.Kind() == reflect.String:
		return s, nil
	}
	return v, nil
}

func parseAddr(s string) (any, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Unmap(), nil
	}
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return nil, fmt.Errorf("has a port; write %s, and set the ports with nfs.port and nfs.rdma_port", ap.Addr())
	}
	if s == "localhost" {
		return nil, fmt.Errorf("is a name; write 127.0.0.1")
	}
	return nil, fmt.Errorf("is not an IP address; write e.g. 192.0.2.10, or 0.0.0.0 for all of this machine")
}

func parsePrefix(s string) (any, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		a = a.Unmap()
		return a.Prefix(a.BitLen())
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return nil, fmt.Errorf("is not an address range; write e.g. 10.0.0.0/8")
	}
	if p != p.Masked() {
		return nil, fmt.Errorf("names an address and a range; write %s for the range or %s for the address", p.Masked(), p.Addr())
	}
	return p, nil
}

func parseDuration(s string) (any, error) {
	d, err := time.ParseDuration(s)
	if err == nil {
		return d, nil
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return nil, fmt.Errorf("has no unit; write %ss for seconds", s)
	}
	return nil, fmt.Errorf("is not a duration; write e.g. 90s")
}

// sizeUnits are in the order in which they are tried: a unit comes before units that are a suffix of it.
var sizeUnits = []struct {
	name  string
	shift int
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"K", 10}, {"M", 20}, {"G", 30}, {"T", 40}}

// ParseSize parses a size in bytes as the configuration does, but also takes units in lower case. It is for flags.
func ParseSize(s string) (Size, error) {
	v, err := parseSize(strings.ReplaceAll(strings.ToUpper(s), "IB", "iB"))
	if err != nil {
		return 0, fmt.Errorf("%q %w", s, err)
	}
	return v.(Size), nil
}

func parseSize(s string) (any, error) {
	num, shift := s, 0
	for _, u := range sizeUnits {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			num, shift = strings.TrimSpace(n), u.shift
			break
		}
	}
	n, err := strconv.ParseInt(num, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return nil, fmt.Errorf("is not a size; write e.g. 512MiB or 2GiB")
	}
	return Size(n << shift), nil
}

func parseLevel(s string) (any, error) {
	switch s {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return nil, fmt.Errorf("is not known; write one of debug, info, warn, error")
}

func parseBool(s string) (any, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return nil, fmt.Errorf("is neither true nor false")
}

func parsePort(s string) (any, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("is not a port; write a number from 1 to 65535, or 0 for any that is free")
	}
	return uint16(n), nil
}

func parseID(s string) (any, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n == math.MaxUint32 {
		return nil, fmt.Errorf("is not a numeric id; write e.g. 65534")
	}
	return uint32(n), nil
}

func parseCount(s string) (any, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("is not a whole number")
	}
	return int(n), nil
}

func oneOf[T ~string](values ...T) parser {
	return func(s string) (any, error) {
		words := make([]string, len(values))
		for i, v := range values {
			if string(v) == s {
				return v, nil
			}
			words[i] = string(v)
		}
		if n := nearest(s, words); n != "" {
			return nil, fmt.Errorf("is not known; did you mean %s?", n)
		}
		return nil, fmt.Errorf("is not known; write one of %s", strings.Join(words, ", "))
	}
}

// String writes the size in the largest unit that divides it.
func (s Size) String() string {
	for i := 3; i >= 0; i-- {
		if u := sizeUnits[i]; s != 0 && s%(1<<u.shift) == 0 {
			return strconv.FormatInt(int64(s)>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
