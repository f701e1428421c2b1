package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fileserver/nfs/client"
	v3 "fileserver/nfs/v3"
	"fileserver/nfs/v4/proto"
	smbclient "fileserver/smb/client"
	"fileserver/smb/wire"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is now\n%s\n-update writes it; a field that changes its meaning changes Schema", name, got)
	}
}

// TestResult holds the JSON and the text to what scripts and people are used to.
func TestResult(t *testing.T) {
	h := func(ds ...time.Duration) hist {
		var h hist
		for _, d := range ds {
			h.add(d)
		}
		return h
	}
	c := Config{Target: Target{Host: "server", Port: 445, Proto: "smb", Transport: "verbs", Share: "data", BlockSize: 65536, Depth: 16},
		Op: OpMixed, Jobs: 1, Size: 1 << 30, Time: 10 * time.Second, Mix: 70, Verify: VerifyAll}
	w := &worker{c: counts{read: h(90*time.Microsecond, 2*time.Millisecond), write: h(3 * time.Second), bytesRead: 2 << 16, bytesWrote: 1 << 16, offloaded: 3 << 16, checked: 2 << 16}}
	r := &run{cfg: &c, jobs: []*job{{s: agreed{}, workers: []*worker{w}}}}
	res := newResult(r)
	res.elapsed, res.cpu, res.FlushSeconds = 2*time.Second, 100*time.Millisecond, 0.25
	res.Left, res.Interrupted = []string{"fileserver-bench.0"}, true
	res.finish(r, errors.New("job 0, READ of fileserver-bench.0 at 0: wrong data"))
	b, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "result.json", append(b, '\n'))
	var text bytes.Buffer
	if err := res.Print(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "result.txt", text.Bytes())
}

// agreed is a session of which only what was negotiated is asked.
type agreed struct{ Session }

func (agreed) Agreed() Agreed {
	return Agreed{Version: "3.1.1", Signing: "AES-GMAC", Offloads: true, Transport: "roce"}
}

func (agreed) Limits() Limits { return Limits{Read: 8 << 20, Write: 8 << 20, Requests: 4} }

func TestProgress(t *testing.T) {
	p := Progress{Phase: "randread", Elapsed: 2500 * time.Millisecond, Done: 0.25, BytesPerSecond: 123.4e6, OpsPerSecond: 30000}
	if got, want := p.String(), "randread     2.5 s   25 %      123.4 MB/s     30000 IOPS"; got != want {
		t.Errorf("%q", got)
	}
	if p.Done = -1; strings.Contains(p.String(), "%") {
		t.Errorf("%q", p.String())
	}
}

// TestHistogram compares with what sorting says: quantiles are right to one part in 64.
func TestHistogram(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var h, other hist
	var all []time.Duration
	for i := range 20000 {
		d := time.Duration(rnd.Uint64() >> (20 + rnd.UintN(40)))
		all = append(all, d)
		if i%2 == 0 {
			h.add(d)
		} else {
			other.add(d)
		}
	}
	h.merge(&other)
	slices.Sort(all)
	sum := time.Duration(0)
	for _, d := range all {
		sum += d
	}
	for _, q := range []float64{0, 0.001, 0.5, 0.9, 0.99, 0.999, 1} {
		i := max(0, int(q*float64(len(all))+0.9999)-1)
		want, got := all[i], h.quantile(q)
		if got < want || float64(got) > float64(want)*(1+1.0/64)+1 {
			t.Errorf("%v: %d, want %d", q, got, want)
		}
	}
	if h.mean() != sum/time.Duration(len(all)) || h.quantile(1) != all[len(all)-1] {
		t.Errorf("mean %v, max %v", h.mean(), h.quantile(1))
	}
	for _, v := range []uint64{0, 1, 127, 128, 129, 255, 256, 1 << 20, maxValue} {
		if b := bucketOf(v); b >= buckets || highest(b) < v || b > 0 && highest(b-1) >= v {
			t.Errorf("%d is in bucket %d, which ends at %d", v, b, highest(b))
		}
	}
	var empty hist
	empty.add(-time.Second)
	empty.add(1000 * time.Hour)
	if (&hist{}).quantile(0.5) != 0 || (&hist{}).mean() != 0 || empty.quantile(1) != maxValue {
		t.Error("the ends")
	}
}

// TestPattern finds every change of data: any bit, another place, another file, another generation.
func TestPattern(t *testing.T) {
	const off = 7 * 4096
	b := make([]byte, 4*cell)
	id := fileID("a")
	fill(b, id, off, 5)
	if gen, err := check(b, id, off, 0); gen != 5 || err != nil {
		t.Fatalf("%d %v", gen, err)
	}
	if _, err := check(b, id, off, 5); err != nil {
		t.Fatal(err)
	}
	for bit := range len(b) * 8 {
		b[bit/8] ^= 1 << (bit % 8)
		for _, want := range []uint32{0, 5} {
			_, err := check(b, id, off, want)
			var d *DataError
			if !errors.As(err, &d) || d.Offset/cell != uint64(off+bit/8)/cell {
				t.Fatalf("bit %d, generation %d: %v", bit, want, err)
			}
			if want == 5 && d.Offset != uint64(off+bit/8) {
				t.Errorf("bit %d is found at %d", bit, d.Offset)
			}
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
	for what, err := range map[string]error{
		"another place":      second2(check(b, id, off+cell, 0)),
		"another file":       second2(check(b, fileID("b"), off, 0)),
		"another generation": second2(check(b, id, off, 6)),
		"zeros":              second2(check(make([]byte, cell), id, 0, 0)),
	} {
		if err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	fill(b[cell:2*cell], id, off+cell, 6)
	if gen, err := check(b, id, off, 0); gen != 0 || err != nil {
		t.Errorf("two generations: %d %v", gen, err)
	}
}

func second2(_ uint32, err error) error { return err }

func BenchmarkFill(b *testing.B) {
	buf := make([]byte, 1<<20)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		fill(buf, 1, 0, 1)
	}
}

func BenchmarkCheck(b *testing.B) {
	buf := make([]byte, 1<<20)
	fill(buf, 1, 0, 1)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		if _, err := check(buf, 1, 0, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// TestBadArguments wants each to be named, with its value and what to write instead.
func TestBadArguments(t *testing.T) {
	good := Config{Target: Target{Host: "h", Proto: "smb", Transport: "tcp", Share: "data", Version: "4.2", BlockSize: 4096, Depth: 4, SMB: SMBOptions{}},
		Op: OpRead, Jobs: 1, Size: 1 << 20, Verify: VerifyReads, Name: "n", Timeout: time.Second}
	good.SMB.User = "u"
	if c := good; c.Complete() != nil || c.Port != 445 {
		t.Fatalf("%v", c.Complete())
	}
	for want, change := range map[string]func(*Config){
		"there is no host; write":                                                                       func(c *Config) { c.Host = "" },
		"--proto ftp is not known; write one of nfs, smb":                                               func(c *Config) { c.Proto = "ftp" },
		"--transport udp is not known; write one of tcp, iwarp, verbs":                                  func(c *Config) { c.Transport = "udp" },
		"--op copy is not known; write one of read, write, randread, randwrite, mixed":                  func(c *Config) { c.Op = "copy" },
		"--verify yes is not known; write one of off, reads, all":                                       func(c *Config) { c.Verify = "yes" },
		"--vers 4.0 is not known; write one of 3, 4.1, 4.2":                                             func(c *Config) { c.Proto, c.Version = "nfs", "4.0" },
		"--depth 0 is out of range; write 1 to 1024":                                                    func(c *Config) { c.Depth = 0 },
		"--jobs 1000 is out of range; write 1 to 256":                                                   func(c *Config) { c.Jobs = 1000 },
		"--mix 101 is out of range; write 0 to 100":                                                     func(c *Config) { c.Mix = 101 },
		"--mount-port 70000 is out of range; write 0 to 65535":                                          func(c *Config) { c.MountPort = 70000 },
		"--bs 1000 is not a multiple of 512 bytes; write e.g. 4k":                                       func(c *Config) { c.BlockSize = 1000 },
		"--bs 16777216 is more than a request can move; write at most 8m":                               func(c *Config) { c.BlockSize = 16 << 20 },
		"--size 8192 is less than what is outstanding, --depth 4 times --bs 4096; write at least 16384": func(c *Config) { c.Size = 8192 },
		"--size 1048577 is not a multiple of --bs 4096; write e.g. 1048576":                             func(c *Config) { c.Size++ },
		"--size 9007199254740992 is more than 1073741824 blocks of --bs 4096":                           func(c *Config) { c.Size = 1 << 53 },
		"--rdma-min -1 is negative":                                                                     func(c *Config) { c.RDMAMin = -1 },
		"--time -1s is negative; write e.g. 10s":                                                        func(c *Config) { c.Time = -time.Second },
		"--timeout 0s is no time; write e.g. 30s":                                                       func(c *Config) { c.Timeout = 0 },
		`--name "" cannot be`:                                                                           func(c *Config) { c.Name = "" },
		`--name "a\\b" cannot be`:                                                                       func(c *Config) { c.Name = `a\b` },
		`--name "../x" cannot be`:                                                                       func(c *Config) { c.Name = "../x" },
		`--name "/x" cannot be`:                                                                         func(c *Config) { c.Name = "/x" },
		"--share is empty; write the path of the export, such as /data":                                 func(c *Config) { c.Proto, c.Share = "nfs", "" },
		`--share "/data" is not the name of a share; write e.g. data`:                                   func(c *Config) { c.Share = "/data" },
		"--user is empty; write":                                                                        func(c *Config) { c.SMB.User = "" },
	} {
		c := good
		change(&c)
		if err := c.Complete(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	var o SMBOptions
	for _, args := range [][3]string{{"1.0", "", ""}, {"", "des", ""}, {"", "", "md5"}} {
		if err := o.Choose(args[0], args[1], args[2]); err == nil || !strings.Contains(err.Error(), "is not known; write one of") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestServer(t *testing.T) {
	for s, want := range map[string]struct {
		host string
		port int
	}{"a": {"a", 0}, "a:1": {"a", 1}, "::1": {"::1", 0}, "[::1]": {"::1", 0}, "[::1]:2049": {"::1", 2049}, "192.0.2.1:445": {"192.0.2.1", 445},
		"fe80::1%eth0": {"fe80::1%eth0", 0}, "[fe80::1%eth0]:2049": {"fe80::1%eth0", 2049}} {
		var c Config
		if err := c.SetServer(s); err != nil || c.Host != want.host || c.Port != want.port {
			t.Errorf("%s: %q %d %v", s, c.Host, c.Port, err)
		}
	}
	for _, s := range []string{"a:b", "a:0", "a:70000", "a:b:c"} {
		var c Config
		if err := c.SetServer(s); err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, v := range []struct {
		proto, transport string
		port             int
	}{{"nfs", "tcp", 2049}, {"nfs", "verbs", 20049}, {"nfs", "iwarp", 20049}, {"smb", "tcp", 445}, {"smb", "verbs", 445}, {"smb", "iwarp", 5445}} {
		if p := port(v.proto, v.transport); p != v.port {
			t.Errorf("%+v: %d", v, p)
		}
	}
}

// TestAdvice says which flags matter.
func TestAdvice(t *testing.T) {
	r := &run{cfg: &Config{Target: Target{Host: "h", Proto: "nfs", Share: "/data", UID: 7}, Name: "x", Jobs: 3, Size: 4096}, base: time.Now()}
	w := &worker{j: &job{r: r, name: "x.0"}}
	for want, err := range map[string]error{
		"NFS4ERR_NOSPC: the share, or its user's quota, is full; make room there, or write less --size 4096 or --jobs 3": &client.OpError{Op: proto.OpWrite, Status: proto.ErrNoSpc},
		"NFS3ERR_DQUOT: the share": v3.ErrDQuot,
		"STATUS_DISK_FULL: the":    &smbclient.StatusError{Command: wire.CmdWrite, Status: wire.StatusDiskFull},
	} {
		r.err = nil
		if r.fail(w, true, 0, err); !strings.Contains(r.failure().Error(), want) {
			t.Errorf("%v, want %s", r.failure(), want)
		}
	}
	for _, err := range []error{&client.OpError{Op: proto.OpOpen, Status: proto.ErrROFS}, v3.ErrAcces} {
		if got := r.opening(err).Error(); !strings.Contains(got, "--uid 7 may not write there") || !strings.Contains(got, "--share /data") {
			t.Error(got)
		}
	}
	if err := errors.New("x"); r.opening(err) != err || r.dialling(err) != err {
		t.Error("there is advice for what is not known")
	}
}
