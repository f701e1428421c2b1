package config

import "github.com/spf13/pflag"

// AddStateFlags defines the flags that [StateDir] understands.
func AddStateFlags(fs *pflag.FlagSet) {
	fs.String("config", "", "read the configuration from `FILE`")
	fs.String("state-dir", "", "the server keeps what must survive a restart in `DIR`")
}

// StateDir is the state directory that flags, environment and file name, for commands that need
// no more of the configuration than that. Values of other keys are not looked at.
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
