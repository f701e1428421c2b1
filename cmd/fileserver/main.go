// Command fileserver publishes directories over NFS and SMB, on TCP and on RDMA.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"fileserver/rdma/verbs"
)

// version is set by the linker; if it is empty, the build information has the version.
var version string

func main() { os.Exit(run()) }

// run executes the command line and returns the exit status: 0 after success, 1 after a failure, 2 if the command line
// is wrong.
func run() int {
	root := &cobra.Command{
		Use:           "fileserver",
		Short:         "publish directories over NFS and SMB, on TCP and on RDMA",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return &usageError{c, err} })
	root.AddCommand(serveCommand(), checkCommand(), userCommand(), doctorCommand(), benchCommand(), versionCommand())
	err := root.Execute()
	if err == nil {
		return 0
	}
	var status exitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(os.Stderr, "fileserver:", strings.TrimSuffix(line, "\n"))
	}
	var usage *usageError
	if errors.As(err, &usage) || strings.HasPrefix(err.Error(), "unknown command") {
		return 2
	}
	return 1
}

// usageError is a command line that cannot be understood.
type usageError struct {
	cmd *cobra.Command
	err error
}

func (e *usageError) Error() string {
	return fmt.Sprintf("%v; see %s --help", e.err, e.cmd.CommandPath())
}

// noArgs refuses arguments that are not flags.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{c, fmt.Errorf("%s takes no argument %q", c.CommandPath(), args[0])}
	}
	return nil
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version, and the RDMA providers that are built in",
		Args:  noArgs,
		Run: func(c *cobra.Command, _ []string) {
			fmt.Fprintf(c.OutOrStdout(), "fileserver %s %s %s/%s\n", versionString(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			providers := "iwarp (in software), verbs (RDMA devices, through rdma-core)"
			if verbs.Built() != nil {
				providers = "iwarp (in software); for RDMA devices build with rdma-core's headers (make build)"
			}
			fmt.Fprintf(c.OutOrStdout(), "rdma providers: %s\n", providers)
		},
	}
}

func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "development"
}
