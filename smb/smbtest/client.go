package smbtest

import (
	"errors"
	"testing"

	"fileserver/smb/client"
	"fileserver/smb/wire"
)

// Client is a client with at most one session. Its errors fail the test. Tests may change the fields of its Machine at any
// time, to send what no client sends.
type Client struct {
	T testing.TB
	W Wire
	client.Machine
}

// Request and Response are those of the Machine.
type (
	Request  = client.Request
	Response = client.Response
)

// NewClient returns a client that uses a connection.
func NewClient(t testing.TB, w Wire) *Client {
	c := &Client{T: t, W: w, Machine: client.NewMachine()}
	c.GUID = wire.GUID{1, 2, 3}
	return c
}

// Empty appends the body of requests without parameters, such as ECHO.
func Empty(b []byte, at int) []byte { return client.Empty(b, at) }

// Seal returns a message encrypted.
func (c *Client) Seal(msg []byte) []byte {
	c.T.Helper()
	b, err := c.Machine.Seal(msg)
	if err != nil {
		c.T.Fatal(err)
	}
	return b
}

// Send sends a message, encrypted if Encrypt is set.
func (c *Client) Send(msg []byte) {
	c.T.Helper()
	if c.Encrypt {
		msg = c.Seal(msg)
	}
	if err := c.W.Send(msg); err != nil {
		c.T.Fatal(err)
	}
}

// Recv receives one message and returns its responses. It checks their signatures.
func (c *Client) Recv() []Response {
	c.T.Helper()
	msg, err := c.W.Recv(Timeout)
	if err != nil {
		c.T.Fatalf("no response: %v", err)
	}
	return c.Take(msg)
}

// Take parses a received message.
func (c *Client) Take(msg []byte) []Response {
	c.T.Helper()
	list, err := c.Machine.Take(msg)
	if err != nil {
		c.T.Fatal(err)
	}
	return list
}

// exchange sends a message and returns the next one received, unparsed.
func (c *Client) exchange(msg []byte) ([]byte, error) {
	c.T.Helper()
	c.Send(msg)
	return c.W.Recv(Timeout)
}

// Do sends related requests as one message and returns the responses, which must also come as one message.
func (c *Client) Do(reqs ...Request) []Response {
	c.T.Helper()
	c.Send(c.Message(reqs...))
	list := c.Recv()
	if len(list) != len(reqs) {
		c.T.Fatalf("%d responses to %d requests", len(list), len(reqs))
	}
	return list
}

// Call sends one request, whose response must have the status want.
func (c *Client) Call(cmd wire.Command, body func(b []byte, at int) []byte, want wire.Status) Response {
	c.T.Helper()
	r := c.Do(Request{Command: cmd, Body: body})[0]
	if r.Status != want {
		c.T.Fatalf("%v: %v, want %v", cmd, r.Status, want)
	}
	return r
}

// Dropped waits until the server ends the connection. Other messages may come before.
func (c *Client) Dropped() {
	c.T.Helper()
	for {
		if _, err := c.W.Recv(Timeout); err != nil {
			if errors.Is(err, ErrTimeout) {
				c.T.Fatal("the server has not ended the connection")
			}
			return
		}
	}
}
