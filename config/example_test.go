package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"fileserver/config"
)

// A command defines the flags and loads the configuration from them, from the
// environment and from the file that --config names.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		panic(err)
	}
	file := filepath.Join(dir, "fileserver.yaml")
	text := "state_dir: state\nshares: {data: {path: data, read_only: true}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		panic(err)
	}

	flags := pflag.NewFlagSet("serve", pflag.ExitOnError)
	config.AddFlags(flags)
	_ = flags.Parse([]string{"--config", file, "--listen", "127.0.0.1", "--allow", "127.0.0.0/8"})
	cfg, err := config.Load(flags)
	if err != nil {
		panic(err) // a *config.Error: all that is wrong, each problem with its place
	}
	for _, s := range cfg.Shares {
		fmt.Println(s.Name, "read-only:", s.ReadOnly, "admits:", s.Allow)
	}
	// Output: data read-only: true admits: [127.0.0.0/8]
}
