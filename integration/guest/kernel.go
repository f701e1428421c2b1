package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Kind is a way to boot a guest.
type Kind int

const (
	// UML is User Mode Linux in a network namespace; it needs root.
	UML Kind = iota
	// QEMU is software emulation with user networking; it needs no privilege.
	QEMU
)

// DefaultKind is UML for root and QEMU for everyone else.
func DefaultKind() Kind {
	if os.Geteuid() == 0 {
		return UML
	}
	return QEMU
}

// ParseKind is the inverse of [Kind.String]; the empty string means [DefaultKind].
func ParseKind(s string) (Kind, error) {
	switch s {
	case "":
		return DefaultKind(), nil
	case "uml":
		return UML, nil
	case "qemu":
		return QEMU, nil
	}
	return 0, fmt.Errorf("guest: kind %q is neither uml nor qemu", s)
}

// String returns "uml" or "qemu".
func (k Kind) String() string {
	if k == UML {
		return "uml"
	}
	return "qemu"
}

// env names the variable that overrides the kernel's path; pattern is the file's name in the cache.
func (k Kind) env() string {
	if k == UML {
		return "FILESERVER_GUEST_UML"
	}
	return "FILESERVER_GUEST_KERNEL"
}

// Image is the prefix of a kernel's file name in the cache; its version follows.
func (k Kind) Image() string {
	if k == UML {
		return "linux-uml-"
	}
	return "bzImage-"
}

// programs lists what has to be in PATH besides the kernel.
func (k Kind) programs() []string {
	if k == UML {
		return []string{"busybox", "ip"}
	}
	return []string{"busybox", "ip", "qemu-system-x86_64"}
}

// CacheDir is where built kernels are kept: $XDG_CACHE_HOME/fileserver/guest.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("guest: no cache directory for kernels: %w", err)
	}
	return filepath.Join(dir, "fileserver", "guest"), nil
}

// FindKernel returns the path of the kernel for a kind of guest: the one its environment variable names, otherwise the newest in
// the cache. The error says what to type to get one.
func FindKernel(k Kind) (string, error) {
	if path := os.Getenv(k.env()); path != "" {
		if !filepath.IsAbs(path) {
			return "", fmt.Errorf("guest: %s=%s: the path has to be absolute (tests run in their package's directory)", k.env(), path)
		}
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("guest: %s: %w", k.env(), err)
		}
		return path, nil
	}
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(dir, k.Image()+"*"))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("guest: no %s kernel for the guest in %s: build one (12 minutes) with\n"+
			"\tgo run ./integration/guest/cmd/guestkernel -kind %s\n"+
			"or name one with %s=/path, or leave the guest tests out with go test -short", k, dir, k, k.env())
	}
	return slices.MaxFunc(found, newer), nil
}

// newer orders kernels by the time they were built.
func newer(a, b string) int {
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	if errA != nil || errB != nil {
		return 0
	}
	return sa.ModTime().Compare(sb.ModTime())
}
