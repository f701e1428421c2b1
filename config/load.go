package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

const envPrefix = "FILESERVER_"

// flags names the command-line flag of a key that has one.
var flags = map[string]string{
	"listen":         "listen",
	"allow":          "allow",
	"state_dir":      "state-dir",
	"metrics.listen": "metrics",
	"log.level":      "log-level",
	"log.format":     "log-format",
}

// AddFlags defines the flags that [Load] understands.
func AddFlags(fs *pflag.FlagSet) {
	fs.String("config", "", "read the configuration from `FILE`")
	fs.StringArray("share", nil, "publish a directory, as `NAME=DIR` (may be repeated)")
	fs.StringSlice("listen", nil, "listen on `ADDR` only (may be repeated; default this machine only)")
	fs.StringSlice("allow", nil, "admit clients in `CIDR` to shares with no list of their own (may be repeated; default this machine only)")
	fs.String("state-dir", "", "keep in `DIR` what must survive a restart")
	fs.String("metrics", "", "serve Prometheus metrics on `HOST:PORT`")
	fs.String("log-level", "", "log `LEVEL` and above: debug, info, warn or error")
	fs.String("log-format", "", "write log lines as `FORMAT`: text or json")
}

// Load reads the configuration from the flags, the environment, and the file that these name. An error in the contents is
// an *[Error].
func Load(fs *pflag.FlagSet) (*Config, error) {
	cfg, err := Inspect(fs)
	if err != nil {
		return nil, err
	}
	return cfg, nil
}

// Inspect is [Load] for callers that also want a configuration with problems: with an error it returns what it has read,
// or nil if nothing could be read.
func Inspect(fs *pflag.FlagSet) (*Config, error) {
	l := newLoader(fs)
	cfg := l.load()
	if len(l.bad) > 0 {
		return cfg, &Error{Problems: l.bad}
	}
	return cfg, nil
}

type loader struct {
	flags    *pflag.FlagSet
	v        *viper.Viper
	file     *file
	bad      []Problem
	names    []string          // of the shares
	pathFrom map[string]string // by share: the flag or variable that gave its path
	uid, gid int
}

func newLoader(fs *pflag.FlagSet) *loader {
	return &loader{flags: fs, v: viper.New(), uid: os.Geteuid(), gid: os.Getegid()}
}

// read reads the file and merges the other sources into it.
func (l *loader) read(cfg *Config) {
	cfg.File = l.configFile()
	l.file = &file{}
	if cfg.File != "" {
		l.file, l.bad = readFile(cfg.File)
	}
	for key, value := range defaults {
		l.v.SetDefault(key, value)
	}
	l.v.SetEnvPrefix(strings.TrimSuffix(envPrefix, "_"))
	l.v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	l.v.AutomaticEnv()
	for key, name := range flags {
		if f := l.flags.Lookup(name); f != nil {
			if err := l.v.BindPFlag(key, f); err != nil {
				panic(err) // only for a nil flag
			}
		}
	}
}

func (l *loader) load() *Config {
	cfg := &Config{}
	l.read(cfg)
	shares := l.shares()
	delete(l.file.values, "shares")
	if err := l.v.MergeConfigMap(l.file.values); err != nil {
		l.problem("", "%v", err)
	}
	l.v.Set("shares", shares)
	err := l.v.UnmarshalExact(cfg, func(c *mapstructure.DecoderConfig) {
		c.WeaklyTypedInput = false
		c.DecodeHook = decodeHook
	})
	l.decodeErrors(err)
	l.resolve(cfg)
	if len(l.bad) > 0 {
		return nil // a file that cannot be decoded cannot be checked
	}
	for _, p := range cfg.check() {
		l.problem(p.Key, "%s", p.Text)
	}
	cfg.Warnings = append(l.unknownVariables(), cfg.warnings()...)
	return cfg
}

func (l *loader) configFile() string {
	if f := l.flags.Lookup("config"); f != nil && f.Changed {
		return f.Value.String()
	}
	return os.Getenv(envPrefix + "CONFIG")
}

// shares merges --share and FILESERVER_SHARE into the file's shares. The result is a list, because viper would fold the
// case of names that are keys.
func (l *loader) shares() []any {
	byName := map[string]map[string]any{}
	if m, ok := l.file.values["shares"].(map[string]any); ok {
		for name, v := range m {
			if share, ok := v.(map[string]any); ok {
				byName[name] = share
			}
		}
	}
	l.pathFrom = map[string]string{}
	add := func(source string, specs []string) {
		for _, spec := range specs {
			name, path, ok := strings.Cut(spec, "=")
			switch {
			case !ok || name == "" || path == "":
				l.bad = append(l.bad, Problem{Source: source, Text: fmt.Sprintf("%q does not name a share and a directory; write e.g. data=/srv/data", spec)})
			case l.pathFrom[name] == source:
				l.bad = append(l.bad, Problem{Source: source, Text: fmt.Sprintf("share %q is given twice; give the second another name", name)})
			default:
				if byName[name] == nil {
					byName[name] = map[string]any{}
				}
				byName[name]["path"] = path
				l.pathFrom[name] = source
			}
		}
	}
	if env := os.Getenv(envPrefix + "SHARE"); env != "" {
		add(envPrefix+"SHARE", strings.Split(env, ","))
	}
	if f := l.flags.Lookup("share"); f != nil && f.Changed {
		add("--share", f.Value.(pflag.SliceValue).GetSlice())
	}
	var list []any
	for name, share := range byName {
		l.names = append(l.names, name)
		share["name"] = name
		nfs := shareNFSDefaults(l.uid, l.gid)
		if set, ok := share["nfs"].(map[string]any); ok {
			for k, v := range set {
				nfs[k] = v
			}
		}
		share["nfs"] = nfs
		smb := shareSMBDefaults()
		if set, ok := share["smb"].(map[string]any); ok {
			for k, v := range set {
				smb[k] = v
			}
		}
		share["smb"] = smb
	}
	slices.Sort(l.names)
	for _, name := range l.names {
		list = append(list, byName[name])
	}
	return list
}

// decodeErrors turns the errors of mapstructure into problems.
func (l *loader) decodeErrors(err error) {
	var joined interface{ Unwrap() []error }
	switch de, ok := err.(*mapstructure.DecodeError); {
	case err == nil:
	case ok:
		l.problem(l.shareKey(de.Name()), "%v", de.Unwrap())
	case errors.As(err, &joined):
		for _, e := range joined.Unwrap() {
			l.decodeErrors(e)
		}
	default:
		l.problem("", "%v", err)
	}
}

var shareIndex = regexp.MustCompile(`^shares\[(\d+)\]`)

// shareKey writes shares[0] with the share's name.
func (l *loader) shareKey(key string) string {
	return shareIndex.ReplaceAllStringFunc(key, func(s string) string {
		i, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(s, "shares["), "]"))
		return "shares." + l.names[i]
	})
}

func (l *loader) problem(key, format string, args ...any) {
	l.bad = append(l.bad, Problem{Source: l.source(key), Key: key, Text: fmt.Sprintf(format, args...)})
}

// source is where the value of a key was written.
func (l *loader) source(key string) string {
	if rest, ok := strings.CutPrefix(key, "shares."); ok {
		if name, ok := strings.CutSuffix(rest, ".path"); ok && l.pathFrom[name] != "" {
			return l.pathFrom[name]
		}
	} else {
		top, _, _ := strings.Cut(key, "[")
		if f := l.flags.Lookup(flags[top]); f != nil && f.Changed {
			return "--" + f.Name
		}
		if env := envName(top); os.Getenv(env) != "" {
			return env
		}
	}
	for k := key; k != ""; {
		if line, ok := l.file.lines[k]; ok {
			return l.file.at(line)
		}
		k = k[:max(0, strings.LastIndexAny(k, ".["))]
	}
	return l.file.name
}

func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// resolve fills in values that depend on others, and makes paths absolute. Paths in the file are relative to its
// directory.
func (l *loader) resolve(cfg *Config) {
	for i := range cfg.Shares {
		s := &cfg.Shares[i]
		s.Path = l.abs("shares."+s.Name+".path", s.Path)
		if s.Allow == nil {
			s.Allow = cfg.Allow
		}
	}
	l.resolveState(cfg)
}

func (l *loader) resolveState(cfg *Config) {
	if cfg.StateDir == "" {
		cfg.StateDir = l.defaultStateDir()
	}
	cfg.StateDir = l.abs("state_dir", cfg.StateDir)
}

// abs makes the path that a key has absolute.
func (l *loader) abs(key, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	if l.file.name != "" && strings.HasPrefix(l.source(key), l.file.name) {
		path = filepath.Join(filepath.Dir(l.file.name), path)
	}
	out, err := filepath.Abs(path)
	if err != nil {
		l.problem(key, "%q cannot be made absolute: %v; write an absolute path", path, err)
	}
	return out
}

func (l *loader) defaultStateDir() string {
	if l.uid == 0 {
		return "/var/lib/fileserver"
	}
	// XDG Base Directory Specification: a relative path is invalid.
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "fileserver")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "fileserver")
	}
	l.problem("state_dir", "has no default, as neither XDG_STATE_HOME nor HOME is set; give --state-dir DIR")
	return ""
}

// unknownVariables warns of environment variables with our prefix that are not known. They are not errors, because other
// programs set some, e.g. Kubernetes for a service named fileserver.
func (l *loader) unknownVariables() []string {
	known := []string{envPrefix + "CONFIG", envPrefix + "SHARE"}
	for key := range defaults {
		known = append(known, envName(key))
	}
	var out []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, envPrefix) || strings.HasPrefix(name, envPrefix+"GUEST_") || slices.Contains(known, name) {
			continue
		}
		s := "the environment variable " + name + " has no meaning and is ignored"
		if n := nearest(name, known); n != "" {
			s += "; did you mean " + n + "?"
		}
		out = append(out, s)
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out
}
