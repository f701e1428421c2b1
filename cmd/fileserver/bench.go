package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fileserver/config"
	"fileserver/internal/app/bench"
)

// benchFlags are the flags that are not a field of [bench.Config].
type benchFlags struct {
	json                               bool
	dialect, cipher, signing, password string
}

func benchCommand() *cobra.Command {
	var cfg bench.Config
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench HOST[:PORT]",
		Short: "measure a server from a client's side, and check its data",
		Long: `Bench reads and writes files in a share of any NFS or SMB server, and reports the
		speed. Each job has its own connection and its own file, NAME.0 and so on, and keeps
		DEPTH requests outstanding. Bench checks the data that it reads. So it writes the files
		first, unless a run with --keep has left them, and removes them at the end. Ctrl-C ends
		the run early.
		
		The password of SMB is read from the terminal, or from the first line of standard input
		or of a file.`,
		Example: `  fileserver bench server --proto nfs --share /data --op randread --bs 4k --depth 16
  fileserver bench server --proto nfs --vers 3 --transport iwarp --share /data --op write
  fileserver bench server --proto smb --share data --user ann --op mixed --bs 64k --encrypt`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{c, fmt.Errorf("%s needs one argument: the server, as HOST or HOST:PORT", c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runBench(c, args[0], &cfg, &f) },
	}
	addBenchFlags(c.Flags(), &cfg, &f)
	return c
}

func addBenchFlags(fs *pflag.FlagSet, c *bench.Config, f *benchFlags) {
	c.BlockSize, c.Size, c.RDMAMin = 1<<20, 1<<30, 4<<10
	fs.StringVar(&c.Proto, "proto", "nfs", "the protocol: nfs or smb")
	fs.StringVar(&c.Transport, "transport", "tcp", "the transport: tcp, iwarp (in software, over TCP) or verbs (an RDMA device)")
	fs.StringVar(&c.Share, "share", "", "the share's `NAME`, or the path of the export")
	fs.StringVar((*string)(&c.Op), "op", string(bench.OpRead), "the operation: read, write, randread, randwrite or mixed (random)")
	fs.Var(sizeFlag{set: func(n int64) { c.BlockSize = int(n) }, text: "1m"}, "bs", "the `SIZE` of a request")
	fs.IntVar(&c.Depth, "depth", 16, "requests outstanding per job")
	fs.IntVar(&c.Jobs, "jobs", 4, "number of connections, each with its own file")
	fs.Var(sizeFlag{set: func(n int64) { c.Size = n }, text: "1g"}, "size", "the `SIZE` of each file")
	fs.DurationVar(&c.Time, "time", 10*time.Second, "how long to measure; 0: each file once")
	fs.IntVar(&c.Mix, "mix", 70, "`PERCENT` of --op mixed that are reads")
	fs.StringVar((*string)(&c.Verify), "verify", string(bench.VerifyReads), "what to check: off, reads, or all (also read back at the end what was written)")
	fs.BoolVar(&c.Through, "sync", false, "ask for stable writes; otherwise the data is made stable at the end")
	fs.BoolVar(&c.Keep, "keep", false, "leave the files, for another run to read")
	fs.StringVar(&c.Name, "name", "fileserver-bench", "the `NAME` of the files, which may have directories in front")
	fs.Uint64Var(&c.Seed, "seed", 0, "the seed of random choices (default: a new one each time)")
	fs.DurationVar(&c.Timeout, "timeout", 30*time.Second, "how long a request may take")
	fs.BoolVar(&f.json, "json", false, "print the result as JSON")

	fs.StringVar(&c.Version, "vers", "4.2", "the version of NFS: 3, 4.1 or 4.2")
	fs.IntVar(&c.MountPort, "mount-port", 0, "the `PORT` of the MOUNT program, for NFS 3 (default: the port of NFS, or the one that rpcbind names)")
	fs.Uint32Var(&c.UID, "uid", uint32(os.Geteuid()), "the `UID` of NFS requests")
	fs.Uint32Var(&c.GID, "gid", uint32(os.Getegid()), "the `GID` of NFS requests")

	fs.StringVar(&c.SMB.User, "user", "", "the user of SMB, as `NAME` or DOMAIN\\NAME")
	fs.StringVar(&f.password, "password-file", "", "read the password from the first line of `FILE`")
	fs.StringVar(&f.dialect, "dialect", "", "the dialect of SMB: 2.0.2, 2.1, 3.0, 3.0.2 or 3.1.1 (default the server's choice)")
	fs.BoolVar(&c.SMB.Sign, "sign", false, "sign requests even if the server does not require it")
	fs.BoolVar(&c.SMB.Encrypt, "encrypt", false, "encrypt requests even if the server does not require it")
	fs.StringVar(&f.cipher, "cipher", "", "the cipher of SMB 3.1.1: aes-128-gcm, aes-128-ccm, aes-256-gcm or aes-256-ccm (default the server's choice)")
	fs.StringVar(&f.signing, "signing", "", "the algorithm SMB 3.1.1 signs with: aes-gmac, aes-cmac or hmac-sha256 (default the server's choice)")

	fs.Var(sizeFlag{set: func(n int64) { c.RDMAMin = int(n) }, text: "4k"}, "rdma-min", "send the data of requests below `SIZE` in messages, if it fits")
	fs.BoolVar(&c.Invalidate, "invalidate", false, "register memory for each request, under a key that the server invalidates")
}

// sizeFlag is a flag of a size such as 4k.
type sizeFlag struct {
	set  func(int64)
	text string // the default
}

// String implements pflag.Value.
func (s sizeFlag) String() string { return s.text }

// Type implements pflag.Value.
func (s sizeFlag) Type() string { return "SIZE" }

// Set implements pflag.Value.
func (s sizeFlag) Set(v string) error {
	n, err := config.ParseSize(v)
	if err == nil {
		s.set(int64(n))
	}
	return err
}

func runBench(c *cobra.Command, server string, cfg *bench.Config, f *benchFlags) error {
	if err := cfg.SetServer(server); err != nil {
		return &usageError{c, err}
	}
	if d, name, ok := strings.Cut(cfg.SMB.User, `\`); ok {
		cfg.SMB.Domain, cfg.SMB.User = d, name
	}
	if err := errors.Join(cfg.SMB.Choose(f.dialect, f.cipher, f.signing), cfg.Complete()); err != nil {
		return &usageError{c, err}
	}
	if cfg.Proto == "smb" {
		var err error
		if cfg.SMB.Password, err = benchPassword(c, f.password); err != nil {
			return err
		}
	}
	end, err := setProvider(cfg)
	if err != nil {
		return err
	}
	defer end()
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once

	errs := c.ErrOrStderr()
	out, ok := errs.(*os.File)
	live := ok && isTerminal(out) && !f.json
	if live {
		cfg.Progress = func(p bench.Progress) { fmt.Fprintf(out, "\r%s\x1b[K", p) }
	}
	cfg.Notice = func(s string) { fmt.Fprintln(errs, "fileserver: bench:", s) }
	res, err := bench.Run(ctx, *cfg)
	if live {
		fmt.Fprint(out, "\r\x1b[K")
	}
	if res != nil {
		err = errors.Join(err, printResult(c.OutOrStdout(), res, f.json))
	}
	return err
}

func printResult(w io.Writer, res *bench.Result, asJSON bool) error {
	if !asJSON {
		return res.Print(w)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(res)
}

// benchPassword is the password of SMB.
func benchPassword(c *cobra.Command, file string) (line string, err error) {
	if file == "" {
		line, err = secret(c)
	} else if f, ferr := os.Open(file); ferr != nil {
		return "", fmt.Errorf("--password-file: %w", ferr)
	} else {
		line, err = firstLine(f)
		_ = f.Close()
	}
	if err != nil {
		return "", fmt.Errorf("reading the password: %w", err)
	}
	if line == "" {
		return "", errors.New("there is no password: write it into the first line of standard input, or of a file named by --password-file")
	}
	return line, nil
}
