package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fileserver/config"
	"fileserver/rdma/discover"
)

// services judges what is served, to whom, and whether data may go by RDMA.
func (e *examiner) services() {
	cfg := e.Config
	if !cfg.NFS.Enabled {
		e.general["nfs"] = append(e.general["nfs"], "nfs-off")
		e.add(Finding{Severity: Info, Code: "nfs-off", Service: "nfs", What: "NFS is not served: nfs.enabled is false"})
	}
	if !cfg.IWARP.Enabled {
		e.block("software", "iwarp-off", both...)
		e.add(Finding{Severity: Info, Code: "iwarp-off", What: "RDMA in software is off: iwarp.enabled is false",
			Why: "only interfaces with an RDMA device of their own can serve RDMA"})
	}
	switch p := cfg.NFS.RDMAPort; {
	case cfg.NFS.Enabled && p == 0:
		e.add(Finding{Severity: Info, Code: "nfs-port", Service: "nfs", What: "NFS over RDMA takes a port that is free", Why: "the log says which; clients have to name it"})
	case cfg.NFS.Enabled && p != 20049:
		e.add(Finding{Severity: Info, Code: "nfs-port", Service: "nfs", What: fmt.Sprintf("NFS over RDMA is on port %d, not 20049", p),
			Why: "clients have to name it", Do: []Step{{OnClient, fmt.Sprintf("mount -t nfs -o rdma,port=%d …", p), ""}}})
	}
	e.believed()
	e.smb()
}

// believed judges whether NFS believes callers whom it should not (nfs.privileged_ports).
func (e *examiner) believed() {
	cfg := e.Config
	if !cfg.NFS.Enabled || cfg.NFS.PrivilegedPorts {
		return
	}
	var shares []string
	for i := range cfg.Shares {
		if s := &cfg.Shares[i]; s.NFS.Squash != config.SquashAll {
			shares = append(shares, s.Name)
		}
	}
	if len(shares) == 0 {
		return
	}
	e.add(Finding{Severity: Warning, Code: "nfs-unprivileged", Service: "nfs", What: "every program on an NFS client can claim to be any user: " + strings.Join(shares, ", "),
		Why: "nfs.privileged_ports is false, and the shares do not squash all",
		Do: []Step{{OnServer, "nfs: {privileged_ports: true}", "in the configuration; then restart"},
			{OnClient, "mount -t nfs -o resvport …", "as root, without noresvport, where a mount then says \"Operation not permitted\""}}})
}

// smb judges the settings of SMB.
func (e *examiner) smb() {
	cfg := &e.Config.SMB
	addUser := []Step{{OnServer, "fileserver user add NAME --uid UID --gid GID", "then start the server again"}}
	switch {
	case cfg.Enabled == config.SwitchOff:
		e.general["smb"] = append(e.general["smb"], "smb-off")
		e.add(Finding{Severity: Info, Code: "smb-off", Service: "smb", What: "SMB is not served: smb.enabled is false"})
		return
	case e.UsersErr != nil:
		e.general["smb"] = append(e.general["smb"], "smb-no-users")
		e.add(Finding{Severity: Error, Code: "smb-no-users", Service: "smb", What: "the users cannot be read: nobody can log on to SMB", Why: e.UsersErr.Error(),
			Do: []Step{{OnServer, "fileserver user list", "as the user that the server runs as"}}})
		return
	case !e.smbServed():
		e.general["smb"] = append(e.general["smb"], "smb-no-users")
		e.add(Finding{Severity: Info, Code: "smb-no-users", Service: "smb", What: "SMB is not served: there are no users",
			Why: "smb.enabled is auto, and no users are in " + e.Config.StateDir, Do: addUser})
		return
	case e.Users == 0 && cfg.Guest == "":
		e.add(Finding{Severity: Warning, Code: "smb-no-users", Service: "smb", What: "SMB has no users: nobody can log on", Do: addUser})
	}
	if cfg.MaxDialect == config.Dialect202 || cfg.MaxDialect == config.Dialect210 {
		e.general["smb"] = append(e.general["smb"], "smb-dialect")
		e.add(Finding{Severity: Warning, Code: "smb-dialect", Service: "smb", What: fmt.Sprintf("smb.max_dialect is %s: RDMA needs 3.0 or later", cfg.MaxDialect),
			Do: []Step{{OnServer, "smb: {max_dialect: 3.1.1}", "in the configuration; then restart"}}})
	}
	e.smbData()
	e.smbPorts()
}

// smbData judges what keeps data from going by RDMA although the connection does.
func (e *examiner) smbData() {
	cfg := &e.Config.SMB
	const inline = "the connection is SMB Direct all the same; its READs and WRITEs travel inside of messages, which costs speed"
	if cfg.Signing == config.SigningRequired {
		e.add(Finding{Severity: Warning, Code: "smb-signing", Service: "smb", What: "signing is required: Linux clients move no data by RDMA", Why: inline,
			Do: []Step{{OnServer, "smb: {signing: enabled}", "in the configuration; then restart"}, {OnClient, "mount -t cifs -o rdma,vers=3.1.1,sec=ntlmssp …", "not sec=ntlmsspi, which signs"}}})
	}
	switch cfg.Encryption {
	case config.EncryptionRequired, config.EncryptionDesired:
		e.add(Finding{Severity: Warning, Code: "smb-encryption", Service: "smb", What: fmt.Sprintf("encryption is %s: encrypted data does not go by RDMA", cfg.Encryption), Why: inline,
			Do: []Step{{OnServer, "smb: {encryption: off}", "in the configuration, and encrypt: true at the shares that need it; then restart"}}})
	}
	var sealed []string
	for i := range e.Config.Shares {
		if s := &e.Config.Shares[i]; s.SMB.Enabled && s.SMB.Encrypt {
			sealed = append(sealed, s.Name)
		}
	}
	if len(sealed) > 0 {
		e.add(Finding{Severity: Info, Code: "smb-share-encrypted", Service: "smb",
			What: "the data of encrypted shares does not go by RDMA: " + strings.Join(sealed, ", "), Why: inline})
	}
}

// smbPorts judges whether clients will find SMB Direct: they try 5445 (iWARP) and 445 only.
func (e *examiner) smbPorts() {
	const why = "Linux clients try 5445 on iWARP and 445 on other devices, whatever port= says; Windows does the same"
	if e.Config.IWARP.Enabled && !slices.Contains(e.Config.IWARPPorts(), 5445) {
		e.add(Finding{Severity: Warning, Code: "smb-port", Service: "smb", What: fmt.Sprintf("SMB Direct in software is on port %v, where clients do not look", e.Config.IWARPPorts()),
			Why: why, Do: []Step{{OnServer, "smb: {rdma_port: auto}", "in the configuration; then restart"}}})
	}
}

// ports looks for others who have the server's ports.
func (e *examiner) ports() {
	running := e.server()
	if running > 0 {
		e.add(Finding{Severity: OK, Code: "running", What: fmt.Sprintf("a server runs: process %d", running)})
	} else {
		e.add(Finding{Severity: Info, Code: "not-running", What: "no server runs with this configuration, as far as can be seen"})
	}
	for _, w := range e.Facts.ports() {
		if e.taken(w) || running == 0 || !w.rdma {
			continue
		}
		if !slices.ContainsFunc(e.Listeners, func(l Listener) bool { return l.ours() && l.Addr.Port() == w.port }) {
			e.add(Finding{Severity: Warning, Code: "not-listening", Service: w.service, What: fmt.Sprintf("the server that runs does not listen on port %d (%s)", w.port, w.key),
				Why: "it was started with another configuration, or could not: its log has a line with msg=\"not listening\"",
				Do:  []Step{{OnServer, fmt.Sprintf("kill %d, and fileserver serve …", running), "start it again with this configuration"}}})
			e.blockWanted(w, "not-listening")
		}
	}
}

func (e *examiner) blockWanted(w wanted, code string) {
	if w.rdma {
		e.block("software", code, w.service)
	}
}

// taken reports whether another program has a port or this user may not open it, and adds a finding about that.
func (e *examiner) taken(w wanted) bool {
	for _, l := range e.Listeners {
		if l.ours() || !slices.ContainsFunc(e.Config.Listen, func(a netip.Addr) bool { return l.holds(netip.AddrPortFrom(a, w.port)) }) {
			continue
		}
		what := fmt.Sprintf("port %d (%s) is taken: by %s", w.port, w.key, l.holder(e.Facts))
		do := []Step{{OnServer, "ss -ltnp sport = :" + fmt.Sprint(w.port), "who has it; stop that, or give " + w.key + " another number"}}
		if len(l.Holders) == 0 {
			i := slices.IndexFunc(e.CM, func(c discover.CMListener) bool { return c.Kernel != "" && c.Addr.Port() == w.port })
			switch {
			case i >= 0: // by way of siw
				name, _ := e.cmHolder(&e.CM[i])
				what = fmt.Sprintf("port %d (%s) is taken: by %s, on the device %s", w.port, w.key, name, e.CM[i].Device)
				do = stopKernel(e.CM[i].Kernel, w.key)
			case w.port == e.Config.NFS.Port && len(e.NFSD) > 0:
				what = fmt.Sprintf("port %d (%s) is taken: by the kernel's NFS server", w.port, w.key)
				do = stopKernel("rpcrdma", w.key)
			case w.service == "smb" && e.Modules.Loaded["ksmbd"]:
				do = stopKernel("ksmbd", w.key)
			}
		} else if w.service == "smb" && l.Holders[0].Name == "smbd" {
			do = []Step{{OnServer, "systemctl stop smbd", "it is Samba; or give " + w.key + " another number"}}
		}
		e.add(Finding{Severity: Error, Code: "port-taken", Service: w.service, What: what, Why: "the server cannot listen there", Do: do})
		e.blockWanted(w, "port-taken")
		return true
	}
	if w.port < e.LowPort && !e.BindLow && e.server() == 0 {
		e.add(Finding{Severity: Error, Code: "port-privilege", Service: w.service, What: fmt.Sprintf("port %d (%s) needs privilege: this user may listen from %d on", w.port, w.key, e.LowPort),
			Do: []Step{{OnServer, "setcap cap_net_bind_service=+ep $(which fileserver)", "or run the server as root, or give " + w.key + " another number"}}})
		e.blockWanted(w, "port-privilege")
		return true
	}
	return false
}

// stopKernel is how to stop a server in the kernel, by its module.
func stopKernel(module, key string) []Step {
	command := map[string]string{"rpcrdma": "systemctl stop nfs-server", "ksmbd": "ksmbd.control --shutdown"}[module]
	if command == "" {
		command = "rdma resource show cm_id"
	}
	return []Step{{OnServer, command, "or give " + key + " another number"}}
}

// environment reports what is around.
func (e *examiner) environment() {
	var open []uint16
	for _, w := range e.Facts.ports() {
		open = append(open, w.port)
	}
	slices.Sort(open)
	open = slices.Compact(open)
	if len(e.Firewalls) == 0 || len(open) == 0 || !slices.ContainsFunc(e.Config.Listen, func(a netip.Addr) bool { return !a.IsLoopback() }) {
		return
	}
	var do []Step
	for _, fw := range e.Firewalls {
		for _, p := range open {
			if fw == "firewalld" {
				do = append(do, Step{OnServer, fmt.Sprintf("firewall-cmd --permanent --add-port=%d/tcp", p), ""})
			} else {
				do = append(do, Step{OnServer, fmt.Sprintf("ufw allow %d/tcp", p), ""})
			}
		}
		if fw == "firewalld" {
			do = append(do, Step{OnServer, "firewall-cmd --reload", ""})
		}
	}
	e.add(Finding{Severity: Info, Code: "firewall", What: "a firewall is active: " + strings.Join(e.Firewalls, ", "),
		Why: "iWARP is TCP, and needs its ports open; RoCE version 2 is UDP port 4791, which adapters take past the firewall but rxe does not", Do: do})
}
