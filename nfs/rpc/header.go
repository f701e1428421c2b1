package rpc

import "fileserver/nfs/xdr"

// Specification constants (RFC 5531 8, 9).
const (
	rpcVersion = 2

	msgCall  = 0
	msgReply = 1

	replyAccepted = 0
	replyDenied   = 1

	rejectRPCMismatch = 0
	rejectAuthError   = 1

	maxAuthBody    = 400 // bytes of a credential or verifier
	maxMachineName = 255 // bytes of AUTH_SYS machinename
	maxGroups      = 16  // AUTH_SYS gids

	nobody = 65534 // uid and gid of AUTH_NONE
)

// AcceptStat is what became of a call that was accepted (RFC 5531 9 accept_stat).
type AcceptStat uint32

// Outcomes of an accepted call.
const (
	Success      AcceptStat = 0 // executed; the results, be they an error of the protocol above, follow
	ProgUnavail  AcceptStat = 1 // no such program
	ProgMismatch AcceptStat = 2 // the program has no such version
	ProcUnavail  AcceptStat = 3 // the program has no such procedure
	GarbageArgs  AcceptStat = 4 // the arguments cannot be decoded
	SystemErr    AcceptStat = 5 // a defect of the server, or it is out of memory
)

var acceptStatText = [...]string{"SUCCESS", "PROG_UNAVAIL", "PROG_MISMATCH", "PROC_UNAVAIL", "GARBAGE_ARGS", "SYSTEM_ERR"}

// String is the name in RFC 5531.
func (s AcceptStat) String() string {
	if int(s) < len(acceptStatText) {
		return acceptStatText[s]
	}
	return "accept_stat?"
}

// AuthStat is why a credential was refused (RFC 5531 9 auth_stat).
type AuthStat uint32

// Reasons to refuse a credential.
const (
	AuthBadCred      AuthStat = 1 // the credential is malformed, or of a flavor this server has not
	AuthRejectedCred AuthStat = 2
	AuthBadVerf      AuthStat = 3 // the verifier is malformed
	AuthRejectedVerf AuthStat = 4
	AuthTooWeak      AuthStat = 5
)

// appendAccepted appends the header of an accepted reply, which the results follow (RFC 5531 9).
func appendAccepted(b []byte, xid uint32, s AcceptStat) []byte {
	b = xdr.AppendUint32(b, xid)
	b = xdr.AppendUint32(b, msgReply)
	b = xdr.AppendUint32(b, replyAccepted)
	b = xdr.AppendUint32(b, uint32(AuthNone))
	b = xdr.AppendUint32(b, 0)
	return xdr.AppendUint32(b, uint32(s))
}

// appendAuthError appends a whole reply that refuses the credential (RFC 5531 9).
func appendAuthError(b []byte, xid uint32, s AuthStat) []byte {
	b = xdr.AppendUint32(b, xid)
	b = xdr.AppendUint32(b, msgReply)
	b = xdr.AppendUint32(b, replyDenied)
	b = xdr.AppendUint32(b, rejectAuthError)
	return xdr.AppendUint32(b, uint32(s))
}

// appendRPCMismatch appends a whole reply that names the version of RPC spoken here (RFC 5531 9).
func appendRPCMismatch(b []byte, xid uint32) []byte {
	b = xdr.AppendUint32(b, xid)
	b = xdr.AppendUint32(b, msgReply)
	b = xdr.AppendUint32(b, replyDenied)
	b = xdr.AppendUint32(b, rejectRPCMismatch)
	b = xdr.AppendUint32(b, rpcVersion)
	return xdr.AppendUint32(b, rpcVersion)
}

// AppendCall appends the header of a call with an AUTH_NONE verifier, which the
// arguments follow: for clients. cred is the body of the credential.
func AppendCall(b []byte, xid, prog, vers, proc uint32, flavor Flavor, cred []byte) []byte {
	b = xdr.AppendUint32(b, xid)
	b = xdr.AppendUint32(b, msgCall)
	b = xdr.AppendUint32(b, rpcVersion)
	b = xdr.AppendUint32(b, prog)
	b = xdr.AppendUint32(b, vers)
	b = xdr.AppendUint32(b, proc)
	b = xdr.AppendUint32(b, uint32(flavor))
	b = xdr.AppendOpaque(b, cred)
	b = xdr.AppendUint32(b, uint32(AuthNone))
	return xdr.AppendUint32(b, 0)
}
