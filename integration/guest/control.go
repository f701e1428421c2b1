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

// boot holds the guest's shell scripts: init-uml and init-qemu mount the root, job is the first process on it, and prelude
// defines the functions that scripts may call.
//
//go:embed boot
var boot embed.FS

// control is a directory that the host and the guest share, besides /out. In the guest it is $GUEST.
//
//	busybox job prelude env script FILES   the programs of the guest
//	signal-NAME                            written by Signal, awaited by the script
//	kernel                                 the messages from the guest's /dev/kmsg
//	status                                 the script's exit status
//	dump, dumped                           a request for the state of a guest that hangs, and the answer
type control string

// newControl creates a control directory below parent.
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

// environment returns the text of the file env, which sets the variables and arguments of this guest's scripts.
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

// quote quotes s as one word of the shell.
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

// signal makes the script's `await name` return. It creates the file by a rename, so that the script never sees half of it.
func (c control) signal(name string) error {
	tmp := c.path("new-" + name)
	if err := os.WriteFile(tmp, nil, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, c.path("signal-"+name))
}

// status returns the script's exit status and reports whether the script has ended.
func (c control) status() (int, bool) {
	text, err := os.ReadFile(c.path("status"))
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}

// text returns a file's contents, or "" if it cannot be read.
func (c control) text(name string) string {
	text, _ := os.ReadFile(c.path(name))
	return string(text)
}
