package rpc

import (
	"slices"

	"fileserver/nfs/xdr"
)

// AppendAuthSys appends the body of an AUTH_SYS credential (RFC 5531 appendix A): for clients.
func AppendAuthSys(b []byte, stamp uint32, machine string, uid, gid uint32, groups []uint32) []byte {
	b = xdr.AppendUint32(b, stamp)
	b = xdr.AppendString(b, machine)
	b = xdr.AppendUint32(b, uid)
	b = xdr.AppendUint32(b, gid)
	b = xdr.AppendUint32(b, uint32(len(groups)))
	for _, g := range groups {
		b = xdr.AppendUint32(b, g)
	}
	return b
}

// authenticate decodes credential and verifier; ok is false if the call is to be refused.
func (c *Call) authenticate() (why AuthStat, ok bool) {
	m := &c.Message
	c.Flavor = Flavor(m.Uint32())
	cred := m.Opaque(maxAuthBody)
	if m.Err() != nil {
		return AuthBadCred, false
	}
	verf := Flavor(m.Uint32())
	body := m.Opaque(maxAuthBody)
	if m.Err() != nil || verf != AuthNone || len(body) != 0 {
		return AuthBadVerf, false
	}
	switch c.Flavor {
	case AuthNone:
		c.Cred.UID, c.Cred.GID, c.Cred.Groups = nobody, nobody, c.groups[:0]
		c.Machine = ""
		return 0, true
	case AuthSys:
		return AuthBadCred, c.authSys(cred)
	}
	return AuthBadCred, false
}

// authSys decodes the body of an AUTH_SYS credential (RFC 5531 appendix A).
func (c *Call) authSys(body []byte) bool {
	d := xdr.NewDecoder(body)
	d.Uint32() // stamp
	machine := d.Opaque(maxMachineName)
	c.Cred.UID = d.Uint32()
	c.Cred.GID = d.Uint32()
	n := d.Count(maxGroups, 4)
	c.Cred.Groups = c.groups[:0]
	for range n {
		// vfs.Cred has no duplicates.
		if g := d.Uint32(); !slices.Contains(c.Cred.Groups, g) {
			c.Cred.Groups = append(c.Cred.Groups, g)
		}
	}
	if d.Finish() != nil {
		return false
	}
	// Calls are reused by their connection, whose client rarely changes its name.
	if c.Machine != string(machine) {
		c.Machine = string(machine)
	}
	return true
}
