package smb

import (
	"net/netip"
	"testing"

	"fileserver/smb/crypt"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

func TestSigningRequired(t *testing.T) {
	for _, by := range []string{"server", "client"} {
		for _, d := range allDialects {
			e := newEnv(t, func(c *Config) {
				if by == "server" {
					c.Signing = Required
				}
			})
			c := e.client()
			c.Connect(d)
			if got := c.Negotiate.SecurityMode&wire.NegotiateSigningRequired != 0; got != (by == "server") {
				t.Errorf("mode %#x", c.Negotiate.SecurityMode)
			}
			var s smbtest.Setup
			if by == "client" {
				s.Mode = wire.NegotiateSigningRequired
			}
			if st, _ := c.Login("ann", "secret", s); st != wire.StatusSuccess {
				t.Fatal(st)
			}
			c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusAccessDenied)
			c.Sign = true
			c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
			c.Sign = false
			if c.Out != nil {
				c.Encrypt = true
				c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
			}
		}
	}
}

// Where signing is required nobody is let in who cannot sign.
func TestSigningRequiredOfGuests(t *testing.T) {
	e := newEnv(t, func(c *Config) {
		cred := credOf(new(testUsers["bob"]))
		c.Signing, c.Guest, c.Anonymous = Required, &cred, &cred
	})
	for _, user := range []string{"stranger", ""} {
		c := e.client()
		c.Connect(wire.Dialect311)
		if st, _ := c.Login(user, "x", smbtest.Setup{}); st != wire.StatusAccessDenied {
			t.Errorf("%q: %v", user, st)
		}
	}
}

func TestEncryptionPolicy(t *testing.T) {
	for _, policy := range []Policy{Desired, Required} {
		e := newEnv(t, func(c *Config) { c.Encryption = policy })
		for _, d := range allDialects {
			c := e.client()
			c.Ciphers = []crypt.Cipher{crypt.GCM128}
			c.Connect(d)
			st, flags := c.Login("ann", "secret", smbtest.Setup{})
			if d < wire.Dialect300 {
				if want := map[Policy]wire.Status{Desired: wire.StatusSuccess, Required: wire.StatusAccessDenied}[policy]; st != want {
					t.Errorf("%v: %v, want %v", d, st, want)
				}
				continue
			}
			if st != wire.StatusSuccess || flags&wire.SessionFlagEncryptData == 0 {
				t.Fatalf("%v: %v, flags %#x", d, st, flags)
			}
			c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
			c.Encrypt, c.Sign = false, true
			c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusAccessDenied)
		}
		// A client of 3.1.1 without ciphers.
		c := e.client()
		c.Connect(wire.Dialect311)
		if st, _ := c.Login("ann", "secret", smbtest.Setup{}); (st == wire.StatusSuccess) != (policy == Desired) {
			t.Errorf("without ciphers: %v", st)
		}
	}
}

func TestEncryptedShare(t *testing.T) {
	e := newEnv(t, nil)
	c := e.client()
	c.Ciphers = []crypt.Cipher{crypt.GCM128}
	c.Connect(wire.Dialect311)
	c.MustLogin("ann", "secret")
	r := c.Tree(`\\s\vault`, wire.StatusSuccess)
	if r.ShareFlags&wire.ShareFlagEncryptData == 0 {
		t.Errorf("flags %#x", r.ShareFlags)
	}
	c.Sign = true
	c.Call(wire.CmdTreeDisconnect, smbtest.Empty, wire.StatusAccessDenied)
	c.Encrypt = true
	c.Call(wire.CmdTreeDisconnect, smbtest.Empty, wire.StatusSuccess)
	old := e.loggedIn(wire.Dialect210)
	old.Tree(`\\s\vault`, wire.StatusAccessDenied)
	old.Tree(`\\s\data`, wire.StatusSuccess)
}

func TestTreeConnect(t *testing.T) {
	e := newEnv(t, nil)
	q := wire.TreeConnectRequest{Path: wire.AppendUTF16(nil, `\\s\data`)}
	plain := e.loggedIn(wire.Dialect311)
	plain.Send(plain.Message(smbtest.Request{Command: wire.CmdTreeConnect, Body: q.Append}))
	plain.Dropped() // neither signed nor encrypted (MS-SMB2 3.3.5.7)
	c := e.loggedIn(wire.Dialect311)
	for path, want := range map[string]wire.Status{
		`\\server\data`: 0, `\\10.0.0.1\DaTa`: 0, `\\server.example\IPC$`: 0, `\\server\ro`: 0,
		`\\server\gone`: wire.StatusBadNetworkName, `\\server`: wire.StatusBadNetworkName, `server\data`: wire.StatusBadNetworkName,
		`\\server\data\sub`: wire.StatusBadNetworkName, `\\\data`: wire.StatusBadNetworkName, ``: wire.StatusBadNetworkName,
	} {
		r := c.Tree(path, want)
		if want != 0 {
			continue
		}
		switch {
		case path == `\\server\ro` && r.MaximalAccess&wire.FileWriteData != 0, path == `\\server\data` && r.MaximalAccess != wire.FileAllAccess:
			t.Errorf("%s: access %#x", path, r.MaximalAccess)
		case path == `\\server.example\IPC$` && r.ShareType != wire.ShareTypePipe:
			t.Errorf("%s: type %d", path, r.ShareType)
		}
	}
	long := wire.TreeConnectRequest{Path: make([]byte, 4000)}
	c.Sign = true
	c.Call(wire.CmdTreeConnect, long.Append, wire.StatusInvalidParameter)
}

func TestSharesChange(t *testing.T) {
	e := newEnv(t, nil)
	c := e.mounted(wire.Dialect311)
	keep := e.srv.share("data")
	e.srv.SetShares([]*Share{keep, {Name: "new", FS: e.fs, Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}})
	c.Tree(`\\s\new`, wire.StatusAccessDenied) // not admitted
	c.Tree(`\\s\vault`, wire.StatusBadNetworkName)
	e.srv.SetShares(nil)
	c.Call(wire.CmdTreeDisconnect, smbtest.Empty, wire.StatusNetworkNameDeleted)
	c.Tree(`\\s\ipc$`, wire.StatusSuccess)
}
