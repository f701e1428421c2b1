package doctor

import (
	"slices"
	"strings"

	"fileserver/smb/wire"
)

// judge gives each attempt its severity. If one RDMA transport works, the failure of another is only information. A failure of
// TCP is a warning, because Windows and NFSv3 need TCP.
func (r *Connection) judge(protos int) {
	served := map[string]bool{}
	direct := map[string]bool{}
	for _, a := range r.Attempts {
		served[a.Service] = served[a.Service] || a.OK
		direct[a.Service] = direct[a.Service] || a.OK && a.Transport != "tcp"
	}
	for i := range r.Attempts {
		a := &r.Attempts[i]
		switch {
		case a.OK && a.inline():
			a.Severity = Warning
		case a.OK:
			a.Severity = OK
		case a.Code == "no-provider", a.Code == "no-device":
			a.Severity = Info // this machine's matter
		case !served[a.Service]:
			a.Severity = Error
			if protos > 1 && len(served) > 1 && a.Code == "refused" && slices.Contains([]bool{served["nfs"], served["smb"]}, true) {
				a.Severity = Info // the server serves the other protocol only
			}
		case a.Transport != "tcp" && direct[a.Service]:
			a.Severity = Info
		default:
			a.Severity = Warning
		}
		if a.Severity.rank() > r.Status.rank() {
			r.Status = a.Severity
		}
	}
}

// inline reports whether file data travels inside messages although the connection is
// SMB Direct, and explains why.
func (a *Attempt) inline() bool {
	if a.Transport == "tcp" || a.SMB == nil || !a.SMB.SigningRequired && !a.SMB.Encrypted {
		return false
	}
	a.Why = "the connection is SMB Direct all the same; its READs and WRITEs travel inside of messages, which costs speed"
	if a.SMB.SigningRequired {
		a.Do = append(a.Do, Step{OnServer, "smb: {signing: enabled}", "in the configuration of our server; Set-SmbServerConfiguration -RequireSecuritySignature $false on Windows"})
	}
	if a.SMB.Encrypted {
		a.Do = append(a.Do, Step{OnServer, "smb: {encryption: off}", "in the configuration of our server; Set-SmbServerConfiguration -EncryptData $false on Windows"})
	}
	return true
}

// describeSMB says what the answer to NEGOTIATE means for RDMA.
func (a *Attempt) describeSMB() {
	words := []string{"SMB " + a.SMB.Dialect}
	if a.SMB.SigningRequired {
		words = append(words, "signing required: Linux clients move no data by RDMA")
	}
	if !a.SMB.MultiChannel {
		words = append(words, "no multichannel: Windows clients will not use RDMA")
	}
	a.What = strings.Join(words, "; ")
}

func (a *Attempt) describeGuest() { a.What += "; the user is a guest" }

// describeNoInterfaces says what it means that the server refuses the list of its interfaces.
func (a *Attempt) describeNoInterfaces(st wire.Status) {
	a.What += "; the server refuses the list of its interfaces (" + st.String() + "): Windows clients will not use RDMA"
}

// describeInterfaces says where the server has RDMA by its own account.
func (a *Attempt) describeInterfaces() {
	var direct []string
	for _, i := range a.SMB.Interfaces {
		if i.RDMA {
			direct = append(direct, i.Address)
		}
	}
	slices.Sort(direct)
	if len(direct) == 0 {
		a.What += "; the server says that none of its addresses has RDMA: Windows clients will not use it"
	} else {
		a.What += "; the server says that it has RDMA at " + strings.Join(direct, ", ")
	}
}
