package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fileserver/internal/slab"
	"fileserver/nfs/rpc"
	"fileserver/nfs/rpc/rpcclient"
	"fileserver/nfs/xdr"
	"fileserver/nfsrdma"
	"fileserver/rdma"
	"fileserver/rdma/iwarp"
	"fileserver/smb/client"
	"fileserver/smb/wire"
)

// TestExplain has errors that the other tests cannot cause.
func TestExplain(t *testing.T) {
	for _, tc := range []struct {
		transport string
		err       error
		want      string
	}{
		{"tcp", fmt.Errorf("dial: %w", unix.EHOSTUNREACH), "unreachable"},
		{"tcp", fmt.Errorf("dial: %w", unix.EPERM), "firewall"},
		{"iwarp", &iwarp.Error{Reason: iwarp.ReasonMPAMarkers}, "iwarp-mismatch"},
		{"iwarp", &iwarp.Error{Reason: iwarp.ReasonMPARevision}, "iwarp-mismatch"},
		{"iwarp", &rdma.RejectedError{Reason: "the peer's consumer refused"}, "rejected"},
		{"verbs", &rdma.RejectedError{Reason: "the peer's consumer refused"}, "rejected"},
		{"verbs", &rdma.RejectedError{Reason: "nobody listens on 192.0.2.1:445"}, "refused"},
		{"verbs", fmt.Errorf("rdma_connect: %w", context.DeadlineExceeded), "timeout"},
		{"verbs", fmt.Errorf("rdma: cannot register arena 0: %w", unix.ENOMEM), "memlock"},
		{"iwarp", errTimeout, "silent"},
		{"iwarp", errors.New("smbdirect: no common version: the server speaks 0x0200 to 0x0200"), "version"},
		{"iwarp", errors.New("smbdirect: the server asks for, or grants, no credits"), "smb-direct"},
		{"iwarp", io.EOF, "ended"},
		{"iwarp", errors.New("odd"), "failed"},
		{"iwarp", &silentError{"RPC over RDMA", &nfsrdma.RemoteError{Code: 1, Low: 2, High: 2}}, "version"},
		{"tcp", &silentError{"SMB", &client.StatusError{Command: wire.CmdNegotiate, Status: wire.StatusNotSupported}}, "smb-status"},
		{"tcp", &silentError{"SMB", errTimeout}, "silent"},
		{"tcp", &rpcError{rpc.ProgUnavail}, "rpc"},
		{"tcp", fmt.Errorf("%w: reject_stat 1, 1", rpcclient.ErrDenied), "denied"},
	} {
		a := &Attempt{Transport: tc.transport}
		if !a.explainRPC(tc.err) {
			explain(a, netip.MustParseAddrPort("192.0.2.1:445"), tc.err)
		}
		if a.Code != tc.want || a.What == "" || a.Why == "" {
			t.Errorf("%v: %+v, want %s", tc.err, a, tc.want)
		}
	}
}

// TestNull: versions that the server names are taken once, and only older ones.
func TestNull(t *testing.T) {
	mismatch := func(low, high uint32) []byte { return xdr.AppendUint32(xdr.AppendUint32(nil, low), high) }
	for _, tc := range []struct {
		name      string
		four      rpc.AcceptStat
		rest      []byte
		other     rpc.AcceptStat
		calls     int
		ok        bool
		low, high uint32
	}{
		{"version 4", rpc.Success, nil, 0, 1, true, 0, 0},
		{"version 3", rpc.ProgMismatch, mismatch(2, 3), rpc.Success, 2, true, 2, 3},
		{"lies", rpc.ProgMismatch, mismatch(4, 4), 0, 1, false, 4, 4},
		{"lies again", rpc.ProgMismatch, mismatch(2, 3), rpc.ProgMismatch, 2, false, 2, 3},
		{"ends early", rpc.ProgMismatch, []byte{0, 0, 0}, 0, 1, false, 0, 0},
		{"other program", rpc.ProgUnavail, nil, 0, 1, false, 0, 0},
	} {
		var a Attempt
		calls := 0
		err := a.null(func(vers uint32) (rpc.AcceptStat, []byte, error) {
			if calls++; vers == 4 {
				return tc.four, tc.rest, nil
			}
			return tc.other, nil, nil
		})
		if (err == nil) != tc.ok || calls != tc.calls || a.NFS.Low != tc.low || a.NFS.High != tc.high {
			t.Errorf("%s: %v after %d calls, %+v", tc.name, err, calls, a.NFS)
		}
	}
}

// TestParseReply takes replies apart, and every beginning of one.
func TestParseReply(t *testing.T) {
	ok := xdr.AppendUint32(nil, 7)
	for _, w := range []uint32{1, 0, 0, 0, 0} {
		ok = xdr.AppendUint32(ok, w)
	}
	if stat, rest, err := parseReply(ok); stat != rpc.Success || len(rest) != 0 || err != nil {
		t.Errorf("%v %v %v", stat, rest, err)
	}
	for n := range len(ok) {
		if _, _, err := parseReply(ok[:n]); err == nil {
			t.Errorf("%d bytes of a reply are enough", n)
		}
	}
	if _, _, err := parseReply(xdr.AppendUint32(xdr.AppendUint32(nil, 7), 0)); err == nil {
		t.Error("a call is a reply")
	}
}

// TestConnectFull: a server with no room for another connection.
func TestConnectFull(t *testing.T) {
	target := serve(t, freePorts+"smb: {port: 0, rdma_port: 0}\nlimits: {connections: 1}\n")
	target.Protos = []string{"nfs"}
	pool := slab.New(slab.Config{})
	p := prober{Target: &Target{}, pool: pool, domains: map[rdma.Device]*rdma.Memory{}}
	defer p.close()
	c, err := nfsrdma.Dial(t.Context(), target.IWARP, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), target.NFSRDMAPort), nfsrdma.ClientConfig{Memory: p.memory})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := connect(t, target)
	if got := r.summary(); !strings.HasPrefix(got, "nfs/tcp=connected:ok nfs/iwarp=rejected:warning") {
		t.Errorf("%s\n%+v", got, r.Attempts)
	}
}

// TestConnectTimeout: a port that takes no more packets, as behind a firewall: a listener whose backlog is full.
func TestConnectTimeout(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	full, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(full)
	if err := unix.Connect(full, sa); err != nil {
		t.Fatal(err)
	}
	port := uint16(sa.(*unix.SockaddrInet4).Port)
	r := connect(t, Target{Host: "127.0.0.1", IWARP: soft(t), Timeout: 500 * time.Millisecond, NFSPort: port, NFSRDMAPort: port, SMBPort: port, DirectPorts: []uint16{port}})
	for _, a := range r.Attempts {
		if a.Transport != "verbs" && a.Code != "timeout" {
			t.Errorf("%+v", a)
		}
	}
}
