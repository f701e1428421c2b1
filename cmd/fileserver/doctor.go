package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"fileserver/config"
	"fileserver/internal/app/doctor"
	"fileserver/rdma"
	"fileserver/rdma/iwarp"
	"fileserver/rdma/verbs"
)

// exitStatus ends the program with a status, without a message.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("status %d", int(e)) }

func doctorCommand() *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: "report whether clients will use RDMA, and if not, why and what to type",
		Long: `Doctor examines this machine and the configuration that serve would get. For each
		network interface it reports whether NFS and SMB clients will use RDMA. If they will
		not, it says why and what to type. It changes nothing. Run it as root: other users
		cannot see everything.
		
		With --connect it is a client instead. It connects to any server by each transport, on
		the ports of the configuration, and explains the result. With --user it also logs on to
		SMB and asks the server which of its addresses have RDMA. The password is read from the
		terminal, or from the first line of standard input.

The exit status is 0 if all is well, 1 after warnings, 2 after errors.`,
		Example: `  fileserver doctor --config /etc/fileserver.yaml
  fileserver doctor --share data=/srv/data --listen 0.0.0.0 --json
  fileserver doctor --connect server.example --proto smb --user ann`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	config.AddFlags(c.Flags())
	f := c.Flags()
	f.BoolVar(&o.json, "json", false, "write JSON")
	f.StringVar(&o.connect, "connect", "", "be a client of `HOST`")
	f.StringVar(&o.proto, "proto", "both", "with --connect, try `PROTO` only: nfs, smb or both")
	f.StringVar(&o.user, "user", "", "with --connect, log on to SMB as `NAME`")
	f.StringVar(&o.domain, "domain", "", "with --user, of `DOMAIN`")
	f.DurationVar(&o.timeout, "timeout", 5*time.Second, "with --connect, wait `TIME` for each answer")
	return c
}

// doctorOptions are the command's flags.
type doctorOptions struct {
	json                         bool
	connect, proto, user, domain string
	timeout                      time.Duration
}

// report is the result of the doctor, on the server's and on the client's side.
type report interface{ WriteText(io.Writer) error }

func (o *doctorOptions) run(c *cobra.Command) error {
	var r report
	var status doctor.Severity
	if !c.Flags().Changed("connect") {
		for _, name := range []string{"proto", "user", "domain", "timeout"} {
			if c.Flags().Changed(name) {
				return &usageError{c, fmt.Errorf("--%s goes with --connect", name)}
			}
		}
		cfg, err := config.Inspect(c.Flags())
		found := doctor.Examine(doctor.Gather(doctor.Source{Config: cfg, Err: err, VerbsBuilt: verbs.Built(), VerbsUsable: verbsUsable}))
		r, status = found, found.Status
	} else {
		tried, err := o.try(c)
		if err != nil {
			return err
		}
		r, status = tried, tried.Status
	}
	err := error(nil)
	if o.json {
		e := json.NewEncoder(c.OutOrStdout())
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		err = r.WriteText(c.OutOrStdout())
	}
	if err != nil {
		return err
	}
	return exitStatus(status.ExitStatus())
}

// try tries a server as a client.
func (o *doctorOptions) try(c *cobra.Command) (*doctor.Connection, error) {
	// Only the ports of the configuration matter here; other errors in it do not.
	cfg, err := config.Inspect(c.Flags())
	if cfg == nil {
		return nil, err
	}
	host, err := hostOnly(o.connect)
	if err != nil {
		return nil, &usageError{c, err}
	}
	t := doctor.Target{
		Host: host, User: o.user, Domain: o.domain, Timeout: o.timeout, NFSPort: cfg.NFS.Port, NFSRDMAPort: cfg.NFS.RDMAPort, SMBPort: cfg.SMB.Port[0],
	}
	if ports := cfg.SMBDirectPorts(true); ports[0] != 0 && !slices.Contains(cfg.SMB.RDMAPort, config.PortAuto) {
		t.DirectPorts = ports
	}
	switch o.proto {
	case "nfs", "smb":
		t.Protos = []string{o.proto}
	case "both":
	default:
		return nil, &usageError{c, fmt.Errorf("--proto %q is not known; write nfs, smb or both", o.proto)}
	}
	if o.timeout <= 0 {
		return nil, &usageError{c, fmt.Errorf("--timeout %v leaves no time; write e.g. 5s", o.timeout)}
	}
	if o.user != "" {
		var err error
		if t.Password, err = secret(c); err != nil {
			return nil, err
		}
	}
	p, err := iwarp.New(iwarp.Config{})
	if err != nil {
		return nil, err
	}
	t.IWARP, t.Verbs = p, func() (rdma.Provider, error) {
		v, err := verbs.New(verbs.Config{})
		if err != nil {
			return nil, err // not p, which would be a non-nil interface with a nil pointer
		}
		return v, nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := doctor.Connect(ctx, t)
	if err = errors.Join(err, p.Close()); err != nil {
		fmt.Fprintln(c.ErrOrStderr(), "fileserver:", err)
		return nil, exitStatus(doctor.Error.ExitStatus())
	}
	return r, nil
}

// hostOnly checks the argument of --connect: a name or an address, which may be in brackets.
func hostOnly(s string) (string, error) {
	host := s
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		host = s[1 : len(s)-1]
	}
	a, err := netip.ParseAddr(host)
	switch {
	case host == "":
		return "", errors.New("--connect is empty; write the server's name or address")
	case err != nil && strings.ContainsAny(host, ":/"):
		return "", fmt.Errorf("--connect %q is not a name or an address; the ports are those of the configuration: FILESERVER_NFS_PORT, FILESERVER_NFS_RDMA_PORT, FILESERVER_SMB_PORT and FILESERVER_SMB_RDMA_PORT change them", s)
	case err == nil && a.Is6() && a.IsLinkLocalUnicast() && a.Zone() == "":
		return "", fmt.Errorf("--connect %s is a link-local address, which needs an interface; write %s%%INTERFACE", s, host)
	}
	return host, nil
}

// verbsUsable reports whether RDMA devices can be used.
func verbsUsable() error {
	p, err := verbs.New(verbs.Config{})
	if err != nil {
		return err
	}
	return p.Close()
}
