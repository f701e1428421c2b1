// Guestkernel builds the kernel of the tests' guests from Debian's linux-source and puts it where package guest finds it:
//
//	go run ./integration/guest/cmd/guestkernel [-missing] [-kind uml|qemu] [-source TARBALL]
//
// As root it installs the packages that it needs; for other users it prints the command. It takes about 12 minutes on two cores.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"fileserver/integration/guest"
	"fileserver/integration/guest/kernel"
)

func main() {
	kindName := flag.String("kind", "", "uml or qemu; default: uml for root, qemu for others")
	source := flag.String("source", "", "a kernel's source, as linux-source-*.tar.xz; default: the newest in /usr/src")
	missing := flag.Bool("missing", false, "build only if package guest finds no kernel")
	dir := flag.String("dir", "", "directory to build in, which is kept; default: a temporary directory")
	flag.Parse()
	if err := run(*kindName, *source, *dir, *missing); err != nil {
		fmt.Fprintln(os.Stderr, "guestkernel:", err)
		os.Exit(1)
	}
}

func run(kindName, source, dir string, missing bool) error {
	kind, err := guest.ParseKind(kindName)
	if err != nil {
		return err
	}
	if _, err := guest.FindKernel(kind); err == nil && missing {
		return nil
	}
	if err := install(); err != nil {
		return err
	}
	if source == "" {
		if source, err = newestSource(); err != nil {
			return err
		}
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "guestkernel-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b := builder{kind: kind, dir: dir, arch: "x86_64", target: "bzImage", image: "arch/x86/boot/bzImage"}
	if kind == guest.UML {
		b.arch, b.target, b.image = "um", "linux", "linux"
	}
	if err := b.command("tar", "-xf", source, "-C", dir, "--strip-components=1"); err != nil {
		return err
	}
	if err := b.configure(); err != nil {
		return err
	}
	if err := b.make("-j"+strconv.Itoa(runtime.NumCPU()), b.target); err != nil {
		return err
	}
	return b.keep()
}

// install installs the Debian packages as root. For other users it returns an error that names them if a tool is missing.
func install() error {
	var missing []string
	for _, tool := range []string{"bc", "bison", "flex", "gcc", "make", "xz"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	found, _ := filepath.Glob("/usr/src/linux-source-*.tar.xz")
	if len(missing) == 0 && len(found) > 0 {
		return nil
	}
	source, err := newestPackage()
	if err != nil {
		return err
	}
	args := append([]string{"install", "-y", "--no-install-recommends", source}, kernel.Packages()...)
	if os.Geteuid() != 0 {
		return fmt.Errorf("missing: %v and the kernel's source; as root type: apt-get %s", missing, strings.Join(args, " "))
	}
	return (&builder{}).command("apt-get", args...)
}

// newestPackage returns the package of the newest source that Debian has for this release. The package linux-source may be older.
func newestPackage() (string, error) {
	out, err := exec.Command("apt-cache", "pkgnames", "linux-source-").Output()
	names := strings.Fields(string(out))
	if err != nil {
		return "", fmt.Errorf("apt-cache pkgnames linux-source-: %w", err)
	}
	if len(names) == 0 {
		return "", errors.New("no package linux-source-*: as root type: apt-get update")
	}
	return slices.MaxFunc(names, func(a, b string) int { return slices.Compare(version(a), version(b)) }), nil
}

func newestSource() (string, error) {
	found, err := filepath.Glob("/usr/src/linux-source-*.tar.xz")
	if err != nil || len(found) == 0 {
		return "", errors.New("no /usr/src/linux-source-*.tar.xz: as root type: apt-get install the newest linux-source-*")
	}
	return slices.MaxFunc(found, func(a, b string) int { return slices.Compare(version(a), version(b)) }), nil
}

// version returns the numbers in a file's name.
func version(path string) (numbers []int) {
	isSeparator := func(r rune) bool { return r < '0' || r > '9' }
	for _, field := range strings.FieldsFunc(filepath.Base(path), isSeparator) {
		n, _ := strconv.Atoi(field) // digits only
		numbers = append(numbers, n)
	}
	return numbers
}

// builder builds a kernel from a source tree.
type builder struct {
	kind   guest.Kind
	dir    string
	arch   string
	target string // the target of make
	image  string // the kernel's path in dir
}

func (b *builder) command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = b.dir
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return nil
}

func (b *builder) make(args ...string) error {
	return b.command("nice", append([]string{"make", "ARCH=" + b.arch}, args...)...)
}

// configure merges the fragments into tinyconfig. It is an error if the source lacks one of their options.
func (b *builder) configure() error {
	fragment, err := kernel.Fragment(b.kind.String())
	if err != nil {
		return err
	}
	path := filepath.Join(b.dir, "guest.config")
	if err := os.WriteFile(path, []byte(fragment+kernel.Optional), 0o644); err != nil {
		return err
	}
	err = errors.Join(
		b.make("tinyconfig"),
		b.command("scripts/kconfig/merge_config.sh", "-m", ".config", path),
		b.make("olddefconfig"))
	if err != nil {
		return err
	}
	config, err := os.ReadFile(filepath.Join(b.dir, ".config"))
	if err != nil {
		return err
	}
	if missing := kernel.Missing(fragment, string(config)); missing != nil {
		return fmt.Errorf("the kernel source does not accept %s", strings.Join(missing, " "))
	}
	return nil
}

// keep copies the kernel into the cache.
func (b *builder) keep() error {
	release, err := exec.Command("make", "-s", "-C", b.dir, "ARCH="+b.arch, "kernelrelease").Output()
	if err != nil {
		return fmt.Errorf("make kernelrelease: %w", err)
	}
	cache, err := guest.CacheDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	image, err := os.ReadFile(filepath.Join(b.dir, b.image))
	if err != nil {
		return err
	}
	path := filepath.Join(cache, b.kind.Image()+strings.TrimSpace(string(release)))
	if err := os.WriteFile(path, image, 0o755); err != nil {
		return err
	}
	fmt.Println(path)
	return nil
}
