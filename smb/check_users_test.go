package smb

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fileserver/internal/users"
	"fileserver/smb/ntlm"
	"fileserver/smb/smbtest"
	"fileserver/smb/throttle"
	"fileserver/smb/wire"
)

// changingUsers are users whom tests change.
type changingUsers struct {
	mu   sync.Mutex
	list smbtest.Users
	err  error
}

func (u *changingUsers) Lookup(name string) (users.User, bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err != nil {
		return users.User{}, false, u.err
	}
	return u.list.Lookup(name)
}

// change lets f change a user, whom it removes if f is nil.
func (u *changingUsers) change(name string, f func(*users.User)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	x := u.list[name]
	if delete(u.list, name); f != nil {
		f(&x)
		u.list[name] = x
	}
}

func newChangingUsers() *changingUsers {
	return &changingUsers{list: smbtest.Users{"ann": testUsers["ann"], "bob": testUsers["bob"]}}
}

// Sessions end with their user, with the password that they were made with, and when the user becomes another one.
func TestCheckUsers(t *testing.T) {
	for name, change := range map[string]func(*users.User){
		"removed":  nil,
		"password": func(u *users.User) { u.NTHash = ntlm.NTHash("new") },
		"uid":      func(u *users.User) { u.UID++ },
		"gid":      func(u *users.User) { u.GID++ },
		"groups":   func(u *users.User) { u.Groups = []uint32{7} },
	} {
		t.Run(name, func(t *testing.T) {
			list := newChangingUsers()
			e := newEnv(t, func(c *Config) { c.Users = list })
			ann := &fileClient{Client: e.mounted(wire.Dialect311)}
			f := ann.must(want("f", wire.FileCreate)).FileID
			bob := e.client()
			bob.Connect(wire.Dialect311)
			bob.MustLogin("bob", "hidden")
			e.srv.CheckUsers()
			if st := ann.write(f, 0, []byte("x")); st != wire.StatusSuccess {
				t.Fatalf("nobody has changed: %v", st)
			}
			list.change("ann", change)
			e.srv.CheckUsers()
			if st := ann.write(f, 0, []byte("x")); st != wire.StatusUserSessionDeleted {
				t.Errorf("the session goes on: %v", st)
			}
			bob.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
			if _, files := e.fs.Outstanding(); files != 0 {
				t.Errorf("%d files are open", files)
			}
		})
	}
}

// Guests have no user, and sessions stay while nobody can say who is one.
func TestCheckUsersKeeps(t *testing.T) {
	list := newChangingUsers()
	e := newEnv(t, func(c *Config) { c.Users, c.Guest = list, new(credOf(new(testUsers["bob"]))) })
	guest := e.client()
	guest.Connect(wire.Dialect311)
	if st, _ := guest.Login("stranger", "x", smbtest.Setup{}); st != wire.StatusSuccess {
		t.Fatal(st)
	}
	ann := e.loggedIn(wire.Dialect311)
	list.mu.Lock()
	list.err = errors.New("unreadable")
	list.mu.Unlock()
	e.srv.CheckUsers()
	guest.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
	ann.Call(wire.CmdEcho, smbtest.Empty, wire.StatusSuccess)
}

// Who is removed while the answer to the login waits gets no session, although CheckUsers has not seen one.
func TestRemovedDuringLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newChangingUsers()
		e := newEnv(t, func(c *Config) { c.Users = list })
		for range throttle.UserFree + 1 {
			e.guess("ann", "wrong")
		}
		c, _ := e.login("ann", "secret")
		synctest.Wait()
		list.change("ann", nil)
		e.srv.CheckUsers()
		m, err := c.W.Recv(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if st := wire.Status(le.Uint32(m[8:])); st != wire.StatusLogonFailure {
			t.Error(st)
		}
	})
}
