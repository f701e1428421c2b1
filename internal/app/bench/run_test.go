package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fileserver/internal/slab"
	"fileserver/rdma"
	rdmamem "fileserver/rdma/rdmatest/mem"
	"fileserver/smb"
	"fileserver/vfs"
	"fileserver/vfs/vfstest/mem"
)

// TestMatrix does every kind of work with every protocol over every transport.
func TestMatrix(t *testing.T) {
	r := newRig(t)
	r.each(func(t *testing.T, c Config) {
		for _, op := range ops {
			c.Op, c.Verify = op, VerifyAll
			res := (&rig{t: t, fs: r.fs}).run(c)
			whole := c.Size * int64(c.Jobs)
			if res.Total.Bytes != whole || int64(res.Total.Ops) != whole/int64(c.BlockSize) {
				t.Errorf("%s: %+v of %d bytes", op, res.Total, whole)
			}
			if (res.Write != nil) != op.writes() || (res.Read != nil) != (op != OpWrite && op != OpRandWrite) {
				t.Errorf("%s: read %v, write %v", op, res.Read, res.Write)
			}
			if res.VerifiedBytes < whole {
				t.Errorf("%s: %d bytes were checked", op, res.VerifiedBytes)
			}
			byRDMA := int64(0)
			if c.Transport != "tcp" {
				byRDMA = whole
			}
			if res.RDMABytes != byRDMA || res.InlineBytes != whole-byRDMA {
				t.Errorf("%s: %d bytes by RDMA, %d in messages", op, res.RDMABytes, res.InlineBytes)
			}
		}
		if r.exists("bench.0") || r.exists("bench.1") {
			t.Error("the files are still there")
		}
	})
}

// TestWays covers options that are used less often.
func TestWays(t *testing.T) {
	r := newRig(t)
	for name, way := range map[string]struct {
		transport string
		change    func(*Config)
		inline    bool
	}{
		"signed":            {"tcp", func(c *Config) { c.SMB.Sign = true }, true},
		"encrypted":         {"tcp", func(c *Config) { c.SMB.Encrypt = true }, true},
		"2.0.2":             {"tcp", func(c *Config) { _ = c.SMB.Choose("2.0.2", "", "") }, true},
		"2.1 signed":        {"tcp", func(c *Config) { c.SMB.Sign = true; _ = c.SMB.Choose("2.1", "", "") }, true},
		"3.0 encrypted":     {"tcp", func(c *Config) { c.SMB.Encrypt = true; _ = c.SMB.Choose("3.0", "", "") }, true},
		"AES-CMAC":          {"tcp", func(c *Config) { c.SMB.Sign = true; _ = c.SMB.Choose("3.1.1", "", "aes-cmac") }, true},
		"AES-256-CCM":       {"tcp", func(c *Config) { c.SMB.Encrypt = true; _ = c.SMB.Choose("", "aes-256-ccm", "") }, true},
		"signed by RDMA":    {"iwarp", func(c *Config) { c.SMB.Sign = true }, true},
		"2.1 by RDMA":       {"iwarp", func(c *Config) { _ = c.SMB.Choose("2.1", "", "") }, true},
		"encrypted by RDMA": {"mem", func(c *Config) { c.SMB.Encrypt = true }, true},
		"invalidated":       {"mem", func(c *Config) { c.Invalidate = true }, false},
		"invalidated iwarp": {"iwarp", func(c *Config) { c.Invalidate = true }, false},
		"small":             {"mem", func(c *Config) { c.BlockSize = 1 << 10 }, true},
		"through":           {"iwarp", func(c *Config) { c.Through = true }, false},
		"large":             {"mem", func(c *Config) { c.BlockSize, c.Size = 1<<20, 8<<20 }, false},
	} {
		for _, v := range flavors {
			c := r.config(v.proto, way.transport)
			c.Version, c.Op, c.Verify = v.version, OpMixed, VerifyAll
			was := c.SMB
			way.change(&c)
			if v.proto == "nfs" {
				if c.SMB.Sign || c.SMB.Encrypt || c.SMB.Dialects != nil || len(c.SMB.SignAlgs) != len(was.SignAlgs) {
					continue
				}
			}
			t.Run(name+" "+v.proto+v.version, func(t *testing.T) {
				res := (&rig{t: t, fs: r.fs}).run(c)
				if (res.InlineBytes > 0) != way.inline || (res.RDMABytes > 0) == way.inline {
					t.Errorf("%d bytes by RDMA, %d in messages", res.RDMABytes, res.InlineBytes)
				}
				if c.SMB.Sign != (res.Agreed.Signing != "") || c.SMB.Encrypt != (res.Agreed.Cipher != "") {
					t.Errorf("%+v", res.Agreed)
				}
			})
		}
	}
}

// TestKept reads a file that another run has left, with another block size, and finds a changed bit.
func TestKept(t *testing.T) {
	r := newRig(t)
	c := r.config("smb", "tcp")
	c.Op, c.Keep = OpWrite, true
	r.run(c)
	c = r.config("nfs", "iwarp")
	c.BlockSize, c.Keep = 4<<10, true
	var laid atomic.Bool
	c.Progress = func(p Progress) { laid.Store(laid.Load() || p.Phase == "laying out") }
	writes := 0
	r.fs.SetHook(func(_ context.Context, op mem.Op, _ vfs.Handle) error {
		if op == mem.OpWrite {
			writes++
		}
		return nil
	})
	if res := r.run(c); res.VerifiedBytes != c.Size*int64(c.Jobs) || writes != 0 || laid.Load() {
		t.Errorf("%d bytes were checked, %d times was written", res.VerifiedBytes, writes)
	}
	r.fs.SetHook(nil)

	const at = 100_000
	b := r.get("bench.1", at, 1)
	r.put("bench.1", at, []byte{b[0] ^ 4})
	c.Keep = false
	r.check(c.Complete())
	res, err := Run(t.Context(), c)
	var data *DataError
	if !errors.As(err, &data) || data.Offset != at || !strings.Contains(err.Error(), "bench.1") || res == nil || res.Errors != 1 || res.Error == "" {
		t.Errorf("a bit has changed: %v, %+v", err, res)
	}
	if r.exists("bench.0") || r.exists("bench.1") {
		t.Error("the files are still there")
	}
}

// TestForeign: files that bench has not written stay unchanged.
func TestForeign(t *testing.T) {
	for _, text := range []string{strings.Repeat("precious ", 1000), strings.Repeat("\x00", 1000)} {
		r := newRig(t)
		c := r.config("nfs", "tcp")
		c.Op, c.Keep = OpWrite, true
		r.run(c)
		r.put("bench.0", 0, []byte(text))
		c.Keep = false
		r.check(c.Complete())
		if res, err := Run(t.Context(), c); res != nil || err == nil || !strings.Contains(err.Error(), "bench.0 exists, and no run of bench has written it") ||
			!strings.Contains(err.Error(), "--name") {
			t.Errorf("%v", err)
		}
		if got := string(r.get("bench.0", 0, len(text))); got != text {
			t.Errorf("it was changed to %q", got)
		}
	}
}

// TestUnfinished: a file that an earlier run has not finished is written again.
func TestUnfinished(t *testing.T) {
	r := newRig(t)
	c := r.config("smb", "tcp")
	c.Op, c.Keep, c.Jobs = OpWrite, true, 1
	r.run(c)
	b := make([]byte, cell)
	fill(b, fileID("bench.0"), 0, 0)
	r.put("bench.0", 0, b)
	r.put("bench.0", 64<<10, make([]byte, 16<<10))
	c.Op = OpRandRead
	r.run(c)
}

// TestStaleData notices a write that the server has taken and forgotten.
func TestStaleData(t *testing.T) {
	r := newRig(t)
	c := r.config("nfs", "mem")
	c.Op, c.Verify, c.Jobs, c.Time, c.Depth = OpMixed, VerifyReads, 1, 20*time.Second, 1
	old := make([]byte, c.Size)
	fill(old, fileID("bench.0"), 0, 77)
	var n atomic.Int32
	r.fs.SetHook(func(_ context.Context, op mem.Op, _ vfs.Handle) error {
		if op == mem.OpRead && n.Add(1) == 50 {
			n.Add(1000) // this reads and writes, too
			r.put("bench.0", 0, old)
		}
		return nil
	})
	r.check(c.Complete())
	_, err := Run(t.Context(), c)
	var data *DataError
	if !errors.As(err, &data) || !strings.Contains(err.Error(), "generation 77 of the block") {
		t.Error(err)
	}
}

// TestServerGone kills the server in the middle.
func TestServerGone(t *testing.T) {
	for _, transport := range []string{"tcp", "mem", "iwarp"} {
		for _, proto := range []string{"nfs", "smb"} {
			t.Run(proto+" "+transport, func(t *testing.T) {
				r := newRig(t)
				c := r.config(proto, transport)
				c.Op, c.Time = OpMixed, 20*time.Second
				c.Progress = func(p Progress) {
					if p.Phase == "mixed" && p.Ops > 0 {
						r.kill[proto+" "+transport]()
					}
				}
				r.check(c.Complete())
				res, err := Run(t.Context(), c)
				want := fmt.Sprintf("to 127.0.0.1:%d over %s is lost", c.Port, transport)
				if transport == "mem" {
					want = "over mem is lost"
				}
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "not removed: bench.0, bench.1") {
					t.Errorf("%v", err)
				}
				if res == nil || res.Errors == 0 || res.Total.Ops == 0 || len(res.Left) != 2 || res.Elapsed > 15 {
					t.Errorf("%+v", res)
				}
			})
		}
	}
}

// TestInterrupt ends a run early: that is no error, and nothing is left.
func TestInterrupt(t *testing.T) {
	r := newRig(t)
	for _, at := range []string{"laying out", "randread"} {
		ctx, cancel := context.WithCancel(t.Context())
		c := r.config("nfs", "tcp")
		c.Op, c.Time, c.Size = OpRandRead, 20*time.Second, 16<<20
		c.Progress = func(p Progress) {
			if p.Phase == at {
				cancel()
			}
		}
		if at == "laying out" { // which is not over before it is reported; the first write of each job is before that
			var writes atomic.Int32
			r.fs.SetHook(func(_ context.Context, op mem.Op, _ vfs.Handle) error {
				if op == mem.OpWrite && writes.Add(1) > int32(c.Jobs) {
					<-ctx.Done()
				}
				return nil
			})
		}
		r.check(c.Complete())
		res, err := Run(ctx, c)
		r.fs.SetHook(nil)
		cancel()
		switch {
		case at == "laying out" && (res != nil || err == nil || !strings.Contains(err.Error(), "interrupted")):
			t.Errorf("%v %+v", err, res)
		case at == "randread" && (err != nil || !res.Interrupted || res.Total.Ops == 0 || res.Elapsed > 15):
			t.Errorf("%v %+v", err, res)
		}
		if r.exists("bench.0") || r.exists("bench.1") {
			t.Error("the files are still there")
		}
	}
}

// TestTimeout gives a server up that does not answer.
func TestTimeout(t *testing.T) {
	for _, proto := range []string{"nfs", "smb"} {
		r := newRig(t)
		c := r.config(proto, "tcp")
		c.Op, c.Time, c.Timeout = OpRandRead, 20*time.Second, 300*time.Millisecond
		release := make(chan struct{})
		var reads atomic.Int32
		r.fs.SetHook(func(_ context.Context, op mem.Op, _ vfs.Handle) error {
			if op == mem.OpRead && reads.Add(1) == 10 {
				<-release
			}
			return nil
		})
		r.check(c.Complete())
		res, err := Run(t.Context(), c)
		close(release)
		if err == nil || !strings.Contains(err.Error(), "a request has no answer after 300ms (--timeout)") || res == nil || res.Elapsed > 10 {
			t.Errorf("%s: %v", proto, err)
		}
		r.fs.SetHook(nil)
	}
}

// TestTimeoutLayout gives up before a file is laid out, too.
func TestTimeoutLayout(t *testing.T) {
	r := newRig(t)
	c := r.config("nfs", "tcp")
	c.Op, c.Timeout = OpRandRead, 300*time.Millisecond
	release := make(chan struct{})
	r.fs.SetHook(func(_ context.Context, op mem.Op, _ vfs.Handle) error {
		if op == mem.OpWrite {
			<-release
		}
		return nil
	})
	r.check(c.Complete())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := Run(ctx, c)
	close(release)
	if err == nil || !strings.Contains(err.Error(), "laying out bench.0: the server did not answer within 300ms") {
		t.Error(err)
	}
	r.fs.SetHook(nil)
}

// TestInvalidateRefused says where keys cannot be invalidated remotely.
func TestInvalidateRefused(t *testing.T) {
	caps := rdmamem.DefaultCaps()
	caps.Transport = rdma.TransportRoCE
	p := rdmamem.New(rdmamem.Config{Devices: []rdmamem.DeviceConfig{{Caps: caps}}})
	pool := slab.New(slab.Config{})
	defer pool.Close()
	for _, proto := range []string{"nfs", "smb"} {
		l, err := p.Listen(t.Context(), netip.AddrPortFrom(p.Device(0).Addr(), 0))
		if err != nil {
			t.Fatal(err)
		}
		c := (&rig{from: map[string]rdma.Provider{"mem": p}, at: map[string]netip.AddrPort{proto + " mem": l.Addr()}, clients: pool}).config(proto, "mem")
		c.Invalidate = true
		if _, err := Dial(t.Context(), &c.Target); err == nil || !strings.Contains(err.Error(), "mem0 (roce): --invalidate needs keys that a peer may invalidate") {
			t.Errorf("%s: %v", proto, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRefused says what the server refuses, and what to do.
func TestRefused(t *testing.T) {
	r := newRig(t, func(c *smb.Config) { c.Signing = smb.Desired })
	for want, change := range map[string]func(*Config){
		"wrong password, or there is no user \"ann\"; see --user":             func(c *Config) { c.Proto = "smb"; c.SMB.Password = "wrong" },
		"there is no share \"gone\"; see --share":                             func(c *Config) { c.Proto = "smb"; c.Share = "gone" },
		"is more than the 1048576 bytes that the server reads at once; write": func(c *Config) { c.Version = "3"; c.BlockSize, c.Size = 2<<20, 64<<20 },
		"--user ann may not write there, or the share is read-only":           func(c *Config) { c.Proto = "smb"; c.Share = "ro" },
		"NOT_FOUND: the directory of --name a/b is not there":                 func(c *Config) { c.Proto = "smb"; c.Name = "a/b" },
		"NFS3ERR_NOENT: the directory of --name a/b is not there":             func(c *Config) { c.Version = "3"; c.Name = "a/b" },
		"MNT /gone: MNT3ERR_NOENT; see --share gone":                          func(c *Config) { c.Version = "3"; c.Share = "gone" },
		"export /gone: gone: LOOKUP: NFS4ERR_NOENT; see --share /gone":        func(c *Config) { c.Share = "/gone" },
		"connection refused; fileserver doctor --connect 127.0.0.1":           func(c *Config) { c.Port = 1 },
		"dialect 2.1": func(c *Config) { c.Proto = "smb"; c.SMB.Encrypt = true; _ = c.SMB.Choose("2.1", "", "") },
	} {
		c := r.config("nfs", "tcp")
		change(&c)
		if c.Port != 1 {
			c.Port = int(r.at[c.Proto+" tcp"].Port())
		}
		r.check(c.Complete())
		if res, err := Run(t.Context(), c); res != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if r.exists("bench.0") {
		t.Error("a file is left")
	}
}
