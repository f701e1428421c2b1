package guest

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// boot holds the shell scripts that make the guest: init-uml and init-qemu find the root, job is its first process afterwards, and
// prelude defines the functions for scripts.
//
//go:embed boot
var boot embed.FS

// control is the directory that the host and the guest share besides /out: $GUEST inside.
//
//	busybox job prelude env script FILES   what runs
//	signal-NAME                            written by Signal, awaited by the script
//	kernel                                 the guest's /dev/kmsg, as it comes
//	status                                 the script's exit status
//	dump, dumped                           a request for, and the text of, the state of a guest that hangs
type control string

// newControl fills a fresh control directory below parent.
func newControl(parent string, kind Kind, cfg *Config) (control, error) {
	c := control(filepath.Join(parent, "control"))
	if err := os.Mkdir(string(c), 0o755); err != nil {
		return "", err
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return "", err
	}
	if err := c.copy("busybox", busybox); err != nil {
		return "", err
	}
	for _, name := range []string{"init-uml", "init-qemu", "job", "prelude"} {
		text, err := boot.ReadFile("boot/" + name)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(c.path(name), text, 0o755); err != nil {
			return "", err
		}
	}
	for name, text := range cfg.Files {
		if err := os.WriteFile(c.path(name), []byte(text), 0o755); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(c.path("script"), []byte(cfg.Script), 0o755); err != nil {
		return "", err
	}
	return c, os.WriteFile(c.path("env"), []byte(environment(kind, cfg)), 0o644)
}

// environment is the text of the file that tells the shell scripts what differs between guests.
func environment(kind Kind, cfg *Config) string {
	var b strings.Builder
	set := func(name, value string) { fmt.Fprintf(&b, "export %s=%s\n", name, quote(value)) }
	set("GUEST_KIND", kind.String())
	set("GUEST_DEV", cfg.dev)
	set("GUEST_ADDR", cfg.addr)
	set("GUEST_OUT", cfg.Out)
	for _, kv := range cfg.Env {
		name, value, _ := strings.Cut(kv, "=")
		set(name, value)
	}
	b.WriteString("set --")
	for _, arg := range cfg.Args {
		b.WriteString(" " + quote(arg))
	}
	return b.String() + "\n"
}

// quote makes s one word of the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (c control) path(name string) string { return filepath.Join(string(c), name) }

func (c control) copy(name, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(c.path(name), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// signal lets the script's `await name` return. The name appears with the file complete.
func (c control) signal(name string) error {
	tmp := c.path("new-" + name)
	if err := os.WriteFile(tmp, nil, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, c.path("signal-"+name))
}

// status returns the script's exit status, and whether it has ended.
func (c control) status() (int, bool) {
	text, err := os.ReadFile(c.path("status"))
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}

// text returns a file's contents, or nothing.
func (c control) text(name string) string {
	text, _ := os.ReadFile(c.path(name))
	return string(text)
}
