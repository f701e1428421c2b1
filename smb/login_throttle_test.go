package smb

import (
	"testing"
	"testing/synctest"
	"time"

	"fileserver/smb/client"
	"fileserver/smb/smbtest"
	"fileserver/smb/throttle"
	"fileserver/smb/wire"
)

// guess logs in on a new connection, and returns the status and how long it took.
func (e *env) guess(user, password string) (wire.Status, time.Duration) {
	e.t.Helper()
	c := e.client()
	c.Connect(wire.Dialect311)
	begun := time.Now()
	st, _ := c.Login(user, password, smbtest.Setup{})
	took := time.Since(begun)
	c.W.Close()
	return st, took
}

// login sends the last message of a login, and leaves its answer to come.
func (e *env) login(user, password string) (c *smbtest.Client, messageID uint64) {
	e.t.Helper()
	c = e.client()
	c.Connect(wire.Dialect311)
	n := 0
	exchange := func(msg []byte) ([]byte, error) {
		if n++; n == 2 {
			messageID = le.Uint64(msg[24:])
			return nil, c.W.Send(msg)
		}
		if err := c.W.Send(msg); err != nil {
			return nil, err
		}
		return c.W.Recv(smbtest.Timeout)
	}
	_, _, _ = c.Machine.Login(exchange, client.Identity{User: user, Password: password}, client.Setup{}) // fails for want of the answer
	return c, messageID
}

// Failures beyond the first few are answered later and later; a success afterwards comes late, and clears the way.
func TestSlowFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, nil)
		for range throttle.UserFree {
			if st, took := e.guess("ann", "wrong"); st != wire.StatusLogonFailure || took != 0 {
				t.Errorf("%v after %v", st, took)
			}
		}
		var last time.Duration
		for range 7 {
			st, took := e.guess("ANN", "wrong")
			if st != wire.StatusLogonFailure || took <= last && took < throttle.UserDelay {
				t.Errorf("%v after %v, and %v before", st, took, last)
			}
			last = took
		}
		if st, took := e.guess("bob", "hidden"); st != wire.StatusSuccess || took != 0 {
			t.Errorf("another user: %v after %v", st, took)
		}
		if st, took := e.guess("ann", "secret"); st != wire.StatusSuccess || took != throttle.UserDelay {
			t.Errorf("the user: %v after %v", st, took)
		}
		if st, took := e.guess("ann", "secret"); st != wire.StatusSuccess || took != 0 {
			t.Errorf("the user again: %v after %v", st, took)
		}
	})
}

// A guesser who hangs up without waiting for answers, and uses many connections, gets no more of them.
func TestGuesserHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, nil)
		for range 100 {
			c, _ := e.login("ann", "wrong")
			c.W.Close()
		}
		if st, took := e.guess("ann", "secret"); st != wire.StatusAccountLockedOut || took != 0 {
			t.Errorf("the right password among many guesses: %v after %v", st, took)
		}
		answered := 0
		for range 600 {
			c, _ := e.login("ann", "wrong")
			time.Sleep(time.Second) // what is not answered by now is given up
			if m, err := c.W.Recv(0); err == nil && wire.Status(le.Uint32(m[8:])) == wire.StatusLogonFailure {
				answered++
			}
			c.W.Close()
		}
		if most := 2 + int(600*time.Second/throttle.UserDelay); answered > most {
			t.Errorf("%d guesses in ten minutes are answered, want at most %d", answered, most)
		}
		if st, took := e.guess("bob", "hidden"); st != wire.StatusSuccess || took > throttle.AddressDelay {
			t.Errorf("another user at the address: %v after %v", st, took)
		}
	})
}

// CANCEL does not bring an answer forward.
func TestGuesserCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, nil)
		for range throttle.UserFree + 1 {
			e.guess("ann", "wrong")
		}
		for _, password := range []string{"wrong", "secret"} {
			c, id := e.login("ann", password)
			synctest.Wait()
			msg := c.Message(smbtest.Request{Command: wire.CmdCancel, Body: smbtest.Empty})
			le.PutUint64(msg[24:], id)
			if err := c.W.Send(msg); err != nil {
				t.Fatal(err)
			}
			m, err := c.W.Recv(smbtest.Timeout)
			if err != nil {
				t.Fatal(err)
			}
			if st := wire.Status(le.Uint32(m[8:])); st != wire.StatusCancelled {
				t.Errorf("%q: %v", password, st)
			}
			c.W.Close()
		}
	})
}
