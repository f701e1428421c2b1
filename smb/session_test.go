package smb

import (
	"testing"

	"fileserver/smb/crypt"
	"fileserver/smb/smbtest"
	"fileserver/smb/wire"
)

var allDialects = []wire.Dialect{wire.Dialect202, wire.Dialect210, wire.Dialect300, wire.Dialect302, wire.Dialect311}

// Every dialect with every cipher and signing algorithm, unsigned, signed and encrypted.
func TestLogin(t *testing.T) {
	type variant struct {
		dialect wire.Dialect
		cipher  crypt.Cipher
		sign    crypt.Algorithm
	}
	var all []variant
	for _, d := range allDialects {
		all = append(all, variant{dialect: d})
	}
	for _, c := range []crypt.Cipher{crypt.CCM128, crypt.GCM128, crypt.CCM256, crypt.GCM256} {
		all = append(all, variant{wire.Dialect311, c, crypt.AESCMAC}, variant{wire.Dialect311, c, crypt.AESGMAC})
	}
	all = append(all, variant{wire.Dialect311, 0, crypt.HMACSHA256})
	for _, v := range all {
		t.Run(v.dialect.String()+" "+v.cipher.String()+" "+v.sign.String(), func(t *testing.T) {
			e := newEnv(t, nil)
			c := e.client()
			if v.cipher != 0 {
				c.Ciphers = []crypt.Cipher{v.cipher}
			}
			if v.dialect == wire.Dialect311 {
				c.SignAlgs = []crypt.Algorithm{v.sign}
			}
			c.Connect(v.dialect)
			if c.Dialect != v.dialect {
				t.Fatalf("dialect %v", c.Dialect)
			}
			c.MustLogin("ann", "secret")
			c.Tree(`\\server\DATA`, wire.StatusSuccess)
			c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
			c.Sign = true
			c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
			c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty}, smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty})
			if c.Out != nil {
				c.Encrypt = true
				if r := c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty}, smbtest.Request{Command: wire.CmdTreeDisconnect, Body: smbtest.Empty}); !r[0].Sealed || r[1].Status != 0 {
					t.Errorf("%+v", r)
				}
			}
			c.Call(wire.CmdLogoff, smbtest.Empty, wire.StatusSuccess)
			c.Encrypt, c.Sign = false, false
			c.Call(wire.CmdTreeConnect, (&wire.TreeConnectRequest{Path: wire.AppendUTF16(nil, `\\s\data`)}).Append, wire.StatusUserSessionDeleted)
		})
	}
}

func TestWrongPassword(t *testing.T) {
	e := newEnv(t, nil)
	for _, u := range [][2]string{{"ann", "wrong"}, {"nobody", "x"}} {
		c := e.client()
		c.Connect(wire.Dialect311)
		if st, _ := c.Login(u[0], u[1], smbtest.Setup{}); st != wire.StatusLogonFailure {
			t.Errorf("%s: %v", u[0], st)
		}
		c.SessionID = 0
		c.MustLogin("ANN", "secret") // the connection is as good as before
	}
	c := e.client()
	c.Connect(wire.Dialect311)
	if st, _ := c.Login("", "", smbtest.Setup{}); st != wire.StatusLogonFailure {
		t.Errorf("anonymous: %v", st)
	}
}

func TestGuestAndAnonymous(t *testing.T) {
	e := newEnv(t, func(c *Config) {
		cred := credOf(new(testUsers["bob"]))
		c.Guest, c.Anonymous = &cred, &cred
	})
	for user, want := range map[string]uint16{"stranger": wire.SessionFlagIsGuest, "": wire.SessionFlagIsNull} {
		c := e.client()
		c.Connect(wire.Dialect311)
		st, flags := c.Login(user, "x", smbtest.Setup{})
		if st != wire.StatusSuccess || flags != want {
			t.Fatalf("%q: %v %#x", user, st, flags)
		}
		c.Tree(`\\s\data`, wire.StatusSuccess)
	}
	c := e.client()
	c.Connect(wire.Dialect311)
	if st, _ := c.Login("ann", "wrong", smbtest.Setup{}); st != wire.StatusLogonFailure {
		t.Errorf("a known user with a wrong password is %v", st)
	}
}

func TestReauthentication(t *testing.T) {
	e := newEnv(t, nil)
	c := e.mounted(wire.Dialect311)
	c.Sign = true
	if st, _ := c.LoginAgain("ann", "secret"); st != wire.StatusSuccess {
		t.Fatal(st)
	}
	c.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
	c.NoVerify = true
	if st, _ := c.LoginAgain("ann", "wrong"); st != wire.StatusLogonFailure {
		t.Error(st)
	}
	c.NoVerify = false
	r := c.Do(smbtest.Request{Command: wire.CmdEcho, Body: smbtest.Empty})[0]
	if r.Status != wire.StatusUserSessionDeleted || r.Flags&wire.FlagSigned == 0 {
		t.Errorf("%v, flags %#x: the session's end is to be signed with its key", r.Status, r.Flags)
	}
}

func TestPreviousSession(t *testing.T) {
	e := newEnv(t, nil)
	old := e.mounted(wire.Dialect302)
	other := e.client()
	other.Connect(wire.Dialect302)
	if st, _ := other.Login("bob", "hidden", smbtest.Setup{Previous: old.SessionID}); st != wire.StatusSuccess {
		t.Fatal(st)
	}
	old.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess) // another user's is not touched
	again := e.client()
	again.Connect(wire.Dialect302)
	if st, _ := again.Login("ann", "secret", smbtest.Setup{Previous: old.SessionID}); st != wire.StatusSuccess {
		t.Fatal(st)
	}
	old.Call(wire.CmdEcho, smbtest.Empty, wire.StatusUserSessionDeleted)
}

// Who has not proved who they are end nobody's session, although they have the same name and user ID (MS-SMB2 3.3.5.5.3).
func TestPreviousSessionOfGuests(t *testing.T) {
	e := newEnv(t, func(c *Config) { c.Guest = new(credOf(new(testUsers["bob"]))); c.Anonymous = c.Guest })
	login := func(user, password string, previous uint64) *smbtest.Client {
		c := e.client()
		c.Connect(wire.Dialect302)
		if st, _ := c.Login(user, password, smbtest.Setup{Previous: previous}); st != wire.StatusSuccess {
			t.Fatal(st)
		}
		return c
	}
	for _, user := range []string{"", "stranger"} {
		victim := login(user, "x", 0)
		login(user, "x", victim.SessionID)
		if e.srv.session(victim.SessionID) == nil {
			t.Errorf("%q ended another's session", user)
		}
	}
}

// IDs of sessions cannot be foretold: they do not count up, and those that mean something else are not among them.
func TestSessionIDs(t *testing.T) {
	e := newEnv(t, nil)
	seen := map[uint64]bool{}
	next := 0
	for last := uint64(0); len(seen) < 1000; {
		id := e.srv.newSessionID()
		if id == 0 || id >= 1<<32-1 || seen[id] {
			t.Fatalf("ID %#x after %d others", id, len(seen))
		}
		if seen[id] = true; id-last < 1000 {
			next++
		}
		last = id
	}
	if next > 10 {
		t.Errorf("%d of 1000 IDs follow closely on the one before", next)
	}
}

func TestBinding(t *testing.T) {
	for _, d := range []wire.Dialect{wire.Dialect300, wire.Dialect302, wire.Dialect311} {
		e := newEnv(t, nil)
		first := e.mounted(d)
		second := e.client()
		second.Connect(d)
		if st, _ := second.Login("ann", "secret", smbtest.Setup{Bind: first}); st != wire.StatusSuccess {
			t.Fatalf("%v: %v", d, st)
		}
		second.TreeID, second.Sign = first.TreeID, true
		second.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
		second.Call(wire.CmdTreeDisconnect, smbtest.Empty, wire.StatusSuccess)
		first.Call(wire.CmdTreeDisconnect, smbtest.Empty, wire.StatusNetworkNameDeleted) // one session
		first.W.Close()
		second.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess) // it lives on the other
	}
}

// A binding that fails does the session no harm.
func TestBindingRefused(t *testing.T) {
	e := newEnv(t, nil)
	first := e.mounted(wire.Dialect311)
	bind := func(d wire.Dialect, change func(*smbtest.Client), user, password string, want wire.Status) {
		t.Helper()
		c := e.client()
		if change != nil {
			change(c)
		}
		c.Connect(d)
		if st, _ := c.Login(user, password, smbtest.Setup{Bind: first}); st != want {
			t.Errorf("%v, want %v", st, want)
		}
		first.Sign = true
		first.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
	}
	bind(wire.Dialect210, nil, "ann", "secret", wire.StatusRequestNotAccepted)
	bind(wire.Dialect302, nil, "ann", "secret", wire.StatusInvalidParameter)
	bind(wire.Dialect311, func(c *smbtest.Client) { c.Ciphers = []crypt.Cipher{crypt.CCM128} }, "ann", "secret", wire.StatusInvalidParameter)
	bind(wire.Dialect311, func(c *smbtest.Client) { c.SignAlgs = []crypt.Algorithm{crypt.AESGMAC} }, "ann", "secret", wire.StatusNotSupported)
	bind(wire.Dialect311, nil, "bob", "hidden", wire.StatusAccessDenied)
	bind(wire.Dialect311, nil, "ann", "wrong", wire.StatusLogonFailure)
	// Signed with another key.
	other := e.loggedIn(wire.Dialect311)
	c := e.client()
	c.Connect(wire.Dialect311)
	stolen := *first
	stolen.Signer = other.Signer
	if st, _ := c.Login("ann", "secret", smbtest.Setup{Bind: &stolen}); st != wire.StatusAccessDenied {
		t.Error(st)
	}
	first.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
}
