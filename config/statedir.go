package config

import "github.com/spf13/pflag"

// AddStateFlags defines the flags that [StateDir] understands.
func AddStateFlags(fs *pflag.FlagSet) {
	fs.String("config", "", "read the configuration from `FILE`")
	fs.String("state-dir", "", "the directory `DIR` in which the server keeps what must survive a restart")
}

// StateDir returns the state directory from the flags, the environment or the file, for commands that need no other
// part of the configuration. It does not check the values of other keys.
func StateDir(fs *pflag.FlagSet) (string, error) {
	l := newLoader(fs)
	cfg := &Config{}
	l.read(cfg)
	delete(l.file.values, "shares")
	if err := l.v.MergeConfigMap(l.file.values); err != nil {
		l.problem("", "%v", err)
	}
	cfg.StateDir = l.v.GetString("state_dir")
	l.resolveState(cfg)
	if len(l.bad) > 0 {
		return "", &Error{Problems: l.bad}
	}
	return cfg.StateDir, nil
}
