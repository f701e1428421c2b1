package smbtest

import (
	"fileserver/smb/client"
	"fileserver/smb/wire"
)

// Connect negotiates one of the dialects.
func (c *Client) Connect(dialects ...wire.Dialect) {
	c.T.Helper()
	if err := c.Machine.Connect(c.exchange, dialects...); err != nil {
		c.T.Fatal(err)
	}
}

// Setup holds the optional parts of a login.
type Setup struct {
	Mode     uint8  // SecurityMode
	Previous uint64 // PreviousSessionId
	// Bind is the client of another channel of the session; with it the login binds this connection to the session.
	Bind *Client
}

// Login authenticates and returns the status and flags of the last response. After StatusSuccess the client has a session.
// The user "" is anonymous.
func (c *Client) Login(user, password string, s Setup) (wire.Status, uint16) {
	c.T.Helper()
	to := client.Setup{Mode: s.Mode, Previous: s.Previous}
	if s.Bind != nil {
		to.Bind = &s.Bind.Machine
	}
	st, flags, err := c.Machine.Login(c.exchange, client.Identity{User: user, Password: password}, to)
	if err != nil {
		c.T.Fatal(err)
	}
	return st, flags
}

// MustLogin is Login; it fails the test unless the status is StatusSuccess.
func (c *Client) MustLogin(user, password string) {
	c.T.Helper()
	if st, _ := c.Login(user, password, Setup{}); st != wire.StatusSuccess {
		c.T.Fatalf("SESSION_SETUP: %v", st)
	}
}

// LoginAgain authenticates the session's user again. The keys do not change (MS-SMB2 3.3.5.5.3).
func (c *Client) LoginAgain(user, password string) (wire.Status, uint16) {
	c.T.Helper()
	do := func(q Request) (Response, error) { return c.Do(q)[0], nil }
	st, flags, err := c.Machine.LoginAgain(do, client.Identity{User: user, Password: password})
	if err != nil {
		c.T.Fatal(err)
	}
	return st, flags
}

// Tree connects to a share and returns the response. The request is signed, as 3.1.1 requires (MS-SMB2 3.2.4.1.1).
func (c *Client) Tree(path string, want wire.Status) wire.TreeConnectResponse {
	c.T.Helper()
	q := wire.TreeConnectRequest{Path: wire.AppendUTF16(nil, path)}
	sign := c.Sign
	c.Sign = c.Signer != nil
	r := c.Call(wire.CmdTreeConnect, q.Append, want)
	c.Sign = sign
	if want != wire.StatusSuccess {
		return wire.TreeConnectResponse{}
	}
	c.TreeID = r.TreeID
	resp, err := wire.ParseTreeConnectResponse(r.Msg)
	if err != nil {
		c.T.Fatal(err)
	}
	return resp
}
