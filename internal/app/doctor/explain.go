package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"fileserver/nfs/rpc/rpcclient"
	"fileserver/nfsrdma"
	"fileserver/rdma/iwarp"
	"fileserver/smb/client"
)

func isRefused(err error) bool { return errors.Is(err, unix.ECONNREFUSED) }

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, errTimeout) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

// isEnded reports whether the peer ended the connection.
func isEnded(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
}

// explain says what an error of an attempt means. It goes from the wire upwards.
func explain(a *Attempt, addr netip.AddrPort, err error) {
	var wire *iwarp.Error
	hasWire := errors.As(err, &wire)
	var silent *silentError
	rejected, isReject := isRejected(err)
	on := fmt.Sprintf("port %d", addr.Port())
	say := func(code, what, why string, do ...Step) { a.Code, a.What, a.Why, a.Do = code, what, why, do }
	listening := Step{OnServer, fmt.Sprintf("ss -ltnp sport = :%d", addr.Port()), "who listens; `fileserver doctor` there says more"}
	open := Step{OnServer, fmt.Sprintf("firewall-cmd --add-port=%d/tcp", addr.Port()), "or what your firewall is opened by"}
	if a.Transport == "verbs" {
		listening.Command = "rdma resource show cm_id"
	}
	switch {
	case hasWire && wire.Reason == iwarp.ReasonNotMPA:
		say("not-iwarp", on+" answers, but not as iWARP does", "a plain TCP service listens there: without RDMA, or for RoCE and InfiniBand, which have ports of their own", listening)
	case hasWire && mpaMismatch[wire.Reason]:
		say("iwarp-mismatch", on+" speaks an iWARP that does not go with ours", wire.Error())
	case isReject && strings.Contains(rejected.Reason, "closed the connection"):
		say("not-iwarp", on+" ended the connection instead of answering as iWARP does", "mostly a plain TCP service; or an iWARP server with no room for more connections", listening)
	case isReject && strings.Contains(rejected.Reason, "nobody listens"), isRefused(err) && a.Transport == "verbs":
		say("refused", "nobody listens on "+on+" of the RDMA device", "the connection was refused at once", listening)
	case isReject:
		say("rejected", "the server's consumer refused the connection", rejected.Reason+": it has too many connections, is shutting down, or another service has the port", listening)
	case errors.As(err, &silent):
		if explainSilent(a, on, silent); a.Code != "smb-status" && a.Code != "version" {
			a.Do = []Step{listening}
		}
	case errors.Is(err, errLogon):
		say("logon", "the server speaks SMB, but does not let this user in", err.Error(), Step{OnServer, "fileserver user list", "and user passwd NAME"})
	case isRefused(err):
		say("refused", "nobody listens on "+on, "the connection was refused at once", listening)
	case errors.Is(err, unix.EHOSTUNREACH) || errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EHOSTDOWN):
		say("unreachable", "there is no way to "+addr.Addr().String(), "no route, no such host, or a firewall that says so", Step{OnClient, "ip route get " + addr.Addr().String(), ""})
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		say("firewall", "a firewall of this machine forbids the connection", err.Error(), Step{OnClient, "nft list ruleset", ""})
	case a.Transport == "verbs" && errors.Is(err, unix.ENOMEM):
		say("memlock", "this machine may not lock the memory that its RDMA device needs", err.Error(), Step{OnClient, "ulimit -l unlimited", "as root, in the shell that the doctor is started from; a mount by the kernel is not concerned"})
	case isTimeout(err) && a.Transport == "verbs":
		say("timeout", "no answer from "+on+" through an RDMA device", "no RDMA service there, a firewall that drops UDP port 4791, or networks of RoCE that do not pass each other's packets", listening)
	case isTimeout(err) && strings.Contains(err.Error(), "no MPA reply"):
		say("not-iwarp", on+" takes connections, but does not answer as iWARP does", "a plain TCP service that waits for something else, or a server that hangs", listening)
	case isTimeout(err) && !strings.Contains(err.Error(), "dial"):
		say("silent", "the server takes the connection by RDMA, but does not answer", "it hangs, or the service is another one", listening)
	case isTimeout(err):
		say("timeout", "no answer from "+on, "a firewall drops the packets, or the host is down", open, Step{OnClient, "ping " + addr.Addr().String(), ""})
	case strings.HasPrefix(err.Error(), "smbdirect: no common version"):
		say("version", "the server speaks no version of SMB Direct that we do", err.Error())
	case strings.HasPrefix(err.Error(), "smbdirect:"):
		say("smb-direct", "the negotiation of SMB Direct failed", err.Error())
	case isEnded(err):
		say("ended", "the server ended the connection on "+on, "it takes the transport, but is no server of this protocol, or has no room", listening)
	default:
		say("failed", "the connection failed", err.Error())
	}
}

// mpaMismatch are the reasons of peers that speak MPA, but not as we can.
var mpaMismatch = map[iwarp.Reason]bool{
	iwarp.ReasonMPAMalformed: true, iwarp.ReasonMPARevision: true, iwarp.ReasonMPAMarkers: true, iwarp.ReasonMPAEarlyData: true, iwarp.ReasonMPARTR: true,
	iwarp.ReasonInsufficientIRD: true, iwarp.ReasonRTR: true,
}

// explainSilent says what an error means of a peer that took the connection.
func explainSilent(a *Attempt, on string, e *silentError) {
	say := func(code, what, why string) { a.Code, a.What, a.Why = code, what, why }
	var remote *nfsrdma.RemoteError
	var refused *client.StatusError
	switch {
	case errors.As(e.err, &remote):
		say("version", "the server refuses the version of RPC-over-RDMA, or the call", remote.Error())
	case errors.As(e.err, &refused):
		say("smb-status", fmt.Sprintf("the server speaks SMB, and refuses %v", refused.Command), refused.Status.String())
	case isTimeout(e.err):
		say("silent", fmt.Sprintf("%s takes the connection, but no answer of %s comes", on, e.protocol), "another service listens there, or the server hangs")
	case isEnded(e.err) || strings.Contains(e.err.Error(), "closed"):
		say("ended", fmt.Sprintf("%s ends the connection instead of an answer of %s", on, e.protocol), "another service listens there, or the server does not admit this machine")
	default:
		say("garbage", fmt.Sprintf("%s answers, but not as %s does", on, e.protocol), "another service listens there: "+e.err.Error())
	}
}

// explainRPC says what an answer of RPC means that is none of NFS.
func (a *Attempt) explainRPC(err error) bool {
	var e *rpcError
	switch {
	case errors.As(err, &e):
		a.Code, a.What, a.Why = "rpc", "the server speaks RPC, but not NFS", e.Error()
	case errors.Is(err, rpcclient.ErrDenied):
		a.Code, a.What, a.Why = "denied", "the server refuses the call: its credential, or this machine", err.Error()
	default:
		return false
	}
	return true
}
