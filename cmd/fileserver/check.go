package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fileserver/config"
)

func checkCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "check-config",
		Short: "check a configuration, as serve would read it",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := config.Load(c.Flags())
			if err != nil {
				return err
			}
			for _, w := range cfg.Warnings {
				fmt.Fprintln(c.ErrOrStderr(), "fileserver: warning:", w)
			}
			if all {
				for _, s := range cfg.Settings() {
					fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", s.Key, s.Value)
				}
				return nil
			}
			names := make([]string, len(cfg.Shares))
			for i := range cfg.Shares {
				names[i] = cfg.Shares[i].Name
			}
			fmt.Fprintf(c.OutOrStdout(), "the configuration is valid; shares: %s\n", strings.Join(names, ", "))
			return nil
		},
	}
	config.AddFlags(c.Flags())
	c.Flags().BoolVar(&all, "all", false, "print every setting in force")
	return c
}
