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
	// UML is User Mode Linux in a network namespace. It needs root.
	UML Kind = iota
	// QEMU is software emulation with user networking. It needs no privilege.
	QEMU
)

// DefaultKind returns UML for root and QEMU for other users.
func DefaultKind() Kind {
	if os.Geteuid() == 0 {
		return UML
	}
	return QEMU
}

// ParseKind is the inverse of [Kind.String]. The empty string means [DefaultKind].
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

// env returns the name of the environment variable that overrides the kernel's path.
func (k Kind) env() string {
	if k == UML {
		return "FILESERVER_GUEST_UML"
	}
	return "FILESERVER_GUEST_KERNEL"
}

// Image returns the prefix of a kernel's file name in the cache. The version follows it.
func (k Kind) Image() string {
	if k == UML {
		return "linux-uml-"
	}
	return "bzImage-"
}

// programs returns the programs that must be in PATH.
func (k Kind) programs() []string {
	if k == UML {
		return []string{"busybox", "ip"}
	}
	return []string{"busybox", "ip", "qemu-system-x86_64"}
}

// CacheDir returns the directory of built kernels: $XDG_CACHE_HOME/fileserver/guest.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("guest: no cache directory for kernels: %w", err)
	}
	return filepath.Join(dir, "fileserver", "guest"), nil
}

// FindKernel returns the path of the kernel for a kind of guest. It is the one that the kind's environment variable names,
// or else the newest in the cache. The error says what to type to get one.
func FindKernel(k Kind) (string, error) {
	if path := os.Getenv(k.env()); path != "" {
		if !filepath.IsAbs(path) {
			return "", fmt.Errorf("guest: %s=%s: the path must be absolute, because tests run in their package's directory", k.env(), path)
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
			"or name one with %s=/path, or skip the guest tests with go test -short", k, dir, k, k.env())
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
