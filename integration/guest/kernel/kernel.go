// Package kernel holds the configuration of the guests' kernels, as fragments for the kernel's merge_config.sh.
package kernel

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.config
var fragments embed.FS

//go:embed packages.txt
var packages string

// Packages returns the Debian packages that a build needs besides the source.
func Packages() []string { return strings.Fields(packages) }

// Optional is configuration that a kernel source need not have.
//
//go:embed optional.config
var Optional string

// Fragment returns the configuration that a "uml" or "qemu" guest needs.
func Fragment(kind string) (string, error) {
	var all strings.Builder
	for _, name := range []string{"common", kind} {
		text, err := fragments.ReadFile(name + ".config")
		if err != nil {
			return "", fmt.Errorf("kernel: no configuration for %q: %w", kind, err)
		}
		all.Write(text)
	}
	return all.String(), nil
}

// Missing returns the options of a fragment that a kernel's .config does not have. That kernel does not know them, or their
// dependencies are not met.
func Missing(fragment, config string) []string {
	have := map[string]bool{}
	for line := range strings.Lines(config) {
		have[strings.TrimSpace(line)] = true
	}
	var missing []string
	for line := range strings.Lines(fragment) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "CONFIG_") && !have[line] {
			missing = append(missing, line)
		}
	}
	return missing
}
